"""What may be typed after a slash: each command's name, words and act."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.output import cut, format_short_time

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.interfaces.chat.conversation import Conversation

SHOWN = 10  # sessions that `/session` lists
COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)
KEYS = (
    ("Enter", "send; while a turn runs, it waits (session.if_busy)"),
    ("Esc Enter", "a new line; pasted lines stay lines"),
    ("Tab", "complete commands, sessions, models"),
    ("Up, Ctrl-R", "what you said before"),
    ("Ctrl-C", "cancel the running turn; once more: leave"),
    ("Ctrl-D", "leave; a running turn goes on"),
)


class ChatContext(Protocol):
    """Where commands are given."""

    conversation: Conversation
    application: Application

    def say(self, text: str) -> None:
        """Tell the person something."""

    def command_line(self, *words: str) -> None:
        """Run a command line of `hermes-jobs` here."""

    def leave(self) -> None:
        """End the chat."""


class SlashCommand(msgspec.Struct, frozen=True):
    """A slash command. `act` takes what follows its name."""

    name: str
    takes: str
    summary: str
    run: Callable[[ChatContext, str], None]


def parse(text: str) -> tuple[str, str] | None:
    """The command's name and what follows it; null for a text that is meant for the agent."""
    found = COMMAND.fullmatch(text.strip())
    return (found[1], (found[2] or "").strip()) if found else None


def run_command(chat: ChatContext, name: str, rest: str) -> None:
    """Carry out a command. Raises `Rejected` where there is none of that name, and what the command does."""
    command = BY_NAME.get(name)
    if command is None:
        near = difflib.get_close_matches(name, BY_NAME, n=1)
        meant = f"Did you mean /{near[0]}? " if near else ""
        raise Rejected(f"There is no command /{name}.", kind="usage", hint=f"{meant}/help lists them.")
    command.run(chat, rest)


# --- the acts ----------------------------------------------------------------------------------


def _help(chat: ChatContext, _rest: str) -> None:
    names = [f"/{command.name} {command.takes}".rstrip() for command in COMMANDS]
    width = max(map(len, names))
    for name, command in zip(names, COMMANDS, strict=True):
        chat.say(f"{name:<{width}}  {command.summary}")
    for key, summary in KEYS:
        chat.say(f"{key:<{width}}  {summary}")


def _new(chat: ChatContext, _rest: str) -> None:
    chat.conversation.open(None)
    chat.say("A new session begins with what you say next.")


def _session(chat: ChatContext, rest: str) -> None:
    views = chat.application.views
    if not rest:
        here = chat.conversation.lineage
        for each in views.sessions(limit=SHOWN):
            mark = "*" if each.lineage == here else " "
            label = cut(" ".join(each.label.split()), 50)
            chat.say(f"{mark} {each.id}  {format_short_time(each.last_at):<16}  {label}")
        chat.say("/session ID or TITLE goes on with one.")
        return
    found = views.session(views.find_session(rest))
    chat.say(f"Session {found.id}{f': {found.title}' if found.title else ''}")
    chat.conversation.open(found.lineage)


def _model(chat: ChatContext, rest: str) -> None:
    if not rest:
        chat.say(f"{chat.conversation.model} answers. /model NAME changes it for this session.")
        return
    chat.conversation.change_model(rest)
    chat.say(f"{chat.conversation.model} answers from now on in this session.")


def _retry(chat: ChatContext, _rest: str) -> None:
    chat.say(chat.conversation.retry())


def _undo(chat: ChatContext, _rest: str) -> None:
    text = chat.conversation.undo()
    session = chat.conversation.session
    name = session.id if session else ""
    chat.say(f"Taken back: {cut(' '.join(text.split()), 60)}")
    chat.say(f"It goes on in {name}, a copy from before that turn; nothing was erased.")


def _title(chat: ChatContext, rest: str) -> None:
    if not rest:
        session = chat.conversation.session
        chat.say((session and session.title) or "It has no title. /title WORDS gives it one.")
        return
    chat.say(f"This session is called {chat.conversation.rename(rest)!r}.")


def _compress(chat: ChatContext, rest: str) -> None:
    chat.conversation.compress(rest)


def _cancel(chat: ChatContext, _rest: str) -> None:
    if not chat.conversation.cancel():
        chat.say("Nothing runs in this session.")


def _decide(allow: bool) -> Callable[[ChatContext, str], None]:
    def act(chat: ChatContext, rest: str) -> None:
        chat.conversation.decide_call(rest or None, allow=allow)
        chat.say("Allowed." if allow else "Refused; the turn goes on without it.")

    return act


def _leave(chat: ChatContext, _rest: str) -> None:
    chat.leave()


def _command_line(*before: str, default: Sequence[str]) -> Callable[[ChatContext, str], None]:
    """The command line of that name, with the words that follow."""

    def act(chat: ChatContext, rest: str) -> None:
        chat.command_line(*before, *(_words(rest) or default))

    return act


def _schedule(chat: ChatContext, rest: str) -> None:
    words = _words(rest)
    if words and words[0] not in subcommands("schedule") and not words[0].startswith("-"):
        words = ["add", rest]
    elif words[:1] == ["add"] and not any(word.startswith("-") for word in words):
        words = ["add", *filter(None, [" ".join(words[1:])])]  # a sentence needs no quotes here
    chat.command_line("schedule", *(words or ["list"]))


def subcommands(group: str) -> Mapping[str, str]:
    """What `hermes-jobs GROUP` takes, each with what it does."""
    import click

    from hermes_jobs.interfaces.cli import hermes_jobs

    context = click.Context(hermes_jobs)
    command = hermes_jobs.get_command(context, group)
    assert isinstance(command, click.Group), f"{group} has no commands of its own"
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: each.get_short_help_str() for name, each in found.items() if each is not None}


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:
        return rest.split()  # an apostrophe, not a quotation


_MEMORY = _command_line("memory", default=("show",))
_SKILLS = _command_line("skills", default=("list",))
_USAGE = _command_line("usage", default=("--by", "model"))
_JOBS = _command_line("queues", default=())

COMMANDS = (
    SlashCommand("help", "", "these lines", _help),
    SlashCommand("new", "", "begin a new session", _new),
    SlashCommand("session", "[ID|TITLE]", "list sessions, or go on with one", _session),
    SlashCommand("model", "[NAME]", "who answers; let another model answer in this session", _model),
    SlashCommand("retry", "", "go on with a failed turn, or ask the last one again", _retry),
    SlashCommand("undo", "", "go on as if the last turn had not been; nothing is erased", _undo),
    SlashCommand("title", "[WORDS]", "what this session is called", _title),
    SlashCommand("compress", "[TOPIC]", "make its history smaller, keeping most about TOPIC", _compress),
    SlashCommand("memory", "[…]", "what the agent remembers: as `hermes-jobs memory`", _MEMORY),
    SlashCommand("skills", "[…]", "what it can do: as `hermes-jobs skills`", _SKILLS),
    SlashCommand("schedule", "[SENTENCE]", "schedules; a sentence adds one", _schedule),
    SlashCommand("usage", "[…]", "tokens and cost: as `hermes-jobs usage`", _USAGE),
    SlashCommand("jobs", "", "what waits and runs, and who works", _JOBS),
    SlashCommand("approve", "[CALL]", "allow a tool call that waits for you", _decide(allow=True)),
    SlashCommand("deny", "[CALL]", "refuse it", _decide(allow=False)),
    SlashCommand("cancel", "", "cancel the running turn", _cancel),
    SlashCommand("exit", "", "leave; a running turn goes on", _leave),
)
BY_NAME = {command.name: command for command in COMMANDS}
