"""Selects turns by a query: words of their texts, and `key:value` pairs."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import TYPE_CHECKING

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.moments import read_moment
from hermes_jobs.kernel.turns.labels import normal
from hermes_jobs.kernel.turns.stops import STOPPED

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.views.models import TurnView

HELP = (
    "Keys: label:NAME, rated:up, rated:down, status:failed (or completed, stopped …), session:ID, "
    "model:NAME, source:NAME, since:DAY, cost:USD (at least), turn:ID, expensive:N, newest:N. "
    "Other words have to be in the turn's text."
)
Keep = Callable[["TurnView"], bool]


def chosen_turns(application: Application, query: str) -> list[TurnView]:
    """The turns with a model's answer that match the whole query, oldest first.

    Raises `Rejected` for an invalid query, and if nothing matches.
    """
    pairs, words = _parse(query)
    views = application.views
    session = views.find_session(pairs.pop("session")) if "session" in pairs else None
    dearest, newest = (_count(key, pairs.pop(key, None)) for key in ("expensive", "newest"))
    tests = [_test(application, key, value) for key, value in pairs.items()]
    turns = [
        turn
        for turn in views.turns(session=session, limit=sys.maxsize)
        if turn.status in {"completed", "failed", "cancelled"} and turn.totals.num_model_calls
        if all(test(turn) for test in tests)
        if all(word.lower() in turn.text.lower() for word in words)
    ]
    turns = sorted(turns, key=lambda turn: turn.totals.known_cost_usd, reverse=True)[:dearest]
    turns = sorted(turns, key=lambda turn: turn.position)[-newest:]
    if not turns:
        raise Rejected(f"No turn fits {query!r}: nothing was recorded.", kind="usage", hint=HELP)
    return turns


def _parse(query: str) -> tuple[dict[str, str], list[str]]:
    try:
        parts = shlex.split(query)
    except ValueError as error:
        raise Rejected(f"The query cannot be read: {error}.", kind="usage", hint=HELP) from error
    pairs: dict[str, str] = {}
    words: list[str] = []
    for part in parts:
        key, colon, value = part.partition(":")
        if not colon:
            words.append(part)
        elif key not in KEYS or not value or key in pairs:
            raise Rejected(f"{part!r} is not a valid part of a query.", kind="usage", hint=HELP)
        else:
            pairs[key] = value
    if not pairs and not words:
        raise Rejected("The query is empty.", kind="usage", hint=HELP)
    return pairs, words


def _test(application: Application, key: str, value: str) -> Keep:
    match key:
        case "rated" if value in {"up", "down"}:
            return lambda turn: turn.rating == value
        case "label":
            wanted_label = normal(value)
            return lambda turn: wanted_label in turn.labels
        case "status" if value in {"completed", "failed", "cancelled", STOPPED}:
            return lambda turn: turn.status_word == value
        case "model":
            return lambda turn: turn.model == value
        case "source":
            return lambda turn: turn.source == value
        case "cost":
            minimum = _cost(value)
            return lambda turn: turn.totals.known_cost_usd >= minimum
        case "since":
            since = read_moment(value).at.astimezone(UTC).isoformat()
            return lambda turn: turn.submitted_at >= since
        case "turn":
            turn_id = application.views.find_turn(value)
            return lambda turn: turn.id == turn_id
        case _:
            pass
    raise Rejected(f"{key}:{value} is not a valid part of a query.", kind="usage", hint=HELP)


def _count(key: str, value: str | None) -> int:
    """The number of turns; all by default."""
    if value is None:
        return sys.maxsize
    if not value.isdecimal() or not int(value):
        raise Rejected(f"{key}:{value} needs a number of at least 1.", kind="usage", hint=HELP)
    return int(value)


def _cost(value: str) -> float:
    try:
        minimum = float(value)
    except ValueError:
        minimum = -1.0
    if not 0 <= minimum < math.inf:
        raise Rejected(f"cost:{value} needs an amount in US dollars.", kind="usage", hint=HELP)
    return minimum


KEYS: Mapping[str, None] = dict.fromkeys(
    ("label", "rated", "status", "session", "model", "source", "since", "cost", "turn", "expensive", "newest")
)
