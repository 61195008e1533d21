"""The keys in force, folded from the stream `api-keys`, and the commands on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.api import events as e
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader
from hermes_jobs.kernel.streams.stream_kind import StreamKind

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")


class ApiKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the stream: the keys in force by name, in the order in which they were added."""

    stream: str = e.STREAM
    version: int = 0
    keys: Mapping[str, e.ApiKeyAdded] = {}

    def with_digest(self, digest: str) -> e.ApiKeyAdded | None:
        """The key with that digest, if it is in force."""
        return next((key for key in self.keys.values() if key.digest == digest), None)


def evolve(state: ApiKeys, event: e.ApiKeyEvent) -> ApiKeys:
    """The state after one more event."""
    others = {name: key for name, key in state.keys.items() if name != event.key}
    match event:
        case e.ApiKeyAdded():
            return replace(state, version=state.version + 1, keys={**others, event.key: event})
        case e.ApiKeyRevoked():
            return replace(state, version=state.version + 1, keys=others)
        case e.ApiKeyBudgetChanged():
            changed = replace(state.keys[event.key], budget_usd=event.budget_usd)
            keys = {name: changed if name == event.key else key for name, key in state.keys.items()}
            return replace(state, version=state.version + 1, keys=keys)
        case _:
            assert_never(event)


class AddKey(msgspec.Struct, frozen=True, kw_only=True):
    """Add a key."""

    added: e.ApiKeyAdded

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event. Raises `Rejected`: `usage`, `exists`."""
        state: ApiKeys = load(e.STREAM)
        name = self.added.key
        if not NAME.fullmatch(name):
            raise Rejected(
                f"{name!r} is not a name for a key.",
                kind="usage",
                hint="Use up to 40 small letters, digits, and . _ - between them, such as phone.",
            )
        if name in state.keys:
            hint = f"Take another name, or revoke it first: hermes-jobs keys revoke {name}"
            raise Rejected(f"There is a key {name!r} already.", kind="exists", hint=hint)
        return DecisionResult.of(e.STREAM, self.added)


class RevokeKey(msgspec.Struct, frozen=True, kw_only=True):
    """Revoke the key of that name."""

    key: str
    by: str

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event. Raises `Rejected`, kind `unknown_key`."""
        _ = known(load(e.STREAM), self.key)
        return DecisionResult.of(e.STREAM, e.ApiKeyRevoked(key=self.key, by=self.by))


class ChangeBudget(msgspec.Struct, frozen=True, kw_only=True):
    """Let the key spend so much in a month; None: no limit of its own."""

    key: str
    by: str
    budget_usd: float | None

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event; none where it is so already. Raises `Rejected`, kind `unknown_key`."""
        if known(load(e.STREAM), self.key).budget_usd == self.budget_usd:
            return DecisionResult()
        changed = e.ApiKeyBudgetChanged(key=self.key, by=self.by, budget_usd=self.budget_usd)
        return DecisionResult.of(e.STREAM, changed)


def known(state: ApiKeys, name: str) -> e.ApiKeyAdded:
    """The key of that name. Raises `Rejected`, kind `unknown_key`."""
    if name not in state.keys:
        hint = "See `hermes-jobs keys list`."
        raise Rejected(f"There is no key {name!r}.", kind="unknown_key", hint=hint)
    return state.keys[name]


def revoke_all(state: ApiKeys, by: str) -> tuple[e.ApiKeyRevoked, ...]:
    """What takes all keys back: whoever wrote an imported log may know them."""
    return tuple(e.ApiKeyRevoked(key=name, by=by) for name in state.keys)


STREAMS = (StreamKind(e.STREAM, ApiKeys, evolve, withheld=revoke_all),)
