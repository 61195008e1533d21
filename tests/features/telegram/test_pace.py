"""How fast a bot may send: never faster than Telegram takes, and nobody is forgotten in the line."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.telegram.pace import PER_MINUTE_IN_GROUP, PER_SECOND, Pace

CHATS = (12, 34, -500)
requests = st.lists(
    st.tuples(st.sampled_from(CHATS), st.sampled_from((0.0, 0.0, 0.3, 2.0))), min_size=1, max_size=120
)


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def sent(asked: list[tuple[int, float]]) -> list[tuple[float, int]]:
    """When each message goes where, if all come again when they are told to."""
    clock, found = Hand(), []
    pace = Pace(clock)
    due, at = [], clock.now
    for number, (chat, later) in enumerate(asked):
        at += later
        due.append((at, number, chat))
    while due:
        due.sort()
        clock.now, number, chat = due.pop(0)
        if wait := pace.wait(chat, f"d{number}"):
            due.append((clock.now + max(wait, 0.001), number, chat))
        else:
            found.append((clock.now, chat))
            pace.is_sent(chat)
    return found


@given(requests)
def test_no_chat_no_group_and_no_second_gets_more_than_telegram_takes(asked: list[tuple[int, float]]) -> None:
    found = sent(asked)
    assert len(found) == len(asked)
    times = [at for at, _ in found]
    assert all(b - a >= 1 for a, b in zip(times, times[PER_SECOND:], strict=False))
    for chat in CHATS:
        there = [at for at, to in found if to == chat]
        assert all(b - a >= 0.999 for a, b in pairwise(there))
        if chat < 0:
            assert all(b - a >= 59.9 for a, b in zip(there, there[PER_MINUTE_IN_GROUP:], strict=False))


def test_later_ones_do_not_overtake_those_that_wait() -> None:
    clock = Hand()
    pace = Pace(clock)
    assert pace.wait(12, "first") == 0
    pace.is_sent(12)
    assert pace.wait(12, "second") == 1
    assert pace.wait(12, "third") == 2
    clock.now += 1.5
    assert pace.wait(12, "fourth") > 0
    assert pace.wait(12, "second") == 0


def test_a_message_that_travels_long_delays_the_next_one() -> None:
    clock = Hand()
    pace = Pace(clock)
    assert pace.wait(12, "first") == 0
    clock.now += 5
    assert pace.wait(12, "second") == 1
    pace.is_sent(12)
    assert pace.wait(12, "second") == 1
