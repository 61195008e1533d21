"""How large the next request will be, and whether the history has to be compressed before it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hermes_jobs.domain import commands as c
from hermes_jobs.domain.compression import MAX_FUTILE, MAX_REFITS
from hermes_jobs.domain.events import ContextPressure, ModelReplied
from hermes_jobs.domain.session import Session
from hermes_jobs.domain.tokens import CHARACTERS_A_TOKEN, weight
from hermes_jobs.domain.turn import Turn
from hermes_jobs.engine.perform.context import toolsets_of
from hermes_jobs.engine.ports import ContextEngines, ContextSize, ModelError, Toolbox

OVERFLOWS = frozenset({"context_overflow", "payload_too_large"})


class Sizing:
    """Looks at a session with its context engine. `window_of(model)` and all sizes are in tokens.

    `automatic` false: nothing is compressed but at a person's request.
    """

    def __init__(
        self,
        contexts: ContextEngines,
        toolbox: Toolbox,
        window_of: Callable[[str], int],
        *,
        automatic: bool = True,
    ) -> None:
        self._contexts = contexts
        self._toolbox = toolbox
        self._window_of = window_of
        self._automatic = automatic

    def preflight(self, session: Session) -> c.RequestCompression | None:
        """What has to happen before the next model call, if anything."""
        if not self._automatic or session.resting or session.futile >= MAX_FUTILE:
            return None
        turn = session.current
        if turn is None or session.compression is not None:
            return None
        size, context = self.size(session, turn), self._contexts.of(session)
        reason = context.should_compress(size)
        if reason is None or not context.has_content_to_compress(session.messages, size.window):
            return None
        number = session.num_requested + 1
        return c.RequestCompression(reason=reason, tokens=size.tokens, window=size.window, number=number)

    def overflow(self, session: Session, turn: Turn, error: ModelError) -> c.RequestCompression | None:
        """What may make a prompt fit that was refused: as too long, or, once, without a reason that is known,
        where it was larger than the last one that was accepted."""
        too_long = error.kind in OVERFLOWS
        larger = error.unexplained and 0 < session.accepted < len(session.messages)
        attempts = MAX_REFITS if too_long else int(larger)
        if not self._automatic or turn.refits >= attempts:
            return None
        size = self.size(session, turn)
        if not self._contexts.of(session).has_content_to_compress(session.messages, size.window):
            return None
        if too_long:
            return c.RequestCompression(reason="overflow", tokens=size.tokens, window=size.window)
        return c.RequestCompression(
            reason="refused", tokens=size.tokens, window=size.window, refusal=error.message
        )

    def pressure(self, session: Session, turn: Turn, reply: ModelReplied) -> ContextPressure | None:
        """What to tell people of how full the context is, where that has changed."""
        tokens, context = reply.usage.prompt_tokens, self._contexts.of(session)
        size = msgspec.structs.replace(self.size(session, turn), tokens=tokens, is_measured=True)
        if tokens <= 0 or context.pressure(size) == session.pressed:
            return None
        return ContextPressure(
            turn=turn.id,
            tokens=tokens,
            threshold=context.threshold(size.window),
            window=size.window,
            high=not session.pressed,
        )

    def size(self, session: Session, turn: Turn | None) -> ContextSize:
        """What the next call would send."""
        model = (turn.model if turn else None) or session.model or ""
        context = self._contexts.of(session)
        measured = session.prompt_tokens > 0
        if measured:
            tokens = session.prompt_tokens + context.estimate(session.messages[session.measured :])
        else:
            tokens = self._overhead(session, turn) + context.estimate(session.messages)
        return ContextSize(
            window=self._window_of(model),
            tokens=tokens,
            num_messages=len(session.messages),
            is_measured=measured,
            first_call=turn is not None and turn.step == 1,
            num_compressions=turn.compressions if turn else 0,
        )

    def _overhead(self, session: Session, turn: Turn | None) -> int:
        """The system prompt and the tools."""
        prompt = session.started.system_prompt if session.started else ""
        toolsets = toolsets_of(session, turn) if turn else None
        tools = sum(spec.num_characters for spec in self._toolbox.specs(toolsets))
        return (weight(prompt) + tools) // CHARACTERS_A_TOKEN
