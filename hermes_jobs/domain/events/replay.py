"""Events of the streams `replay-ID` and `experiment-ID`: recorded model calls that are asked again;
and whether what a review saved helps (`experiment-verify-REVIEW`)."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.memory import MemoryTarget
from hermes_jobs.domain.events.session.review import VerifyMode
from hermes_jobs.domain.session.messages import Payload, ToolCall
from hermes_jobs.domain.usage import NO_USAGE, Reservation, Usage

FollowedSource = Literal["recorded", "read"]
Verdict = Literal["better", "worse", "same"]
LearnedKind = Literal["memory", "skill"]


class RecordedCall(msgspec.Struct, frozen=True):
    """A model call of a turn that was answered. At that `version` of its stream the session is as it was when
    the call was made."""

    step: str
    version: int


class ReplayedTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn whose recorded calls are asked again, in their order. `unrelated`: what is verified did not come
    from it."""

    turn: str
    stream: str
    calls: tuple[RecordedCall, ...]
    unrelated: bool = False


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """What requests are made without: the memory entry `text` of the write `name`, or the skill `name`."""

    kind: LearnedKind
    name: str
    text: str = ""


class PutIn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What requests are made with: the memory entry `text` of the write `name`, which replaced the entry
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
    without: tuple[LeftOut, ...] = ()
    including: tuple[PutIn, ...] = ()


class FollowedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a tool call of a new answer is answered: with a `recorded` result, which stays in its own stream,
    or with the `content` that a tool which only reads gave now."""

    source: FollowedSource
    content: str = ""


class ReplayPlanned(Event, frozen=True, kw_only=True):
    """Each call of the turns is to be asked `samples` times in each variant.

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


class ReplayCallStarted(Event, frozen=True, kw_only=True):
    """A worker began to ask. `lost`: the reservation of an earlier start that had no outcome."""

    step: str
    attempt: int
    reserved: Reservation | None = None
    lost: Reservation | None = None


class ReplayCallEnded(Event, frozen=True, kw_only=True):
    """The answer. `seconds` is how long it took. `followed` is parallel to `tool_calls` where the replay goes
    on behind it, and empty where it does not."""

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


class ReplayCallFailed(Event, frozen=True, kw_only=True):
    """The attempt had no answer; the call is asked again at `retry_at`, or not any more."""

    step: str
    attempt: int
    kind: str
    message: str
    model: str
    retry_at: float | None = None
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class ReplayStopped(Event, frozen=True, kw_only=True):
    """No more is asked, for that reason: a person wants it so, or no budget is left."""

    kind: str
    message: str
    hint: str = ""


class ReplayResumed(Event, frozen=True, kw_only=True):
    """What has no answer is asked, also what failed. `budget_usd`: the limit from now on; None: unchanged."""

    by: str
    budget_usd: float | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that an answer keeps or not: a `pattern` is found in it, it is JSON that fits the `schema`, or
    the `command` exits with 0 in a folder that holds it as `answer.txt`. `name` is for people."""

    kind: Literal["pattern", "schema", "command"]
    name: str
    rule: str


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """The model that compares answers, and what it is told to look at."""

    model: str
    rubric: str


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a check is kept, and what it said where it is not."""

    ok: bool
    told: str = ""


class ExperimentDefined(Event, frozen=True, kw_only=True):
    """What the replay of the same append is for. `query` chose its turns; the first variant is what the
    others are compared with. `seed` decides which answer a judge sees first, and what statistics draw."""

    experiment: str
    query: str
    seed: int
    checks: tuple[Check, ...] = ()
    judge: Judge | None = None


class CellChecked(Event, frozen=True, kw_only=True):
    """The answer of that call was held against the checks; the results are parallel to them."""

    step: str
    kept: tuple[CheckResult, ...]


class CellsJudged(Event, frozen=True, kw_only=True):
    """A person compared an answer with that of the first variant: `better`, `worse` or the `same`; the last
    judgement of a pair counts. The numbers are those of the plan, from 0."""

    variant: int
    turn_number: int
    sample: int
    verdict: Verdict
    by: str


ReplayEvent = (
    ReplayPlanned | ReplayCallStarted | ReplayCallEnded | ReplayCallFailed | ReplayStopped | ReplayResumed
)
ExperimentEvent = ExperimentDefined | CellChecked | CellsJudged


Standing = Literal["kept", "harmful", "open"]


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was found of a memory entry, by the number of its write, or of a skill.

    `kept`: it helps or does no harm; `harmful`: it is proposed for removal; `open`: it stays provisional.
    Answers with it were compared in `pairs` with those without it: so many were `better`, `worse`, and
    `unknown`, the others are the same. The tokens are those of an answer on average.
    """

    kind: LearnedKind
    name: str
    standing: Standing
    why: str
    pairs: int = 0
    better: int = 0
    worse: int = 0
    unknown: int = 0
    tokens_with: float = 0.0
    tokens_without: float = 0.0


class VerificationRequested(Event, frozen=True, kw_only=True):
    """A review has saved something, which is provisional from now on. `session` is the lineage of the
    reviewed conversation, `at` the version that the review has read."""

    experiment: str
    review: str
    session: str
    at: int
    mode: VerifyMode


class LearningVerified(Event, frozen=True, kw_only=True):
    """What the experiment has come to: one finding for each thing that was saved; the last ones count."""

    review: str
    findings: tuple[Finding, ...]


class LearningDecided(Event, frozen=True, kw_only=True):
    """A person decided about something that is provisional: it is kept for good, or was taken back in the
    same append."""

    review: str
    kind: LearnedKind
    name: str
    keep: bool
    by: str


VerificationEvent = VerificationRequested | LearningVerified | LearningDecided
