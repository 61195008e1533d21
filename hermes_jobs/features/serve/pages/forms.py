"""Forms of MCP servers, and addresses that they ask to open: shown, filled in, and their faults by field."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.serve.pages.frame import caller_of, done, field, page, site_of
from hermes_jobs.interfaces.cli.questions.form_entry import FORMATS, KINDS, limits
from hermes_jobs.interfaces.cli.questions.input import InputQuestion, host_of
from hermes_jobs.kernel.turns import forms

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hermes_jobs.features.serve.site import Site
    from hermes_jobs.kernel.events import InputField

TYPES = {"integer": "number", "number": "number", "email": "email", "uri": "url", "date": "date"}
"""The type of an input by a field's format or kind; the others are texts."""
UNITS = {"choices": "some of these"}


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A field as it is shown. `name` is that of the input. `values`: what is filled in or chosen. `fault`:
    what is wrong with them."""

    name: str
    asked: InputField
    type: str
    hint: str
    values: tuple[str, ...]
    fault: str = ""

    @property
    def label(self) -> str:
        """The label."""
        return forms.label(self.asked)

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """What can be chosen: values and their titles."""
        if self.asked.kind == "boolean":
            return (("yes", "yes"), ("no", "no"))
        return tuple((each.value, each.title or each.value) for each in self.asked.choices)


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a server that waits: fields, or the address `url` at `host`."""

    turn: str
    call: str
    key: str
    server: str
    text: str
    url: str
    host: str
    fields: tuple[Field, ...]
    minutes: int


def form_of(question: InputQuestion) -> Form:
    """The form, with its defaults filled in."""
    asked = question.input_request
    return Form(
        turn=question.request.turn,
        call=question.request.call,
        key=asked.key,
        server=question.request.server,
        text=asked.message,
        url=asked.url,
        host=host_of(asked.url) if asked.url else "",
        fields=tuple(_field(f"field-{number}", each) for number, each in enumerate(asked.fields)),
        minutes=max(0, round((question.request.expires_at - time.time()) / 60)),
    )


def _field(name: str, asked: InputField) -> Field:
    default = forms.default(asked)
    if isinstance(default, list):
        values = tuple(str(each) for each in default)
    elif isinstance(default, bool):
        values = ("yes" if default else "no",)
    else:
        values = () if default is None else (str(default),)
    kind = (
        "" if asked.kind == "choice" else UNITS.get(asked.kind, FORMATS.get(asked.format, KINDS[asked.kind]))
    )
    hints = (kind, limits(asked), "required" if asked.required else "optional")
    return Field(
        name=name,
        asked=asked,
        type=TYPES.get(asked.format or asked.kind, "text"),
        hint=", ".join(filter(None, hints)),
        values=values,
    )


def fill_in(request: Request, form: Form) -> Response:
    """Answer the form with what was filled in; else show it again, with its faults. Raises `Rejected`."""
    site, by = site_of(request), caller_of(request).name
    filled, content = _read(request, form.fields)
    if any(each.fault for each in filled):
        again = replace(form, fields=filled)
        return page(
            request, "form.html", "This is not right yet", status=422, form=again, back=field(request, "back")
        )
    _answer(site, form, content, by)
    return done(f"/turns/{form.turn}" if field(request, "back") == "turn" else "/")


def _answer(site: Site, form: Form, content: dict[str, Any], by: str) -> None:
    answer = None if form.url else content
    site.turns.answer(form.turn, answer, call=form.call, key=form.key, by=by)


def _read(request: Request, fields: Sequence[Field]) -> tuple[tuple[Field, ...], dict[str, Any]]:
    """The fields as they were filled in, and their values by name."""
    filled, content = [], {}
    for each in fields:
        texts = tuple(str(text) for text in request.state.form.getlist(each.name))
        fault = ""
        try:
            value = _value(each.asked, texts)
            if value is not None:
                content[each.asked.name] = value
        except Rejected as rejection:
            fault = rejection.message
        filled.append(replace(each, values=texts, fault=fault))
    return tuple(filled), content


def _value(asked: InputField, texts: tuple[str, ...]) -> Any:
    """The value; None for a field that is left out. Raises `Rejected`, which names the field."""
    text = texts[0].strip() if texts else ""
    is_cleared = bool(asked.default) and asked.kind in ("text", "choices")
    value: Any
    if asked.kind == "choices":
        value = [*texts] if texts or asked.required or is_cleared else None
    elif not text and not (is_cleared and not asked.required):
        value = None
    else:
        value = texts[0] if asked.kind == "choice" else forms.typed(asked, text)
    if value is not None or asked.required:
        given = {} if value is None else {asked.name: value}
        forms.checked((asked,), msgspec.json.encode(given).decode())
    return value
