"""Turns that programs ask for, and what waits for a person in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.api import keys
from hermes_jobs.features.api.prompts import Prompt
from hermes_jobs.features.api.wire import Call
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.submitted import Submitted

if TYPE_CHECKING:
    from hermes_jobs.features.api.choosing import Chosen
    from hermes_jobs.features.api.pieces import Waits

MODEL = "hermes-jobs"
"""The name of the agent with its configured model."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A question's answer that is offered."""

    value: str
    title: str = ""


class WaitingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that waits for a person, until `expires_at` (seconds since the epoch).

    `kind` `approval`: whether it may be made, because of the rule `why`: POST …/approve or …/deny.
    `question`: `text`, answered by POST …/answer with `call` and `key`.
    """

    kind: str
    turn: str
    call: str
    expires_at: float
    tool: str = ""
    arguments: str = ""
    why: str = ""
    key: str = ""
    text: str = ""
    choices: tuple[Choice, ...] = ()


def waiting_calls(waits: Waits) -> tuple[WaitingCall, ...]:
    """What is asked about the call."""
    asked = waits.asked
    call = WaitingCall(
        kind="approval",
        turn=asked.turn,
        call=asked.call,
        expires_at=asked.expires_at,
        tool=waits.tool,
        arguments=waits.arguments,
        why=getattr(asked, "rule", ""),
    )
    if isinstance(asked, e.ApprovalRequested):
        return (call,)
    return tuple(
        msgspec.structs.replace(
            call,
            kind="question",
            key=request.key,
            text=request.message,
            choices=tuple(
                Choice(value=choice.value, title=choice.title)
                for field in request.fields
                for choice in field.choices
            ),
        )
        for request in asked.requests
        if not request.refusal
    )


def models(call: Call) -> tuple[str, ...]:
    """The names that `model` may have: the agent's, its model's, and the aliases of others."""
    settings = call.site.application.settings
    return tuple(dict.fromkeys((MODEL, settings.model_name, *settings.models.aliases)))


def model_of(call: Call, name: str) -> str | None:
    """The model that was asked for; None for the configured one. Raises `Rejected`."""
    if name in {"", MODEL}:
        return None
    if name not in models(call):
        known = ", ".join(models(call))
        raise Rejected(f"There is no model {name!r}; there are {known}.", kind="unknown_model")
    return name


def joined(call: Call, prompt: Prompt) -> Submitted | None:
    """The turn of an earlier request with the same `Idempotency-Key`. Raises `Rejected` for another text."""
    key = idempotency_key(call)
    earlier = call.site.turns.submitted(key) if key else None
    if earlier is None:
        return None
    text = call.site.application.views.turn(earlier.turn).text
    if text != prompt.text and not (prompt.files and text.startswith(prompt.text)):
        hint = "Use a new key for a new text."
        raise Rejected("The key was used before, for another text.", kind="key_reused", hint=hint)
    return earlier


def idempotency_key(call: Call) -> str | None:
    """The key of the request, which is its client's own."""
    given = call.request.headers.get("idempotency-key", "")
    return f"{call.by} {given}" if given else None


def ask(
    call: Call,
    prompt: Prompt,
    chosen: Chosen,
    *,
    model: str = "",
    schema: dict[str, Any] | None,
    waits: bool,
    data: str = "",
) -> Submitted:
    """Submit the prompt as a turn. `waits`: the client waits for it, so a worker has to be there. `data`:
    JSON that the client reads again with the answer.

    Raises `Rejected`: nothing was recorded then.
    """
    call.refuse_without_budget()
    application = call.site.application
    if waits and not application.workers.are_live():
        hint = "Start one: hermes-jobs up. Or ask in the background, which waits for one."
        raise Rejected("No worker is alive, so nobody would answer.", kind="no_worker", hint=hint)
    text, attachments = _taken_in(call, prompt)
    key = call.key
    return call.site.turns.submit(
        text,
        session=chosen.session,
        begin=chosen.begins,
        system=None if chosen.session and not chosen.begins else chosen.system,
        model=model_of(call, model),
        schema=schema,
        source=call.by,
        key=idempotency_key(call),
        if_busy="queue",
        attachments=attachments,
        account=keys.account_of(application, key) if key is not None else "",
        account_usd=key.budget_usd if key is not None else None,
        client_data=data,
    )


def _taken_in(call: Call, prompt: Prompt) -> tuple[str, Any]:
    """The text with text files in it, and what goes beside it. Raises `Rejected`."""
    from hermes_jobs.interfaces.cli.turns.attached_files import composed
    from hermes_jobs.interfaces.cli.turns.text import MAX_BYTES

    if len(prompt.text) > MAX_BYTES:
        size = f"{len(prompt.text):,} characters; a message may have {MAX_BYTES:,}"
        raise Rejected(f"The text has {size}.", kind="usage", hint="Send long texts as files.")
    if not prompt.files:
        return prompt.text, ()
    return composed(call.site.application.intake, prompt.text, prompt.files)
