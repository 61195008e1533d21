"""The JSON of a turn for `send --json`, with steps for `turns show --json`, and of its tree of sub-agents.

The names are part of the public interface.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from hermes_jobs.kernel.events import ChildStatus, InputRequested
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.views.children import Place
from hermes_jobs.kernel.views.models import Outcome, StepKind, StepView, TurnFailure, TurnStatus, TurnView
from hermes_jobs.kernel.views.tree import Tree
from hermes_jobs.text.json_schema import compact


class UsageJson(msgspec.Struct, frozen=True, kw_only=True):
    """Canonical usage with its two sums."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    prompt_tokens: int
    total_tokens: int


class RefusedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A refused tool call: `why` names the rule and its author."""

    call: str
    tool: str
    why: str


class ReferenceJson(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the turn's ensemble; `why` says why it is left out, empty where it has answered."""

    model: str
    ok: bool
    why: str


class FileJson(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a turn delivers; `size` in bytes, `digest` its SHA-256, null once it is forgotten."""

    file_name: str
    media_type: str
    size: int
    digest: str | None


class TurnJson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn as scripts see it. `duration_ms` counts from its submission (or its last retry).

    `is_error`: it failed, was cancelled, or was stopped by a limit.
    `waits_until`: when the quota resets that it waits for, or when it is tried again, for the reason
    `waits_for`; left out where it waits for neither. `refused`: calls that were not allowed; left out where
    there are none. `structured`: the answer as the JSON value that it is; only where a schema was asked for,
    and the answer is there. `ensemble` and `references`: whose members were asked before `model`, and what
    became of each; left out where there is none. `rating` and `rating_note`: what a person said of it; left
    out where nobody did. `labels`: those that people gave it; left out where there are none. `files`: those
    that it delivers; left out where there are none.
    """

    turn: str
    session: str
    status: TurnStatus
    into: str | None
    result: str | None
    error: TurnFailure | None
    model: str
    num_model_calls: int
    num_tool_calls: int
    duration_ms: int
    usage: UsageJson
    cost_usd: float | None
    compressed: bool
    stopped_by: str | None
    is_error: bool
    warnings: tuple[str, ...]
    waits_until: str | None = None
    waits_for: str = ""
    refused: tuple[RefusedCall, ...] = ()
    structured: msgspec.Raw | UnsetType = UNSET
    ensemble: str = ""
    references: tuple[ReferenceJson, ...] = ()
    rating: str | None = None
    rating_note: str = ""
    labels: tuple[str, ...] = ()
    files: tuple[FileJson, ...] = ()


class StepJson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt at a model call, a call of an ensemble's member, or a tool call as scripts see it. `asks`:
    what its server asks the person; left out where it asks nothing."""

    kind: StepKind
    step: str
    name: str
    arguments: str
    attempt: int
    worker: str | None
    start: str | None
    end: str | None
    outcome: Outcome
    message: str
    finish_reason: str
    usage: UsageJson
    cost_usd: float | None
    asks: InputRequested | None = None


class ListedTurnJson(TurnJson, frozen=True, kw_only=True):
    """A turn of a list: with its text, source and times. `parent` to `root_turn`: the place of a sub-agent's
    turn, left out for others."""

    text: str
    source: str
    submitted_at: str
    begun_at: str | None
    ended_at: str | None
    parent: str | UnsetType = UNSET
    parent_turn: str | UnsetType = UNSET
    root: str | UnsetType = UNSET
    root_turn: str | UnsetType = UNSET


class DetailedTurnJson(TurnJson, frozen=True, kw_only=True):
    """The same with its steps. `place`: the place of a sub-agent's turn in its tree."""

    steps: tuple[StepJson, ...]
    place: Place | None = None


def turn_json(turn: TurnView) -> TurnJson:
    """The turn as `send --json` prints it."""
    return TurnJson(
        turn=turn.id,
        session=turn.session,
        status=turn.status,
        into=turn.into,
        result=turn.answer,
        error=turn.error,
        model=turn.model,
        num_model_calls=turn.totals.num_model_calls,
        num_tool_calls=turn.num_tool_calls,
        duration_ms=milliseconds(turn.began_waiting_at, turn.ended_at or turn.seen_at),
        usage=usage_json(turn.totals.usage),
        cost_usd=turn.totals.cost_usd,
        compressed=turn.compressed,
        stopped_by=turn.stopped_by,
        is_error=turn.status in {"failed", "cancelled"} or turn.error is not None or bool(turn.stopped_by),
        warnings=turn.warnings,
        waits_until=turn.waits_until,
        waits_for=turn.waits_for,
        refused=tuple(
            RefusedCall(call=step.id, tool=step.name, why=step.message)
            for step in turn.steps
            if step.outcome == "denied"
        ),
        structured=structured(turn.answer) if turn.has_schema and turn.answer is not None else UNSET,
        ensemble=turn.ensemble,
        references=references_of(turn),
        rating=turn.rating,
        rating_note=turn.rating_note,
        labels=turn.labels,
        files=tuple(map(file_json, turn.files)),
    )


def file_json(file: Attachment) -> FileJson:
    """A file as scripts see it."""
    return FileJson(
        file_name=file.file_name, media_type=file.media_type, size=file.size, digest=file.digest or None
    )


def references_of(turn: TurnView) -> tuple[ReferenceJson, ...]:
    """The outcome of each member of the turn's ensemble, from its last attempt."""
    last = {step.id: step for step in turn.steps if step.kind == "reference"}
    return tuple(
        ReferenceJson(
            model=step.name, ok=step.outcome == "ok", why="" if step.outcome == "ok" else step.message
        )
        for step in sorted(last.values(), key=lambda step: step.id)
    )


def as_object(turn: TurnJson) -> dict[str, object]:
    """The turn as a dict, to be encoded with more keys."""
    fields: dict[str, object] = msgspec.to_builtins(turn, builtin_types=(msgspec.Raw,))
    return fields


def structured(answer: str) -> msgspec.Raw | UnsetType:
    """An answer as its JSON value; unset if its texts were removed since."""
    try:
        return msgspec.Raw(compact(answer).encode())
    except ValueError:
        return UNSET


def listed_turn_json(turn: TurnView) -> ListedTurnJson:
    """The turn as `turns list --json` prints it."""
    place = turn.place
    return ListedTurnJson(
        **msgspec.structs.asdict(turn_json(turn)),
        text=turn.text,
        source=turn.source,
        submitted_at=turn.submitted_at,
        begun_at=turn.begun_at,
        ended_at=turn.ended_at,
        parent=UNSET if place is None else place.parent,
        parent_turn=UNSET if place is None else place.parent_turn,
        root=UNSET if place is None else place.root,
        root_turn=UNSET if place is None else place.root_turn,
    )


def detailed_turn_json(turn: TurnView) -> DetailedTurnJson:
    """The turn as `turns show --json` prints it."""
    return DetailedTurnJson(
        **msgspec.structs.asdict(turn_json(turn)),
        steps=tuple(step_json(step) for step in turn.steps),
        place=turn.place,
    )


def usage_json(usage: Usage) -> UsageJson:
    """All seven figures."""
    return UsageJson(**{name: getattr(usage, name) for name in UsageJson.__struct_fields__})


def milliseconds(start: str, end: str) -> int:
    """Between two moments of the log; 0 where clocks ran backwards."""
    elapsed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return max(0, round(elapsed.total_seconds() * 1000))


def step_json(step: StepView) -> StepJson:
    """One attempt as `turns show --json` prints it."""
    return StepJson(
        kind=step.kind,
        step=step.id,
        name=step.name,
        arguments=step.arguments,
        attempt=step.attempt,
        worker=step.worker,
        start=step.started_at,
        end=step.ended_at,
        outcome=step.outcome,
        message=step.message,
        finish_reason=step.finish_reason,
        usage=usage_json(step.totals.usage),
        cost_usd=step.totals.cost_usd,
        asks=step.asks,
    )


class TreeTotalJson(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a turn and all below it. `cost_usd` is None if a part is unknown."""

    num_turns: int
    num_model_calls: int
    num_tool_calls: int
    usage: UsageJson
    cost_usd: float | None


class TreeJson(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a tree. `ended`: a sub-agent's end as reported to its parent; null while it runs.

    The figures are the turn's own; those of its whole subtree are in `total`.
    """

    turn: str
    session: str
    status: TurnStatus
    stopped_by: str | None
    ended: ChildStatus | None
    role: str
    goal: str
    depth: int
    model: str
    num_model_calls: int
    num_tool_calls: int
    usage: UsageJson
    cost_usd: float | None
    total: TreeTotalJson
    children: tuple[TreeJson, ...]


def tree_json(tree: Tree) -> TreeJson:
    """The tree as scripts see it."""
    turn, place = tree.turn, tree.turn.place
    return TreeJson(
        turn=turn.id,
        session=turn.session,
        status=turn.status,
        stopped_by=turn.stopped_by,
        ended=place.ended if place else None,
        role=place.role if place else "",
        goal=tree.about,
        depth=place.depth if place else 0,
        model=turn.model,
        num_model_calls=turn.totals.num_model_calls,
        num_tool_calls=turn.num_tool_calls,
        usage=usage_json(turn.totals.usage),
        cost_usd=turn.totals.cost_usd,
        total=TreeTotalJson(
            num_turns=sum(1 for _ in tree.walk()),
            num_model_calls=tree.totals.num_model_calls,
            num_tool_calls=tree.num_tool_calls,
            usage=usage_json(tree.totals.usage),
            cost_usd=tree.totals.cost_usd,
        ),
        children=tuple(tree_json(child) for child in tree.children),
    )
