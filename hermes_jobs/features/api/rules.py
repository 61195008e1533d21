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
        state: ApiKeys = load(e.STREAM)
        if self.key not in state.keys:
            hint = "See `hermes-jobs keys list`."
            raise Rejected(f"There is no key {self.key!r}.", kind="unknown_key", hint=hint)
        return DecisionResult.of(e.STREAM, e.ApiKeyRevoked(key=self.key, by=self.by))


def revoke_all(state: ApiKeys, by: str) -> tuple[e.ApiKeyRevoked, ...]:
    """What takes all keys back: whoever wrote an imported log may know them."""
    return tuple(e.ApiKeyRevoked(key=name, by=by) for name in state.keys)


STREAMS = (StreamKind(e.STREAM, ApiKeys, evolve, withheld=revoke_all),)
