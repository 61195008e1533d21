"""Events of input that an MCP server, or the agent itself, requests from the user during a tool call."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.field_kinds import JSON

FieldKind = Literal["text", "integer", "number", "boolean", "choice", "choices"]
InputAction = Literal["accept", "decline", "cancel"]
"""The answers of the MCP specification. `cancel`: no decision was made."""


class InputChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A choice: its value, and a title if that differs."""

    value: str
    title: str = ""


class InputField(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a form. `least` and `most` limit the length of a text, a number, or how many are chosen.

    `default` is a JSON value, empty for none. `format`: `email`, `uri`, `date` or `date-time`. `open`: any
    text is an answer, besides the choices.
    """

    name: str
    kind: FieldKind
    title: str = ""
    description: str = ""
    required: bool = False
    default: Annotated[str, JSON] = ""
    choices: tuple[InputChoice, ...] = ()
    least: float | None = None
    most: float | None = None
    format: str = ""
    open: bool = False


class InputRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request of a server: a form of `fields`, or a visit to `url`. `key` is the server's name for it.
    `refusal`: the reason why the user is not asked; else empty."""

    key: str
    message: str
    fields: tuple[InputField, ...] = ()
    url: str = ""
    refusal: str = ""


class InputRequested(Event, frozen=True, kw_only=True):
    """The call waits for answers until `expires_at`, and is then made again with them and the server's
    `state`. `live`: the call is still being made, and its worker passes the answers on. `server` is empty
    where the agent asks.
    """

    turn: str
    call: str
    server: str
    requests: tuple[InputRequest, ...]
    expires_at: float
    state: str | None = None
    live: bool = False

    @property
    def asker(self) -> str:
        """Who asks, in words."""
        return self.server or "the agent"

    def without(self, key: str) -> InputRequested | None:
        """The event without an answered request; None if that was the last one."""
        remaining = tuple(request for request in self.requests if request.key != key)
        return msgspec.structs.replace(self, requests=remaining) if remaining else None


class InputAnswered(Event, frozen=True, kw_only=True):
    """One of the requests has its answer; `content` is a JSON object with the fields of an accepted form.

    `by`: `user`; `timeout`: there was no answer in time; `unattended`: no user could answer; `policy`: the
    request has a refusal.
    """

    turn: str
    call: str
    key: str
    action: InputAction
    by: str
    content: Annotated[str, JSON] = ""


InputEvent = InputRequested | InputAnswered
