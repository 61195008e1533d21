"""Histories as sessions make them: exchanges, tool groups, notes in the user's place.

They follow from a few small numbers, so that making one takes no time; fewer exchanges come first in
shrinking.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.synthetic_messages import ASK_AGAIN, CONTINUE

PIECES = ("", "abc ", "äö漢字 ", "line\nline ", "`code` ")


def histories() -> st.SearchStrategy[tuple[Message, ...]]:
    """What a session may hold when a model is about to be called: it ends with a user or with results."""
    return st.builds(history_of, st.integers(0, 12), st.integers(0, 6), st.integers(0, 2**32))


def history_of(num_exchanges: int, num_groups: int, seed: int) -> tuple[Message, ...]:
    """So many exchanges, then a request with so many tool groups behind it."""
    random = Random(seed)
    messages = [message for _ in range(num_exchanges) for message in _exchange(random)]
    messages.append(UserMessage(_said(random)))
    for _ in range(num_groups):
        messages += _group(random)
    return tuple(messages)


def _exchange(random: Random) -> list[Message]:
    messages: list[Message] = [UserMessage(_said(random))]
    for _ in range(random.randrange(5)):
        messages += _group(random)
    if random.random() < 0.3:
        nudge = random.choice((ASK_AGAIN, CONTINUE))
        if isinstance(messages[-1], UserMessage | ToolMessage):
            messages += [AssistantMessage("(no answer)"), UserMessage(nudge)]
    return [*messages, AssistantMessage(_said(random))]


def _group(random: Random) -> list[Message]:
    number = random.randrange(10**6)
    calls = tuple(
        ToolCall(f"c{number}-{index}", random.choice(("terminal", "read_file")), '{"path": "x"}')
        for index in range(random.randint(1, 4))
    )
    results = [ToolMessage(call.id, call.name, _said(random)) for call in calls]
    random.shuffle(results)
    return [AssistantMessage(random.choice(PIECES), calls), *results]


def _said(random: Random) -> str:
    text = f"{random.choice(PIECES)}{random.randrange(10**6)} "
    return text * random.choice((1, 1, 5, 60, 400))
