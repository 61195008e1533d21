"""A question of a turn as the form of an MCP elicitation, and the client's answer as a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from hermes_jobs.interfaces.cli.questions.approval import ApprovalQuestion
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
from hermes_jobs.kernel.events import InputField
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.forms import default

ANSWERS = {"y": "once", "s": "session", "n": "no"}
"""The keys of answers to an approval that a client can give, with their names in the form. A lasting rule is
left to the command line."""
TYPES = {"text": "string", "choice": "string", "choices": "array"}
LIMITS = {
    "text": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "choices": ("minItems", "maxItems"),
}


Mode = Literal["form", "url"]


def form_mode(question: AnyQuestion) -> Mode:
    """The mode of the question: a form, or an address to be opened."""
    return "url" if address(question) else "form"


def address(question: AnyQuestion) -> str:
    """The address to be opened; empty for another question."""
    return "" if isinstance(question, ApprovalQuestion) else question.input_request.url


def form(question: AnyQuestion) -> dict[str, Any]:
    """The schema of the answer."""
    if isinstance(question, ApprovalQuestion):
        return _approval(question)
    fields = question.input_request.fields
    return {
        "type": "object",
        "properties": {field.name: _property(field) for field in fields},
        "required": [field.name for field in fields if field.required],
    }


def command(
    question: AnyQuestion, action: str, content: Mapping[str, Any] | None, now: float
) -> c.SessionCommand | None:
    """The command of an answer, by the time `now`; None without a decision.

    Declining an approval refuses the call. A closed or invalid form decides nothing.
    """
    values = content or {}
    if isinstance(question, ApprovalQuestion):
        if action == "decline":
            return question.command("n", "", now)
        key = next((key for key, name in ANSWERS.items() if name == values.get("answer")), None)
        reason = values.get("reason")
        if action != "accept" or key is None:
            return None
        return question.command(key, reason.strip() if isinstance(reason, str) else "", now)
    if action == "accept" and question.input_request.url:
        return question.answer("accept", now)
    if action == "accept":
        return question.answer("accept", now, msgspec.json.encode(dict(values)).decode())
    return question.answer("decline", now) if action == "decline" else None


def _approval(question: ApprovalQuestion) -> dict[str, Any]:
    keys = {key for key, _ in question.answers()}
    return {
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": "May it run?",
                "description": "once, for the rest of the session, or no",
                "enum": [name for key, name in ANSWERS.items() if key in keys],
            },
            "reason": {"type": "string", "title": "Why not?", "description": "The agent is told."},
        },
        "required": ["answer"],
    }


def _property(field: InputField) -> dict[str, Any]:
    values = [choice.value for choice in field.choices]
    schema: dict[str, Any] = {
        "type": TYPES.get(field.kind, field.kind),
        "title": field.title,
        "description": field.description,
        "format": field.format,
        "default": default(field),
    }
    if field.open:
        schema["description"] = f"{', '.join(values)}, or {field.description or 'your own words'}"
    elif field.kind == "choice":
        schema |= {"enum": values, "enumNames": [choice.title or choice.value for choice in field.choices]}
    if field.kind == "choices":
        schema["items"] = {"type": "string"} if field.open else {"type": "string", "enum": values}
    for name, limit in zip(LIMITS.get(field.kind, ()), (field.least, field.most), strict=False):
        schema[name] = int(limit) if limit is not None and limit == int(limit) else limit
    return {name: value for name, value in schema.items() if value not in ("", None)}
