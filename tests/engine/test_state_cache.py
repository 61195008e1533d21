"""What is kept of streams is bounded by number and by the size of their messages."""

from __future__ import annotations

from hermes_jobs.kernel.engine.state_cache import BASE_BYTES, MESSAGE_BYTES, StateCache
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.kernel.turns.session import Session

LARGE = 100_000


def session(name: str, *lengths: int, version: int = 1) -> Session:
    messages = tuple(UserMessage("x" * length) for length in lengths)
    return Session(stream=f"session-{name}", version=version, messages=messages)


def kept(cache: StateCache, *names: str) -> str:
    return "".join(name for name in names if cache.get(f"session-{name}") is not None)


def test_those_used_last_are_kept() -> None:
    cache = StateCache(2)
    for name in "aba":
        cache.put(session(name))
    cache.put(session("c"))
    assert kept(cache, *"abc") == "ac"


def test_large_sessions_displace_others_and_a_single_one_stays() -> None:
    cache = StateCache(100, max_bytes=2 * LARGE)
    for name in "abc":
        cache.put(session(name, LARGE // 2))
    cache.put(session("b", LARGE // 2, LARGE // 2, version=2))
    assert kept(cache, *"abc") == "bc"
    cache.put(session("d", 3 * LARGE))
    assert kept(cache, *"abcd") == "d"


def test_many_short_messages_count_by_their_number() -> None:
    cache = StateCache(100, max_bytes=150 * MESSAGE_BYTES)
    for name in "ab":
        cache.put(session(name, *[1] * 100))
    assert kept(cache, *"ab") == "b"


def test_what_a_compression_or_a_removal_frees_can_be_used() -> None:
    cache = StateCache(100, max_bytes=2 * (LARGE + BASE_BYTES + 2 * MESSAGE_BYTES))
    cache.put(session("a", LARGE, LARGE))
    cache.put(session("a", 10, version=2))
    cache.put(session("b", LARGE))
    assert kept(cache, *"ab") == "ab"
    cache.forget("session-b")
    cache.put(session("c", LARGE))
    assert kept(cache, *"abc") == "ac"


def test_an_older_state_replaces_none() -> None:
    cache = StateCache(2)
    cache.put(session("a", 10, version=7))
    cache.put(session("a", version=3))
    state = cache.get("session-a")
    assert state is not None
    assert state.version == 7
