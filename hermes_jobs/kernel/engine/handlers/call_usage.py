"""Usage of model calls without a reported usage, and of calls that another model answered in their place."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import CANCELLED, FailedCall, ModelError, Pricing
from hermes_jobs.kernel.events import ResponseBooked
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage
from hermes_jobs.text.tokens import tokens

Outcome = TypeVar("Outcome", e.ModelReplied, e.ModelCallFailed, e.ReferenceReplied, e.ReferenceFailed)

UNREPORTED = frozenset({CANCELLED, "timeout"})
"""Kinds of failures after which the provider may bill what it never reported."""


def unreported(error: ModelError, sent: int) -> Usage:
    """The estimated usage of a failed call whose request had `sent` tokens; none where it reported one, or
    cannot have used any."""
    return Usage(sent) if error.usage == NO_USAGE and error.kind in UNREPORTED else NO_USAGE


def with_estimate(outcome: Outcome, pricing: Pricing, reserved: Reservation | None, text: str) -> Outcome:
    """The outcome with an estimate of its usage, where none was reported; `text` is what was received."""
    if outcome.usage != NO_USAGE or reserved is None:
        return outcome
    used = Usage(reserved.input_tokens, tokens(text))
    return replace(outcome, estimated=used, estimated_cost_usd=pricing.cost_usd(outcome.model, used))


def failed_call_usage(
    failed: FailedCall | None, pricing: Pricing, sent: int, *, turn: str | None, step: str, purpose: str
) -> tuple[ResponseBooked, ...]:
    """The usage of a failed call for which another model answered; empty if it cannot have cost anything.

    `sent`: tokens of the request, which are the estimate if no usage was reported.
    """
    if failed is None:
        return ()
    usage, model = failed.error.usage, failed.model
    used = unreported(failed.error, sent)
    if usage == used == NO_USAGE:
        return ()
    cost = pricing.cost_usd(model, usage)
    event = ResponseBooked(turn=turn, step=step, purpose=purpose, model=model, usage=usage, cost_usd=cost)
    if usage != NO_USAGE:
        return (event,)
    return (replace(event, estimated=used, estimated_cost_usd=pricing.cost_usd(model, used)),)


def failure_text(failed: FailedCall | None) -> str:
    """The model that failed, and its error; empty if none failed."""
    return f"{failed.model}: {failed.error.message}" if failed is not None else ""
