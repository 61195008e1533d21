"""Questions that wait for a person, as values for interfaces: each is answered with one text or choice.

A form of a server with several fields, and an address that a server wants opened, are no such questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events import InputField, InputRequest, InputRequested
from hermes_jobs.kernel.turns import forms
from hermes_jobs.kernel.turns.session import Session

Answer = str | int | Sequence[str | int]
"""A text, the number of a choice (from 1), or several of them."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question of the agent, or (`server`) of an MCP server. `id` is unique among all questions.

    Without `choices` it takes a text. With `several` any number of choices are an answer; `free_text`: other
    words, too. `expires_at`: the end of the wait, in seconds since the epoch.
    """

    id: str
    turn: str
    call: str
    key: str
    text: str
    choices: tuple[str, ...] = ()
    several: bool = False
    free_text: bool = True
    expires_at: float
    server: str = ""


def question_of(requested: InputRequested, request: InputRequest) -> Question | None:
    """The question of a request; None if it is none, or is not asked."""
    if request.url or request.refusal or len(request.fields) != 1:
        return None
    (field,) = request.fields
    is_yes_or_no = field.kind == "boolean"
    return Question(
        id=f"{requested.call} {request.key}",
        turn=requested.turn,
        call=requested.call,
        key=request.key,
        text=request.message,
        choices=("yes", "no") if is_yes_or_no else tuple(each.title or each.value for each in field.choices),
        several=field.kind == "choices",
        free_text=field.open or not (is_yes_or_no or field.choices),
        expires_at=requested.expires_at,
        server=requested.server,
    )


def open_questions(session: Session) -> Iterator[Question]:
    """The unanswered questions of the session's running turn."""
    turn = session.current
    for call in turn.calls if turn is not None and turn.cancelled_by is None else ():
        if call.input is not None and call.waits_for_input:
            for request in call.input.unanswered:
                question = question_of(call.input.request, request)
                if question is not None:
                    yield question


def content_of(request: InputRequest, answer: Answer) -> str:
    """The JSON object of the form for an answer to its only field. Raises `Rejected` with the reason."""
    field = only_field(request)
    return msgspec.json.encode({field.name: forms.answered(field, answer)}).decode()


def only_field(request: InputRequest) -> InputField:
    """The field of a form that has one. Raises `Rejected`."""
    if len(request.fields) != 1:
        names = ", ".join(field.name for field in request.fields) or "none"
        raise Rejected(f"This is not answered with one text; its fields are: {names}.", kind="usage")
    return request.fields[0]
