"""Keys: made, revoked, listed, and recognised."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.features.api import events as e
from hermes_jobs.features.api.rules import AddKey, ApiKeys, ChangeBudget, RevokeKey, known
from hermes_jobs.kernel.streams.accounts import NANO
from hermes_jobs.text.moments import day_of, iso

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

BEGINNING = "hj-"
USER = "user"


class KeyView(msgspec.Struct, frozen=True, kw_only=True):
    """A key in force as scripts see it, without its text. `spent_usd`: what its turns have spent, and what
    running ones may still spend, in this calendar month."""

    key: str
    scopes: tuple[e.Scope, ...]
    budget_usd: float | None
    spent_usd: float
    added_at: str
    by: str


def add(
    application: Application, name: str, scopes: Sequence[e.Scope], budget_usd: float | None = None
) -> str:
    """Add a key; returns its text, which cannot be found out later. Raises `Rejected`."""
    text = BEGINNING + secrets.token_urlsafe(32)
    added = e.ApiKeyAdded(
        key=name,
        digest=_digest(text),
        scopes=tuple(dict.fromkeys(scopes)),
        by=USER,
        at=application.clock.now(),
        budget_usd=budget_usd,
    )
    application.engine().change(AddKey(added=added), "keys add")
    return text


def revoke(application: Application, name: str) -> None:
    """Revoke a key: it is refused from its next request on. Raises `Rejected`."""
    application.engine().change(RevokeKey(key=name, by=USER), "keys revoke")


def change_budget(application: Application, name: str, budget_usd: float | None) -> KeyView:
    """Let a key spend so much in a month, from its next turn on; the key. Raises `Rejected`."""
    change = ChangeBudget(key=name, by=USER, budget_usd=budget_usd)
    application.engine().change(change, "keys edit")
    return _view(application, known(_state(application), name))


def current(application: Application, key: e.ApiKeyAdded) -> e.ApiKeyAdded:
    """The key as it is now; as it was, if it was revoked meanwhile."""
    return _state(application).keys.get(key.key, key)


def keys(application: Application) -> tuple[KeyView, ...]:
    """The keys in force, in the order in which they were added."""
    return tuple(_view(application, key) for key in _state(application).keys.values())


def of_header(application: Application, headers: Mapping[str, str]) -> e.ApiKeyAdded | None:
    """The key in force that a request carries: `Authorization: Bearer hj-…`."""
    kind, _, text = headers.get("authorization", "").partition(" ")
    return recognised(application, text.strip()) if kind.lower() == "bearer" else None


def recognised(application: Application, text: str) -> e.ApiKeyAdded | None:
    """The key in force with that text."""
    return _state(application).with_digest(_digest(text)) if text.startswith(BEGINNING) else None


def account_of(application: Application, key: e.ApiKeyAdded) -> str:
    """The account of what the key spends in this month."""
    month = day_of(application.clock.now(), application.settings.zone)[:7]
    return f"api-key-{key.key}-{month}"


def spent_usd(application: Application, key: e.ApiKeyAdded) -> float:
    """What it has spent in this month, and what is reserved."""
    account = application.log.account(account_of(application, key))
    return (account.spent + account.reserved).nano_usd / NANO


def _view(application: Application, key: e.ApiKeyAdded) -> KeyView:
    return KeyView(
        key=key.key,
        scopes=key.scopes,
        budget_usd=key.budget_usd,
        spent_usd=spent_usd(application, key),
        added_at=iso(key.at),
        by=key.by,
    )


def _state(application: Application) -> ApiKeys:
    state = application.engine().state(e.STREAM)
    assert isinstance(state, ApiKeys)
    return state


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
