"""A question of the agent, or of a server during a call, at a terminal: a message with a form or address."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

import click
import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.moments import to_local
from hermes_jobs.interfaces.cli.output import COLOURS, cut, flowed, one_line, terminal_width
from hermes_jobs.interfaces.cli.questions.approval import Asker, print_open
from hermes_jobs.interfaces.cli.questions.form_entry import SKIP, FormEntry, usage_of
from hermes_jobs.interfaces.cli.questions.keyboard import can_ask, read_answer, read_key
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.forms import ANSWER, is_free
from hermes_jobs.kernel.turns.questions import content_of, only_field
from hermes_jobs.kernel.turns.titles import printable

ANSWERED_TEXTS: dict[e.InputAction, str] = {
    "accept": "Answered.",
    "decline": "Declined; the {asker} is informed.",
    "cancel": "Dismissed; the {asker} is informed.",
}
KEYS = "ync"


class InputQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a server or of the agent. `tool` is the called tool, `asker` the sub-agent that called
    it."""

    request: e.InputRequested
    input_request: e.InputRequest
    tool: str
    asker: Asker | None = None

    @property
    def id(self) -> str:
        """A key unique among questions."""
        return f"{self.request.call} {self.input_request.key}"

    @property
    def call(self) -> str:
        """The waiting call."""
        return self.request.call

    @property
    def expires_at(self) -> float:
        """When the wait ends, in seconds since the epoch."""
        return self.request.expires_at

    @property
    def is_agents(self) -> bool:
        """Whether the agent asks: the next line is the answer, without a key before it."""
        return not self.request.server

    @property
    def keys(self) -> str:
        """The keys that answer it."""
        return "" if self.is_agents else KEYS

    def lines(self, width: int | None) -> list[str]:
        """The question; the sentence above it in lines of `width` columns."""
        heading = f"? {self._asks()}"
        first = click.style(heading, fg=COLOURS["waiting"], bold=True)
        above = flowed(f"{first}{click.style(f' ({printable(self.tool)})', dim=True)}", width).split("\n")
        if self.asker is not None:
            name = f"  {self.asker.name}"
            above.append(click.style(name if width is None else cut(name, width), dim=True))
        return [*above, *(f"    {line}" for line in self._shown(width))]

    def _asks(self) -> str:
        if self.is_agents:
            return f"{'A sub-agent' if self.asker else 'The agent'} asks"
        text = "you to open an address" if self.input_request.url else "for input"
        return f"The server {self.request.server} asks {text}"

    def _shown(self, width: int | None) -> Iterator[str]:
        for line in printable(self.input_request.message).splitlines():
            yield from flowed(line, None if width is None else width - 4).split("\n")
        if self.input_request.url:
            yield click.style(printable(self.input_request.url), fg="cyan")
            yield f"It leads to the host {click.style(host_of(self.input_request.url), bold=True)}."
        if self.is_agents:
            yield from choice_lines(self.input_request)

    def notes(self) -> str:
        """The time left, and a warning about secrets."""
        if self.is_agents:
            return f"{SKIP} declines; {self.without_answer}"
        what = (
            "it is never opened automatically"
            if self.input_request.url
            else "your answer is sent to the server: no secrets"
        )
        return f"{what}; {self.without_answer}"

    @property
    def without_answer(self) -> str:
        """What happens without an answer, and when."""
        until = to_local(datetime.fromtimestamp(self.expires_at, UTC))
        if self.is_agents:
            return f"without an answer the agent goes on at {until:%d %b %H:%M}"
        return f"without an answer it is cancelled at {until:%H:%M:%S}"

    def legend(self) -> str:
        """The keys that answer it, with their meanings, on one line; of the agent's, what is typed."""
        if self.is_agents:
            return f"your answer: {answer_hint(only_field(self.input_request))}"
        yes = (
            "I have opened it"
            if self.input_request.url
            else "answer"
            if self.input_request.fields
            else "accept"
        )
        answers = (("y", yes), ("n", "decline"), ("c", "cancel"))
        return " · ".join(f"{click.style(key, bold=True)} {meaning}" for key, meaning in answers)

    def effect(self, action: e.InputAction) -> str:
        """The effect of an answer, in words."""
        return ANSWERED_TEXTS[action].format(asker="agent" if self.is_agents else "server")

    def answer(self, action: e.InputAction, now: float, content: str = "") -> c.AnswerInput:
        """The command of an answer."""
        request = self.request
        return c.AnswerInput(
            turn=request.turn,
            call=request.call,
            key=self.input_request.key,
            action=action,
            content=content,
            by="user",
            now=now,
        )


def require_no_secret(content: str, redact: Callable[[str], str]) -> None:
    """Raise `Rejected` if an answer contains a secret known to `redact`."""
    if redact(content) != content:
        raise Rejected("The answer contains one of your secrets. Nothing was recorded.", kind="secret")


def input_questions(
    requested: e.InputRequested, tool: str, asker: Asker | None = None
) -> Iterator[InputQuestion]:
    """The questions of a call."""
    for request in requested.requests:
        if not request.refusal:
            yield InputQuestion(request=requested, input_request=request, tool=tool, asker=asker)


def ask_for_input(
    question: InputQuestion,
    show: Callable[[Sequence[str]], None],
    is_open: Callable[[], bool],
    now: Callable[[], float],
) -> c.AnswerInput | None:
    """The answer of a user at this terminal; None where it is too late.

    Raises `EOFError` where the terminal was closed.
    """
    if not can_ask():  # it has become a background job
        raise EOFError

    if question.is_agents:
        return _answered(question, show, is_open, now)

    def print_question() -> None:
        width = terminal_width(sys.stderr)
        show([*question.lines(width), click.style(flowed(f"  {question.notes()}", width), dim=True)])
        print_open(f"{flowed(f'  {question.legend()} ›', width)} ")

    try:
        key = read_key(KEYS, is_open, show=print_question, other=lambda: print_open("\n  y, n or c? "))
        click.echo(key or "", err=True)
        if key != "y":
            return question.answer("decline" if key == "n" else "cancel", now()) if key else None
        content = _filled_in(question.input_request, is_open)
    except (EOFError, KeyboardInterrupt):
        click.echo("", err=True)
        raise
    return None if content is None else question.answer("accept", now(), content)


def _answered(
    question: InputQuestion,
    show: Callable[[Sequence[str]], None],
    is_open: Callable[[], bool],
    now: Callable[[], float],
) -> c.AnswerInput | None:
    """The line that answers the agent; None where it is too late. An invalid one is read again."""
    width = terminal_width(sys.stderr)
    show([*question.lines(width), click.style(flowed(f"  {question.notes()}", width), dim=True)])
    prompt = f"{flowed(f'  {question.legend()} ›', width)} "
    while True:
        try:
            text = read_answer(is_open, show=lambda: print_open(prompt))
        except (EOFError, KeyboardInterrupt):
            click.echo("", err=True)
            raise
        if text is None:
            return None
        try:
            return typed_answer(question, text, now())
        except Rejected as rejection:
            click.secho(f"  {rejection.message}", fg="red", err=True)


def typed_answer(question: InputQuestion, text: str, now: float) -> c.AnswerInput:
    """The command of a typed answer to the agent. Raises `Rejected` with the reason."""
    if not text.strip():
        raise Rejected(f"Type an answer, or {SKIP} to decline.", kind="usage")
    if text.strip() == SKIP:
        return question.answer("decline", now)
    return question.answer("accept", now, content_of(question.input_request, text))


def choice_lines(request: e.InputRequest) -> Iterator[str]:
    """The choices with their numbers."""
    for field in request.fields:
        for number, choice in enumerate(field.choices, 1):
            yield f"  {number} {one_line(printable(choice.title or choice.value))}"


def answer_hint(field: e.InputField) -> str:
    """What may be typed into the only field of a question."""
    if not field.choices:
        return "a text"
    numbers = "numbers with commas between" if field.kind == "choices" else "a number"
    return f"{numbers}, or {field.description or 'your own words'}" if field.open else numbers


def _filled_in(request: e.InputRequest, is_open: Callable[[], bool]) -> str | None:
    """The form's content; None if it is too late."""
    entry = FormEntry(request)
    while entry.field is not None:
        *above, last = entry.lines()
        for line in above:
            click.echo(line, err=True)
        print_open(last)
        text = read_answer(is_open)
        if text is None:
            return None
        try:
            entry.take(text)
        except Rejected as rejection:
            click.secho(f"  {rejection.message}", fg="red", err=True)
    return entry.content if request.fields else ""


def host_of(url: str) -> str:
    """The host of an address in ASCII form: `xn--…` for other letters."""
    host = urlsplit(url).hostname or ""
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host.encode("ascii", "backslashreplace").decode()


def how_to_answer(request: e.InputRequest, turn: str, flags: str = "") -> list[str]:
    """The question and the commands that answer it, for users who are not asked here."""
    command = f"hermes-jobs turns answer {turn}{flags}"
    lines = [f"  {line}" for line in printable(request.message).splitlines()]
    if [field.name for field in request.fields] == [ANSWER]:
        (field,) = request.fields
        ways = [*(["--choice N"] if field.choices else []), *(['"TEXT"'] if is_free(field) else [])]
        answers = f"  answer it:  {command} {'   or '.join(ways)}"
        return [
            *lines,
            *map("  {}".format, choice_lines(request)),
            answers,
            f"  decline it: {command} --decline",
        ]
    if request.url:
        lines.append(f"  open it yourself: {printable(request.url)} (host {host_of(request.url)})")
    lines += [f"    {usage_of(field)}" for field in request.fields]
    needed = [field for field in request.fields if field.required] or list(request.fields[:1])
    options = " ".join(f"--field {one_line(field.name)}=…" for field in needed)
    return [*lines, f"  answer it:  {command} {options or '--accept'}", f"  decline it: {command} --decline"]
