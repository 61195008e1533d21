"""Approval questions at a terminal: the call or its diff, and the possible
answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

import click
import msgspec

from hermes_jobs.features.snapshots.cli.diff_format import colour
from hermes_jobs.interfaces.cli.moments import to_local
from hermes_jobs.interfaces.cli.output import (
    COLOURS,
    cut,
    flowed,
    one_line,
    short_path,
    terminal_width,
    whole_lines,
)
from hermes_jobs.interfaces.cli.questions.edit_diff import command_of, diff_of
from hermes_jobs.interfaces.cli.questions.keyboard import can_ask, read_answer, read_key
from hermes_jobs.interfaces.cli.turns.progress import call_details
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.approval_rules import offer_text
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.titles import printable, revealed

Key = Literal["y", "s", "a", "n", "r"]
SCOPES: dict[str, e.ApprovalScope] = {"y": "once", "s": "session", "a": "always"}
ANSWERED_TEXTS = {
    "once": "Allowed once.",
    "session": "Allowed for this session.",
    "always": "Allowed from now on.",
}


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-agent with a question: its stream, the turns from the root's down to its own, and its goal."""

    stream: str
    path: tuple[str, ...]
    goal: str

    @property
    def name(self) -> str:
        """Its label: its path and its goal."""
        return f"{' › '.join(self.path)}: {one_line(printable(self.goal))}"


class ApprovalQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for approval; `folder` is the session's. `asker`: the sub-agent of the call."""

    request: e.ApprovalRequested
    tool_call: ToolCall
    folder: str
    asker: Asker | None = None

    @property
    def id(self) -> str:
        """A key unique among questions."""
        return self.request.call

    @property
    def call(self) -> str:
        """The waiting call."""
        return self.request.call

    @property
    def expires_at(self) -> float:
        """When the wait ends, in seconds since the epoch."""
        return self.request.expires_at

    def lines(self, width: int | None) -> list[str]:
        """The whole question; the sentence above it in lines of `width` columns."""
        command = command_of(self.tool_call)
        text = "to run a command" if command else f"to use {printable(self.tool_call.name)}"
        asker = "A sub-agent" if self.asker else "The agent"
        first = click.style(f"? {asker} asks {text}", fg=COLOURS["waiting"], bold=True)
        reason = click.style(f" ({printable(self.request.rule)})", dim=True)
        above = flowed(f"{first}{reason}", width).split("\n")
        if self.asker is not None:
            name = f"  {self.asker.name}"
            above.append(click.style(name if width is None else cut(name, width), dim=True))
        return [*above, *(f"    {line}" for line in self._shown(command, width))]

    def _shown(self, command: str, width: int | None) -> list[str]:
        if command:
            limit = None if width is None else width - 4
            return [click.style(line, fg="cyan") for line in whole_lines(revealed(command), limit)]
        return (
            colour(diff_of(self.tool_call, self.folder))
            or call_details(self.tool_call.name, self.tool_call.arguments).splitlines()
        )

    def answers(self) -> list[tuple[Key, str]]:
        """The possible answers by their keys."""
        offer = self.request.offer
        session = "this session" if self.asker is None else "its session"
        lasting: list[tuple[Key, str]] = [("s", session), ("a", "always in this folder")]
        no: list[tuple[Key, str]] = [("n", "no"), ("r", "no, and why")]
        return [("y", "once"), *(lasting if offer is not None else ()), *no]

    @property
    def keys(self) -> str:
        """The keys that answer it."""
        return "".join(key for key, _ in self.answers())

    def notes(self) -> str:
        """The effect of `s` and `a`, and the time left."""
        until = to_local(datetime.fromtimestamp(self.request.expires_at, UTC))
        offer, end = self.request.offer, f"without an answer it is refused at {until:%H:%M:%S}"
        if offer is None:
            return end
        return f"s and a allow {one_line(offer_text(offer))}, in {short_path(offer.folder)}; {end}"

    def legend(self) -> str:
        """The keys that answer it, with their meanings, on one line."""
        return " · ".join(f"{click.style(key, bold=True)} {meaning}" for key, meaning in self.answers())

    def command(self, key: str, reason: str, now: float) -> c.ApproveCall | c.DenyCall | None:
        """The command of an answer; None for another key."""
        turn, call = self.request.turn, self.request.call
        if key not in {answer for answer, _ in self.answers()}:
            return None
        if key in SCOPES:
            return c.ApproveCall(turn=turn, call=call, by="user", now=now, scope=SCOPES[key])
        return c.DenyCall(turn=turn, call=call, by="user", reason=reason)


def ask_person(
    question: ApprovalQuestion, show: Callable[[Sequence[str]], None], is_open: Callable[[], bool]
) -> tuple[str, str] | None:
    """The key and the reason that a user at this terminal answers with; None where it is too late.

    Raises `EOFError` where the terminal was closed.
    """
    if not can_ask():  # it has become a background job
        raise EOFError
    keys = question.keys
    hint = f"\n  {', '.join(keys[:-1])} or {keys[-1]}? "

    def print_question() -> None:
        width = terminal_width(sys.stderr)
        show([*question.lines(width), click.style(flowed(f"  {question.notes()}", width), dim=True)])
        print_open(f"{flowed(f'  {question.legend()} ›', width)} ")

    try:
        key = read_key(keys, is_open, show=print_question, other=lambda: print_open(hint))
        click.echo(key or "", err=True)
        if key != "r":
            return (key, "") if key else None
        print_open("  Why? ")
        reason = read_answer(is_open)
    except (EOFError, KeyboardInterrupt):
        click.echo("", err=True)
        raise
    return None if reason is None else ("n", reason)


def print_open(text: str) -> None:
    """Print a line without its end."""
    click.echo(text, nl=False, err=True)


def answer_effect(command: c.ApproveCall | c.DenyCall) -> str:
    """The effect of an answer, in words."""
    if isinstance(command, c.ApproveCall):
        return ANSWERED_TEXTS[command.scope]
    return "Refused; the agent gets your reason." if command.reason else "Refused."
