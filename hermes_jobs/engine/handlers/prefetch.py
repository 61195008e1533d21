"""`turn.prefetch`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from hermes_jobs.domain.events import ContextPrefetched
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session, running_turn
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.domain.session.tool_results import UNLIMITED, result_budget
from hermes_jobs.engine.handlers.turn_limits import TurnLimits
from hermes_jobs.engine.ports import Cancel, PromptBuilder, Recall
from hermes_jobs.errors import Rejected

REVIEW_ITERATIONS = 8
"""Rounds of tool calls that a review may take."""
LEARNING = frozenset({"memory", "skills"})
"""Toolsets into which a review writes."""
RECALLING = frozenset({"conversation", "scheduled"})
"""Sessions in which what is known from elsewhere is brought to mind, and of which listeners hear; the others
are told all they need."""


class Prefetch:
    """`turn.prefetch`: the session's prompt, when it is new, and what holds for this turn."""

    def __init__(
        self,
        prompt: PromptBuilder,
        limits: TurnLimits,
        window_of: Callable[[Session, str], int] = lambda session, model: UNLIMITED,
        recall: Recall | None = None,
        *,
        toolsets_on: Callable[[Sequence[str] | None], Collection[str]] = lambda toolsets: LEARNING,
    ) -> None:
        """`window_of(session, model)` is a context window in tokens; the limits of results shrink with it.
        Nothing is reviewed for toolsets that are not on in a session."""
        self._prompt = prompt
        self._limits = limits
        self._window_of = window_of
        self._recall = recall
        self._toolsets_on = toolsets_on

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        turn = running_turn(session)
        try:
            started = self._prompt.start(session) if session.started is None else None
        except Rejected as refused:
            return c.FailTurn(step=step.id, kind=refused.kind, message=refused.message, hint=refused.hint)
        begun = started or session.started
        kind = begun.kind if begun else "conversation"
        limits = self._limits
        on = self._toolsets_on(begun.toolsets if begun else None) if kind == "conversation" else ()
        learning = LEARNING.intersection(on)
        model = turn.model or session.model or (started.model if started else "")
        room = result_budget(self._window_of(session, model))
        recall = self._recall if kind in RECALLING else None
        prefetched = ContextPrefetched(
            turn=turn.id,
            model=model,
            max_iterations=REVIEW_ITERATIONS if kind == "review" else limits.max_iterations,
            memory_nudge=limits.memory_nudge if "memory" in learning else 0,
            skill_nudge=limits.skill_nudge if "skills" in learning else 0,
            result_chars=min(limits.result_chars, room.result_chars),
            turn_chars=min(limits.turn_chars, room.turn_chars),
            preview_chars=limits.preview_chars,
            recalled=recall(session, "\n\n".join(turn.texts)) if recall is not None else "",
            listeners=limits.listeners if kind in RECALLING else (),
        )
        return c.FinishPrefetch(step=step.id, prefetched=prefetched, started=started)
