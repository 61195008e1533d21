"""Slash commands that run command lines of `hermes-jobs` in the chat, with the same arguments."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.chat.slash import ChatContext, CompletionItems

SENTENCE_AT = {"add": 1, "preview": 1, "edit": 2}
"""Subcommands of `schedule` that take a sentence, and at which word it begins."""


def command_line(*before: str, default: Sequence[str] = ()) -> Callable[[ChatContext, str], None]:
    """The command line of that name with the given words, or `default` without words."""

    def act(chat: ChatContext, rest: str) -> None:
        chat.command_line(*before, *(words(rest) or default))

    return act


def schedule(chat: ChatContext, rest: str) -> None:
    """Add a schedule from a sentence, else run `hermes-jobs schedule` with these words."""
    arguments = words(rest)
    if not arguments or arguments[0].startswith("-"):
        pass
    elif arguments[0] not in subcommands("schedule") or _has_time(chat, rest):
        arguments = ["add", rest]
    elif arguments[0] in SENTENCE_AT and not any(word.startswith("-") for word in arguments):
        arguments = _joined(arguments, SENTENCE_AT[arguments[0]])  # a sentence needs no quotes here
    chat.command_line("schedule", *(arguments or ["list"]))


def _joined(arguments: Sequence[str], index: int) -> list[str]:
    """The words, those from `index` on as one."""
    return [*arguments[:index], *filter(None, [" ".join(arguments[index:])])]


def _has_time(chat: ChatContext, rest: str) -> bool:
    """Whether words that begin with a subcommand's name form a sentence: `run the tests every day at 9`.

    They are a subcommand if a schedule is named: `edit backup every day at 9`.
    """
    from schedules.phrases import Understood, parse

    subcommand, _, others = rest.partition(" ")
    if subcommand in {"add", "preview"} or not others.strip():
        return False
    now = datetime.now(UTC).replace(microsecond=0)
    if not isinstance(parse(rest, now, chat.application.timezone), Understood):
        return False
    try:
        chat.application.views.find_schedule(words(others)[0])
    except HermesJobsError:
        return True
    return False


def search(chat: ChatContext, rest: str) -> None:
    """Search all sessions."""
    if not rest:
        chat.print_line("/search WORDS searches all conversations.")
        return
    arguments = words(rest)
    chat.command_line("sessions", "search", *(arguments if arguments[0].startswith("-") else [rest]))


def export(chat: ChatContext, rest: str) -> None:
    """Write the session to a file. Raises `Rejected` before its first message."""
    lineage = chat.conversation.require_session().lineage
    arguments = words(rest) or [f"{lineage}.md"]
    chat.command_line("sessions", "export", lineage, "-o", *arguments)


def summary(chat: ChatContext, _rest: str) -> None:
    """Show the summary of the session's older part. Raises `Rejected` before its first message."""
    chat.command_line("sessions", "summary", chat.conversation.require_session().lineage)


def offers(group: str) -> Callable[[ChatContext], CompletionItems]:
    """Completions after the command of that name."""
    return lambda _chat: subcommands(group).items()


def subcommands(group: str) -> Mapping[str, str]:
    """The subcommands of `hermes-jobs GROUP`, with descriptions."""
    import click

    from hermes_jobs.interfaces.cli import hermes_jobs

    context = click.Context(hermes_jobs)
    command = hermes_jobs.get_command(context, group)
    assert isinstance(command, click.Group), f"{group} has no commands of its own"
    commands = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: command.get_short_help_str() for name, command in commands.items() if command is not None}


def words(rest: str) -> list[str]:
    """The typed text, split as in a shell."""
    try:
        return shlex.split(rest)
    except ValueError:
        return rest.split()  # an apostrophe, not a quotation
