"""Events of the streams `experiment-verify-REVIEW`: whether what a review saved helps, or does harm."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.replay import LearnedKind
from hermes_jobs.domain.events.session.review import VerifyMode

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
