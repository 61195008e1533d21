"""`turn.prefetch`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.handlers.request_builder import TurnLimits
from hermes_jobs.kernel.engine.handlers.tool_context import mode_of
from hermes_jobs.kernel.engine.ports import (
    Cancel,
    Describe,
    Ensemble,
    Hear,
    HeardSound,
    NotYet,
    PaidCall,
    PromptBuilder,
    Recall,
    Recalled,
)
from hermes_jobs.kernel.events import ContextPrefetched, ResponseBooked, SessionKind, SessionStarted
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.loop_guard import MAX_REFUSALS
from hermes_jobs.kernel.turns.rhythm import CacheTtl, cache_ttl, remembered
from hermes_jobs.kernel.turns.session import Session, running_turn
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.synthetic_messages import mode_note
from hermes_jobs.kernel.turns.tool_results import UNLIMITED, result_budget
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids
from hermes_jobs.text.figures import duration

FIRST_PAUSE = 2.0
"""Seconds until a turn that could not begin is retried; doubled each time."""
LONGEST_PAUSE = 600.0
REVIEW_ITERATIONS = 8
"""Rounds of tool calls that a review may take."""
LEARNING = frozenset({"memory", "skills"})
"""Toolsets into which a review writes."""
RECALLING = frozenset({"conversation", "scheduled"})
"""Kinds of sessions with recall and listeners; the texts of other kinds are complete in themselves."""


class Prefetch(msgspec.Struct, frozen=True, eq=False):
    """`turn.prefetch`: the session's prompt, if it is new, and the settings of this turn.

    `window_of(session, model)` is a context window in tokens; the limits of results shrink with it. A
    review is skipped if its toolsets are not enabled in the session. `ensemble_of(model)` is the ensemble
    of that name, if it is one. `hear` gives the words of a sound, `describe` those about a picture, to
    models of which `describes` says so.
    `follows_rhythm`: how long the provider keeps prompts depends on the session's rests.
    """

    prompt: PromptBuilder
    limits: TurnLimits
    clock: Clock
    ids: Ids
    window_of: Callable[[Session, str], int] = lambda session, model: UNLIMITED
    recall: Recall | None = None
    toolsets_on: Callable[[Sequence[str] | None], Collection[str]] = lambda toolsets: LEARNING
    ensemble_of: Callable[[str], Ensemble | None] = lambda model: None
    follows_rhythm: bool = False
    hear: Hear | None = None
    describe: Describe | None = None
    describes: Callable[[str], bool] = lambda model: False

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        turn = running_turn(session)
        try:
            started = self.prompt.start(session) if session.started is None else None
        except NotYet as away:
            return self._postpone(turn, step, away)
        except Rejected as refused:
            return c.FailTurn(step=step.id, kind=refused.kind, message=refused.message, hint=refused.hint)
        try:
            heard = self._heard(session, turn, self._model_of(session, turn, started), cancel)
        except NotYet as away:
            return self._postpone(turn, step, away)
        recalled = self._recalled(session, turn, started)
        responses = (
            *(usage_event(turn, step.id, paid) for paid in recalled.paid),
            *(usage_event(turn, step.id, each.paid, each.purpose) for each in heard if each.paid is not None),
        )
        prefetched = self._prefetched(session, turn, started, recalled)
        prefetched = replace(prefetched, heard=tuple(each.heard for each in heard))
        return c.FinishPrefetch(step=step.id, prefetched=prefetched, started=started, responses=responses)

    def _heard(self, session: Session, turn: Turn, model: str, cancel: Cancel) -> Sequence[HeardSound]:
        """The words of the sounds, and about the pictures, that go with the turn's text. Raises `NotYet`."""
        attachments = brought_along(session, turn)
        hear, describe = self.hear, self.describe
        sounds = [each for each in attachments if each.is_sound] if hear else ()
        pictures = [each for each in attachments if each.is_picture] if describe else ()
        heard = [hear(turn.id, model, each, cancel) for each in sounds if hear]
        # After the sounds, which the turn may have to wait for: no description is paid for twice.
        seen = [describe(model, each, cancel) for each in pictures if describe]
        return [each for each in (*heard, *seen) if each is not None]

    def _recalled(self, session: Session, turn: Turn, started: SessionStarted | None) -> Recalled:
        if self.recall is None or _kind(started or session.started) not in RECALLING:
            return Recalled()
        return self.recall(session, "\n\n".join(turn.texts))

    def _prefetched(
        self, session: Session, turn: Turn, started: SessionStarted | None, recalled: Recalled
    ) -> ContextPrefetched:
        """The recalled context and the settings of this turn."""
        begun, limits = started or session.started, self.limits
        kind = _kind(begun)
        on = self.toolsets_on(begun.toolsets if begun else None) if kind == "conversation" else ()
        learning = LEARNING.intersection(on)
        ensemble = self._ensemble(session, turn, started)
        model = self._model_of(session, turn, started)
        # The members of a resumed turn have answered; a review needs no other opinions.
        asks = kind != "review" and (not turn.references or bool(turn.open_references))
        budget = result_budget(self.window_of(session, model))
        return ContextPrefetched(
            turn=turn.id,
            model=model,
            max_iterations=self._max_iterations(session, turn, kind),
            memory_nudge=limits.memory_nudge if "memory" in learning else 0,
            skill_nudge=limits.skill_nudge if "skills" in learning else 0,
            result_chars=min(limits.result_chars, budget.result_chars),
            turn_chars=min(limits.turn_chars, budget.turn_chars),
            preview_chars=limits.preview_chars,
            recalled=recalled.text,
            memories=recalled.memories,
            recall=recalled.found,
            recall_failed=recalled.failed,
            listeners=limits.listeners if kind in RECALLING else (),
            max_refusals=MAX_REFUSALS,
            ensemble=ensemble.name if ensemble is not None and kind != "review" else "",
            members=ensemble.members if ensemble is not None and asks else (),
            note=mode_note(plans=mode_of(session, turn) == "plan", noted=session.plan_mode_noted),
            at=(now := self.clock.now() if session.rested_at else 0.0),
            cache_ttl=self._cache_ttl(session, now),
            describes=self.describes(model),
        )

    def _ensemble(self, session: Session, turn: Turn, started: SessionStarted | None) -> Ensemble | None:
        return self.ensemble_of(turn.ensemble or _named(session, turn, started))

    def _model_of(self, session: Session, turn: Turn, started: SessionStarted | None) -> str:
        """The model that is called; of an ensemble the one that combines the answers."""
        ensemble = self._ensemble(session, turn, started)
        return ensemble.aggregator if ensemble is not None else _named(session, turn, started)

    def _cache_ttl(self, session: Session, now: float) -> CacheTtl | None:
        if not self.follows_rhythm:
            return None
        rests = session.rests
        return cache_ttl(remembered(rests, now - session.rested_at) if session.rested_at else rests)

    def _postpone(self, turn: Turn, step: Step, away: NotYet) -> c.PostponeTurn | c.FailTurn:
        """Postpone the turn; it fails once it has waited for the longest time allowed."""
        now = self.clock.now()
        since = turn.postponed_since or now
        remaining = since + self.limits.wait_for_required - now
        if remaining <= 0:
            waited = f" The turn waited for {duration(now - since)}." if now > since else ""
            return c.FailTurn(step=step.id, kind=away.kind, message=f"{away.message}{waited}", hint=away.hint)
        pause = min(FIRST_PAUSE * 2.0**turn.postponements, LONGEST_PAUSE) * (1 + self.ids.fraction() / 10)
        retry_at = now + min(pause, remaining)
        return c.PostponeTurn(
            step=step.id, reason=away.message, retry_at=retry_at, since=since, what=away.what
        )

    def _max_iterations(self, session: Session, turn: Turn, kind: SessionKind) -> int:
        if kind == "review":
            return REVIEW_ITERATIONS
        place = session.delegation_of(turn.id)
        return (place.max_iterations if place else None) or self.limits.max_iterations


def brought_along(session: Session, turn: Turn) -> Collection[Attachment]:
    """What goes with the turn's text, and with those that will join it, each content once."""
    joining = session.waiting if turn.if_busy == "collect" else ()
    texts = (turn, *joining)
    return {each.digest: each for text in texts for each in text.attachments if each.digest}.values()


def _kind(begun: SessionStarted | None) -> SessionKind:
    return begun.kind if begun else "conversation"


def _named(session: Session, turn: Turn, started: SessionStarted | None) -> str:
    """The name of the turn's model, or ensemble."""
    return turn.model or session.model or (started.model if started else "")


def usage_event(turn: Turn, step: str, paid: PaidCall, purpose: str = "embedding") -> ResponseBooked:
    """A call that the turn pays for within that step."""
    return ResponseBooked(
        turn=turn.id,
        step=step,
        purpose=purpose,
        model=paid.model,
        usage=paid.usage,
        cost_usd=paid.cost_usd,
        estimated=paid.estimated,
        estimated_cost_usd=paid.estimated_cost_usd,
    )
