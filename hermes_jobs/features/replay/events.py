"""Events of the streams `replay-ID` and `experiment-ID`: recorded model calls that are repeated; and the
verification of a review's results (`experiment-verify-REVIEW`)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hermes_jobs.features.memory.events import MemoryTarget
from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.helper_calls import HelperCallFailed, HelperCallStarted
from hermes_jobs.kernel.events.session.review import VerifyMode
from hermes_jobs.kernel.streams.field_kinds import TEXT
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.messages import Payload, ToolCall

FollowedSource = Literal["recorded", "read"]
Verdict = Literal["better", "worse", "same"]
LearnedKind = Literal["memory", "skill"]


class RecordedCall(msgspec.Struct, frozen=True):
    """An answered model call of a turn. The session at that `version` of its stream is the one with which the
    call was made."""

    step: str
    version: int


class ReplayedTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn whose recorded calls are repeated, in order. `unrelated`: the verified items do not come from
    it."""

    turn: str
    stream: str
    calls: tuple[RecordedCall, ...]
    unrelated: bool = False


class Exclusion(msgspec.Struct, frozen=True, kw_only=True):
    """An item to leave out of requests: the memory entry `text` of the write `name`, or the skill `name`."""

    kind: LearnedKind
    name: str
    text: str = ""


class Inclusion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item to put into requests: the memory entry `text` of the write `name`, which replaced the entry
    `old`; or the skill `name`, whose SKILL.md is `text`. `versions`: those of the writes."""

    kind: LearnedKind
    name: str
    text: str
    versions: tuple[int, ...]
    target: MemoryTarget = "memory"
    old: str = ""


class Variant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How requests differ from the recorded ones. `model` empty, `system` None: as recorded."""

    name: str
    model: str = ""
    system: str | None = None
    without: tuple[Exclusion, ...] = ()
    including: tuple[Inclusion, ...] = ()


class FollowedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a tool call of a new answer: the `recorded` one, which stays in its own stream, or the
    new `content` of a tool that only reads."""

    source: FollowedSource
    content: str = ""


class ReplayPlanned(Event, frozen=True, kw_only=True):
    """A replay was planned: each call of the turns, `samples` times in each variant.

    `follow`: continue from the new answers, from each turn's first call. `allow_reads`: tools that only read
    may run then. `budget_usd`: its own limit.
    """

    replay: str
    turns: tuple[ReplayedTurn, ...]
    variants: tuple[Variant, ...]
    samples: int = 1
    follow: bool = False
    allow_reads: bool = False
    budget_usd: float | None = None


class ReplayCallEnded(Event, frozen=True, kw_only=True):
    """The call is done, with this answer. `seconds` is how long it took. `followed` is parallel to
    `tool_calls` if the replay continues after it, else empty."""

    step: str
    attempt: int
    content: str
    model: str
    finish_reason: str
    tool_calls: tuple[ToolCall, ...] = ()
    payload: Payload | None = None
    seconds: float = 0.0
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0
    followed: tuple[FollowedCall, ...] = ()


class ReplayStopped(Event, frozen=True, kw_only=True):
    """The replay was stopped: by a user, or because a budget is used up."""

    kind: str
    message: str
    hint: str = ""


class ReplayResumed(Event, frozen=True, kw_only=True):
    """The replay was resumed, including failed calls. `budget_usd`: the limit from now on; None:
    unchanged."""

    by: str
    budget_usd: float | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check of an answer: a `pattern` matches it, it is valid JSON of the `schema`, or the `command` exits
    with 0 in a folder that has it as `answer.txt`. `name` is for users."""

    kind: Literal["pattern", "schema", "command"]
    name: str
    rule: str


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """The model that compares answers, and its criteria."""

    model: str
    rubric: str


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a check has passed, and its message if not."""

    ok: bool
    message: str = ""


class ExperimentDefined(Event, frozen=True, kw_only=True):
    """The definition of an experiment, in the same append as its replay. `query` selected its turns; the
    other variants are compared with the first. `seed` determines the order of answers for the judge, and the
    samples of statistics."""

    experiment: str
    query: str
    seed: int
    checks: tuple[Check, ...] = ()
    judge: Judge | None = None


class CellChecked(Event, frozen=True, kw_only=True):
    """The answer of that call was checked; the results are parallel to the checks."""

    step: str
    results: Annotated[tuple[CheckResult, ...], TEXT]


class CellsJudged(Event, frozen=True, kw_only=True):
    """Of earlier builds, read without effect: a person's verdict on an answer beside that of the first
    variant. The numbers are those of the plan, from 0."""

    variant: int
    turn_number: int
    sample: int
    verdict: Verdict
    by: str


ReplayEvent = (
    ReplayPlanned | HelperCallStarted | ReplayCallEnded | HelperCallFailed | ReplayStopped | ReplayResumed
)
ExperimentEvent = ExperimentDefined | CellChecked | CellsJudged


VerificationStatus = Literal["kept", "harmful", "open"]


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The finding about a memory entry, by the number of its write, or about a skill. `kept`: it helps or
    does no harm; `harmful`: it is proposed for removal; `open`: it stays provisional. Answers with it and
    without it were compared in `pairs`, of which so many were `better`, `worse`, and `unknown`; the others
    are the same. The tokens are those of an answer on average.
    """

    kind: LearnedKind
    name: str
    standing: VerificationStatus
    why: str
    pairs: int = 0
    better: int = 0
    worse: int = 0
    unknown: int = 0
    tokens_with: float = 0.0
    tokens_without: float = 0.0


class VerificationRequested(Event, frozen=True, kw_only=True):
    """A review has saved items, which are provisional until they are verified. `session` is the lineage of
    the reviewed conversation, `at` the version that the review has read."""

    experiment: str
    review: str
    session: str
    at: int
    mode: VerifyMode


class LearningVerified(Event, frozen=True, kw_only=True):
    """The conclusion of the experiment: one finding for each saved item; the last ones count."""

    review: str
    findings: tuple[Finding, ...]


class LearningDecided(Event, frozen=True, kw_only=True):
    """A person decided about a provisional item: it is kept for good, or was undone in the same append."""

    review: str
    kind: LearnedKind
    name: str
    keep: bool
    by: str


VerificationEvent = VerificationRequested | LearningVerified | LearningDecided
StreamEvents = ReplayEvent | ExperimentEvent | VerificationEvent
