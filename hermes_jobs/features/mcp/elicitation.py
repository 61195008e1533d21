"""Parses a server's questions for the user. The input is untrusted: anything may be missing or invalid, and
questions that must not be asked get a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.kernel.events import FieldKind, InputChoice, InputField, InputRequest

METHOD = "elicitation/create"
MAX_MESSAGE = 2_000
MAX_LABEL = 300
MAX_REQUESTS = 10
MAX_FIELDS = 30
MAX_CHOICES = 200
MAX_STATE = 256 * 1024

_SECRET = re.compile(
    r"\b(pass\s?-?(word|phrase|code)s?|passwd|pwd|pin|secrets?|tokens?|credentials?|cvv|cvc|otp"
    r"|(api|access|private|secret|encryption|signing|recovery)[\s_-]?keys?"
    r"|card[\s_-]?numbers?|security[\s_-]?codes?|one[\s_-]?time[\s_-]?(code|password)s?)\b",
    re.IGNORECASE,
)
_LIMITS: Mapping[str, tuple[str, str]] = {
    "text": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "choices": ("minItems", "maxItems"),
}
_FORMATS = frozenset({"email", "uri", "date", "date-time"})
_KINDS: Mapping[str, FieldKind] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}


class Unanswerable(Exception):
    """A server's request cannot be answered. The message is half a sentence."""


class _RefusedForm(Exception):
    """The question must not be shown to a user. The message is the reason."""


def requests_of(
    requests_by_key: Mapping[str, Any], redact: Callable[[str], str] = lambda text: text
) -> tuple[InputRequest, ...]:
    """What is asked for, by the server's names for it. `redact` takes known secrets out.

    Raises `Unanswerable` for a question that is never shown to a user.
    """
    if not 0 < len(requests_by_key) <= MAX_REQUESTS:
        raise Unanswerable(f"it asks for {len(requests_by_key)} things at once")
    requests = []
    for key, request in requests_by_key.items():
        if not isinstance(request, dict) or request.get("method") != METHOD:
            method = str(request.get("method", "?"))[:50] if isinstance(request, dict) else "?"
            raise Unanswerable(f"it asks for {clean(method)!r}, which is not supported")
        params = request.get("params")
        requests.append(_request(key, params if isinstance(params, dict) else {}, redact))
    return tuple(requests)


def _request(key: str, params: Mapping[str, Any], redact: Callable[[str], str]) -> InputRequest:
    message = _text(redact(str(params.get("message", ""))), MAX_MESSAGE)
    request = InputRequest(key=key[:200], message=message)
    try:
        if params.get("mode") == "url":
            return msgspec.structs.replace(request, url=_address(redact(str(params.get("url", "")))))
        return msgspec.structs.replace(
            request, fields=_fields(params.get("requestedSchema"), message, redact)
        )
    except _RefusedForm as rejection:
        return msgspec.structs.replace(request, refusal=str(rejection))


def _address(url: str) -> str:
    """The address. Raises `_RefusedForm` for an address that a browser should not open."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise _RefusedForm("its address cannot be read") from None
    if parts.scheme not in ("http", "https") or not host or url != clean(url) or any(map(str.isspace, url)):
        raise _RefusedForm("its address is not one of the web")
    if parts.username is not None:
        raise _RefusedForm("its address has a name before the host, which hides where it leads")
    return url


def _fields(schema: object, message: str, redact: Callable[[str], str]) -> tuple[InputField, ...]:
    """The fields of a form. Raises `_RefusedForm`."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict) or len(properties) > MAX_FIELDS:
        raise _RefusedForm("its form cannot be shown")
    needed = schema.get("required")
    required = needed if isinstance(needed, list) else []
    fields = []
    for name, described in properties.items():
        schemas = described if isinstance(described, dict) else {}
        fields.append(_field(redact(name), schemas, name in required, redact))
    texts = [field for field in fields if field.kind == "text"]
    for field in texts:
        if _is_secret(f"{_words(field.name)} {field.title} {field.description}"):
            raise _RefusedForm(f"its form asks for a secret ({field.name}), which the specification forbids")
    if texts and _is_secret(message):
        raise _RefusedForm("its form asks for a secret, which the specification forbids")
    return tuple(fields)


def _field(name: str, schema: Mapping[str, Any], required: bool, redact: Callable[[str], str]) -> InputField:
    kind, choices = _kind(name, schema)
    minimum, maximum = (_number(schema.get(limit)) for limit in _LIMITS.get(kind, ("", "")))
    default = schema.get("default")
    return InputField(
        name=name,
        kind=kind,
        title=_text(redact(str(schema.get("title", ""))), MAX_LABEL),
        description=_text(redact(str(schema.get("description", ""))), MAX_LABEL),
        required=required,
        default="" if default is None else msgspec.json.encode(default).decode(),
        choices=choices,
        least=minimum,
        most=maximum,
        format=str(schema["format"]) if kind == "text" and schema.get("format") in _FORMATS else "",
    )


def _kind(name: str, schema: Mapping[str, Any]) -> tuple[FieldKind, tuple[InputChoice, ...]]:
    """The kind of a field, and its choices. Raises `_RefusedForm` for an unknown one."""
    if not name or name != clean(name) or len(name) > MAX_LABEL:
        raise _RefusedForm("its form has a field without a usable name")
    kind = schema.get("type")
    if kind == "array" and isinstance(schema.get("items"), dict):
        choices = _choices(schema["items"])
        if choices:
            return "choices", choices
    elif kind in _KINDS:
        choices = _choices(schema) if kind == "string" else ()
        return ("choice" if choices else _KINDS[str(kind)]), choices
    raise _RefusedForm(f"its form has a field that cannot be filled in ({name})")


def _choices(schema: Mapping[str, Any]) -> tuple[InputChoice, ...]:
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        choices = [
            (str(option.get("const", "")), str(option.get("title", "")))
            for option in titled
            if isinstance(option, dict)
        ]
    else:
        values, names = schema.get("enum"), schema.get("enumNames")
        values = values if isinstance(values, list) else []
        names = names if isinstance(names, list) and len(names) == len(values) else [""] * len(values)
        choices = [(str(value), str(title)) for value, title in zip(values, names, strict=True)]
    if len(choices) > MAX_CHOICES or any(value != clean(value) for value, _ in choices):
        raise _RefusedForm("its form has choices that cannot be shown")
    return tuple(
        InputChoice(value=value, title="" if title == value else _text(title, MAX_LABEL))
        for value, title in choices
    )


def _text(text: str, maximum: int) -> str:
    return clean(text).strip()[:maximum]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _words(name: str) -> str:
    """A name such as `apiKey` or `api_key` in words."""
    return re.sub(r"[_\-.]+", " ", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name))


def _is_secret(text: str) -> bool:
    return _SECRET.search(text) is not None
