"""What an endpoint was seen to refuse of a model's requests, so that no later request contains it.

Each name stands for a change of the dialect. A refusal counts once the request without it was answered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from hermes_jobs.llm.adaptation import insists
from hermes_jobs.llm.dialect import ApiOptions, Dialect
from hermes_jobs.llm.families import Family, filled_as, with_short_ids, without_fields


def _in_family(change: Callable[[Family], Family]) -> Callable[[Dialect], Dialect]:
    return lambda dialect: replace(dialect, family=change(dialect.family))


FEATURES: Mapping[str, Callable[[Dialect], Dialect]] = {
    "the Responses API": lambda dialect: (
        replace(dialect, api="chat", includes_reasoning=False) if dialect.api == "responses" else dialect
    ),
    "stream": lambda dialect: replace(dialect, streams=False),
    "stream_options": lambda dialect: replace(dialect, streams_usage=False),
    "max_tokens": lambda dialect: replace(dialect, limit_field="max_completion_tokens"),
    "max_completion_tokens": lambda dialect: replace(dialect, limit_field="max_tokens"),
    "tools": lambda dialect: replace(dialect, tool_calls="text"),
    "pictures": lambda dialect: replace(dialect, takes=replace(dialect.takes, pictures=False)),
    "documents": lambda dialect: replace(dialect, takes=replace(dialect.takes, files=False)),
    "sounds": lambda dialect: replace(dialect, takes=replace(dialect.takes, sounds=False)),
    "system messages": lambda dialect: replace(dialect, system_role=False),
    "cache_control": lambda dialect: replace(dialect, cache=None),
    "cache_control in tool results": lambda dialect: replace(dialect, marks_tools=False),
    "temperature": lambda dialect: replace(dialect, takes_temperature=False),
    "prompt_cache_key": lambda dialect: replace(dialect, takes_cache_key=False),
    "include": lambda dialect: replace(dialect, includes_reasoning=False),
    "reasoning_effort": lambda dialect: replace(dialect, takes_effort=False),
    "long call ids": _in_family(with_short_ids),
    "user messages after tool results": _in_family(lambda family: replace(family, closes_rounds=True)),
    "reasoning fields of messages": _in_family(without_fields),
    "calls without thought_signature": _in_family(lambda family: filled_as(family, "gemini")),
    "calls without reasoning_content": _in_family(lambda family: filled_as(family, "deepseek")),
}
"""The names in the log and in `doctor`, and the dialect without the feature."""


def refused_features(before: Dialect, after: Dialect) -> list[str]:
    """The names of the features that the second dialect lacks."""
    names: list[str] = []
    for name, without in FEATURES.items():
        if without(before) != before and without(after) == after:
            before = without(before)
            names.append(name)
    return names


def without_features(dialect: Dialect, names: Mapping[str, str], options: ApiOptions) -> Dialect:
    """The dialect without those features; one that the settings require stays, and is refused again."""
    for name in names:
        changed = FEATURES[name](dialect) if name in FEATURES else dialect
        if not insists(options, dialect, changed):
            dialect = changed
    return dialect


class RecalledRefusals(msgspec.Struct, frozen=True):
    """The refused features of a model in the log, each with the endpoint's message, and how often a user has
    reset them.
    """

    features: Mapping[str, str] = {}
    forgotten: int = 0


NO_REFUSALS = RecalledRefusals()


class Refusals:
    """The refused features of one endpoint's models. Safe for many threads.

    `recalled` returns those in the log; `record(model, feature, message)` writes one there. A refusal counts
    in this process at once, until a user resets it; it is written by `save`, in a thread that may wait.
    """

    def __init__(
        self,
        recalled: Callable[[str], RecalledRefusals] = lambda model: NO_REFUSALS,
        record: Callable[[str, str, str], None] = lambda model, feature, message: None,
    ) -> None:
        self._recalled = recalled
        self._record = record
        self._lock = threading.Lock()
        self._here: dict[str, RecalledRefusals] = {}
        self._unsaved: list[tuple[str, str, str]] = []

    def of(self, model: str) -> Mapping[str, str]:
        """The features that the endpoint refuses for that model, each with its message."""
        recalled = self._recalled(model)
        with self._lock:
            here = self._here.get(model, NO_REFUSALS)
        return {**recalled.features, **(here.features if here.forgotten == recalled.forgotten else {})}

    def add(self, model: str, refused: Mapping[str, str]) -> None:
        """Remember features that the endpoint has refused, each with its message."""
        known, forgotten = self.of(model), self._recalled(model).forgotten
        with self._lock:
            self._here[model] = RecalledRefusals({**known, **refused}, forgotten)
            self._unsaved += [(model, name, text) for name, text in refused.items() if name not in known]

    def save(self) -> None:
        """Write the refusals since the last call."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, []
        for model, feature, message in unsaved:
            self._record(model, feature, message)
