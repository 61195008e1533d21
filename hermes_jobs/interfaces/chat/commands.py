"""The table of slash commands, also for `/help` and completion.

A new command is a function of the chat and the words after its name, in the module of its kind, and one row
here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.chat import info_commands as info
from hermes_jobs.interfaces.chat import session_commands as act
from hermes_jobs.interfaces.chat.command_lines import (
    command_line,
    export,
    offers,
    schedule,
    search,
    summary,
)
from hermes_jobs.interfaces.chat.own_commands import own_commands
from hermes_jobs.interfaces.chat.server_prompts import server_prompts
from hermes_jobs.interfaces.chat.slash import ChatContext, Group, SlashCommand
from hermes_jobs.interfaces.cli.output import cut

LINE = 79  # columns of a line of `/help` at most
HALF = 58  # columns of a line in two columns
GAP = 3  # columns between them
KEYS = (
    ("@PATH", "add a file's text to your message"),
    ("@SERVER:URI", "add a resource of an MCP server"),
    ("!COMMAND", "run it; add its output to the next message"),
    ("Enter", "send; it waits while a turn runs"),
    ("Esc Enter", "new line; pasted lines are kept"),
    ("Tab", "complete commands, names, models"),
    ("Up, Ctrl-R", "your earlier messages"),
    ("y, s, a, n, r", "answer a waiting call"),
    ("Shift-Tab", "next permission mode: ask, edits, plan"),
    ("Ctrl-C", "cancel the turn; twice: exit"),
    ("Ctrl-D", "exit; a running turn continues"),
)


def run_command(chat: ChatContext, name: str, rest: str) -> None:
    """Run a command. Raises `Rejected` for an unknown name, and the command's errors."""
    _find(chat, name).run(chat, rest)


def all_commands(chat: ChatContext) -> Mapping[Group, Sequence[SlashCommand]]:
    """Every command of this chat, by its group."""
    return {**COMMANDS, "Your own": own_commands(chat), "MCP servers": server_prompts(chat)}


def by_name(commands: Mapping[Group, Sequence[SlashCommand]]) -> Mapping[str, SlashCommand]:
    """Commands by their names and aliases; of two with the same name the first."""
    commands_by_name: dict[str, SlashCommand] = {}
    for command in chain.from_iterable(commands.values()):
        for name in (command.name, *command.aliases):
            commands_by_name.setdefault(name, command)
    return commands_by_name


def _find(chat: ChatContext, name: str) -> SlashCommand:
    commands = by_name(all_commands(chat))
    if name in commands:
        return commands[name]
    nearest = difflib.get_close_matches(name, commands, n=1)
    suggestion = f"Did you mean /{nearest[0]}? " if nearest else ""
    server = name.partition(":")[0]
    if server != name and server in chat.application.mcp.config:
        suggestion += f"hermes-jobs mcp test {server} lists what it has. "
    raise Rejected(f"There is no command /{name}.", kind="usage", hint=f"{suggestion}/help lists them.")


# --- /help -------------------------------------------------------------------------------------


def _help(chat: ChatContext, rest: str) -> None:
    """List the commands by their groups, or describe one."""
    if rest:
        _show_command_help(chat, _find(chat, rest.removeprefix("/")))
        return
    sections: dict[str, Sequence[tuple[str, str]]] = {
        group: [(command.usage, command.summary) for command in commands]
        for group, commands in all_commands(chat).items()
    }
    sections["Typing"] = KEYS
    width = max(len(command.usage) for command in BY_NAME.values())
    line_room = (chat.columns() - 1 - GAP) // 2
    line = min(line_room, LINE) if line_room >= HALF else LINE
    columns = [
        [title, *(cut(f"  {name:<{width}}  {summary}", line) for name, summary in entries)]
        for title, entries in sections.items()
        if entries
    ]
    for row in _two_columns(columns) if line_room >= HALF else chain.from_iterable(columns):
        chat.print_line(row)


def _two_columns(sections: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of the sections in two columns of about the same height."""
    lines = [line for section in sections for line in section]
    width = max(map(len, lines)) + GAP
    pending: list[str] = []
    right: list[str] = []
    for section in sections:
        is_left = not right and len(pending) + len(section) <= len(lines) // 2 + 2
        (pending if is_left else right).extend(section)
    for one, other in zip_longest(pending, right, fillvalue=""):
        yield f"{one:<{width}}{other}".rstrip()


def _show_command_help(chat: ChatContext, command: SlashCommand) -> None:
    chat.print_line(f"{command.usage}: {command.summary}")
    if command.aliases:
        chat.print_line(f"Also: {', '.join(f'/{alias}' for alias in command.aliases)}")
    for word, meaning in command.completes(chat) if command.completes else ():
        chat.print_line(f"  {word}  {meaning}".rstrip())


def _leave(chat: ChatContext, _rest: str) -> None:
    chat.leave()


_MEMORY = command_line("memory", default=("show",))
_SKILLS = command_line("skills", default=("list",))
_USAGE = command_line("usage", default=("--by", "model"))
_JOBS = command_line("queues")

COMMANDS: Mapping[Group, Sequence[SlashCommand]] = {
    "Conversation": (
        SlashCommand("new", "", "start a new session", act.new),
        SlashCommand("clear", "", "start a new session on an empty screen", act.clear, ("reset",)),
        SlashCommand(
            "session",
            "[TITLE]",
            "list sessions, or continue one",
            act.session,
            ("sessions", "resume"),
            act.known_sessions,
        ),
        SlashCommand("title", "[WORDS]", "show or change the title", act.title, ("rename",)),
        SlashCommand("fork", "[TITLE]", "continue in a copy, or --before TURN", act.fork_session),
        SlashCommand("export", "[FILE]", "write this session to a file", export),
        SlashCommand("undo", "[--files]", "undo the last turn", act.undo),
        SlashCommand("rewind", "[TURN]", "restore the files that a turn changed", act.rewind_files),
        SlashCommand("continue", "", "continue a stopped turn", act.continue_turn),
        SlashCommand("retry", "", "resume a failed turn, or ask again", act.retry),
        SlashCommand(
            "cancel",
            "[AGENT]",
            "cancel the turn, or one sub-agent",
            act.cancel,
            ("stop",),
            act.running_agents,
        ),
        SlashCommand("agents", "", "sub-agents at work", act.agents),
        SlashCommand("rate", "up|down", "rate the last answer", act.rate, (), act.known_ratings),
        SlashCommand("compact", "[TOPIC]", "compress the history, keep TOPIC", act.compress, ("compress",)),
    ),
    "Answer": (
        SlashCommand("approve", "[SCOPE]", "allow the waiting call", act.approve, (), act.known_scopes),
        SlashCommand("deny", "[REASON]", "refuse it", act.deny),
        SlashCommand(
            "mode",
            "[NAME]",
            "show or change the permission mode",
            act.mode,
            ("permissions",),
            act.known_modes,
        ),
    ),
    "Look": (
        SlashCommand("status", "", "model, session, folder, context, cost", info.status),
        SlashCommand("cost", "", "cost of this session and of today", info.cost),
        SlashCommand("tools", "", "list the agent's tools", info.tools),
        SlashCommand("diff", "[TURN]", "show the last turn's file changes", act.diff),
        SlashCommand("summary", "", "show the compressed part's summary", summary),
        SlashCommand("search", "WORDS", "search all conversations", search),
        SlashCommand("usage", "[…]", "tokens and cost of all turns", _USAGE),
        SlashCommand("jobs", "", "queues, running steps and workers", _JOBS, ("queues",)),
    ),
    "Agent": (
        SlashCommand("model", "[NAME]", "show or change the model", act.model, (), act.known_models),
        SlashCommand("memory", "[…]", "show or change the memory", _MEMORY, (), offers("memory")),
        SlashCommand("skill", "NAME […]", "use a skill in the next turn", act.skill, (), act.known_skills),
        SlashCommand("skills", "[…]", "list skills", _SKILLS, (), offers("skills")),
        SlashCommand("schedule", "[TEXT]", "list schedules, or add one", schedule, (), offers("schedule")),
    ),
    "Chat": (
        SlashCommand("help", "[NAME]", "list commands, or explain one", _help),
        SlashCommand("exit", "", "exit; a running turn continues", _leave, ("quit",)),
    ),
}
BY_NAME = by_name(COMMANDS)
