"""How large the next request will be, and whether the history has to be compressed before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from hermes_jobs.kernel.engine.handlers.tool_context import toolsets_of
from hermes_jobs.kernel.engine.ports import ContextEngines, ContextSize, ModelError, Toolbox
from hermes_jobs.kernel.events import ContextPressure, ModelReplied, SessionStarted
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.compression import MAX_INEFFECTIVE, MAX_REFITS, is_rearmed
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, token_weight

OVERFLOWS = frozenset({"context_overflow", "payload_too_large"})
TOO_MUCH = 0.5
"""The share of the window that system prompt and tools may take before the user is notified."""


class CompressionPolicy(msgspec.Struct, frozen=True, eq=False):
    """Decides when a session is compressed, with its context engine. `window_of(session, model)` and all
    sizes are in tokens. `automatic` false: only at a user's request.
    """

    contexts: ContextEngines
    toolbox: Toolbox
    window_of: Callable[[Session, str], int]
    automatic: bool = True

    def preflight(self, session: Session) -> c.RequestCompression | None:
        """The command that has to precede the next model call, if any."""
        if not self.automatic or session.compression_paused:
            return None
        turn = session.current
        if turn is None or session.compression is not None:
            return None
        size, context = self.size(session, turn), self.contexts.of(session)
        if session.ineffective_compressions >= MAX_INEFFECTIVE and not is_rearmed(
            session.ineffective_at, size.tokens, size.window
        ):
            return None
        reason = context.should_compress(size)
        if reason is None or not self._has_content(session, size):
            return None
        number = session.compressions_requested + 1
        return c.RequestCompression(reason=reason, tokens=size.tokens, window=size.window, number=number)

    def on_overflow(self, session: Session, turn: Turn, error: ModelError) -> c.RequestCompression | None:
        """The command that may make a refused prompt fit, if any: it was refused as too long, or, once, for
        an unknown reason while it was larger than the last accepted one."""
        too_long = error.kind in OVERFLOWS
        larger = error.unexplained and 0 < session.accepted < len(session.messages)
        attempts = MAX_REFITS if too_long else int(larger)
        if not self.automatic or turn.overflow_compressions >= attempts:
            return None
        size = self.size(session, turn)
        window = min(size.window, size.tokens)  # the estimate was too low: this size was refused
        if not self._has_content(session, msgspec.structs.replace(size, window=window)):
            return None
        if too_long:
            return c.RequestCompression(reason="overflow", tokens=size.tokens, window=window)
        return c.RequestCompression(
            reason="refused", tokens=size.tokens, window=window, refusal=error.message
        )

    def is_worthwhile(self, session: Session) -> bool:
        """Whether a compression that a user requests would save enough to be worth a summary."""
        return self._has_content(session, self.size(session, session.current), requested=True)

    def advice(self, session: Session, turn: Turn) -> str:
        """Advice to the user if system prompt and tools leave too little of the window; else ""."""
        return self._advice(session, turn, self.size(session, turn))

    def _advice(self, session: Session, turn: Turn, size: ContextSize) -> str:
        if size.fixed < size.window * TOO_MUCH:
            return ""
        return too_small(size, self._largest(session, turn, size))

    def _largest(self, session: Session, turn: Turn, size: ContextSize) -> dict[str, int]:
        """The largest enabled toolsets, with their tokens: without these, half of the window is free."""
        toolbox = self.toolbox.of(session)
        on = toolbox.toolsets_on(toolsets_of(session, turn))
        sizes = {
            name: sum(spec.num_characters for spec in toolbox.specs((name,))) // CHARACTERS_A_TOKEN
            for name in on
        }
        surplus, largest = size.fixed - int(size.window * TOO_MUCH), dict[str, int]()
        for name in sorted(sizes, key=lambda name: -sizes[name]):
            if surplus <= 0:
                break
            largest[name] = sizes[name]
            surplus -= sizes[name]
        return largest

    def _has_content(self, session: Session, size: ContextSize, *, requested: bool = False) -> bool:
        context = self.contexts.of(session)
        estimated = size.fixed + context.estimate(session.messages)
        window = in_estimates(size.window, size.tokens, estimated)
        return context.has_content_to_compress(session.messages, window, size.fixed, requested=requested)

    def pressure_change(self, session: Session, turn: Turn, reply: ModelReplied) -> ContextPressure | None:
        """The notification about how full the context is, if that has changed."""
        context, size = self.contexts.of(session), self.size(session, turn)
        advice = self._advice(session, turn, size)
        tokens = reply.usage.prompt_tokens or size.tokens  # the estimate is used if no usage was reported
        size = msgspec.structs.replace(size, tokens=tokens, is_measured=True)
        if (context.pressure(size) or bool(advice)) == session.pressure_notified:
            return None
        return ContextPressure(
            turn=turn.id,
            tokens=tokens,
            threshold=context.threshold(size.window, size.fixed),
            window=size.window,
            high=not session.pressure_notified,
            advice="" if session.pressure_notified else advice,
        )

    def size(self, session: Session, turn: Turn | None) -> ContextSize:
        """The size of the next request."""
        model = (turn.model if turn else None) or session.model or ""
        context = self.contexts.of(session)
        measured, fixed = session.prompt_tokens > 0, self.overhead(session, turn)
        if measured:
            tokens = session.prompt_tokens + context.estimate(session.messages[session.measured_messages :])
        else:
            tokens = fixed + context.estimate(session.messages)
        return ContextSize(
            window=self.window_of(session, model),
            tokens=tokens,
            num_messages=len(session.messages),
            is_measured=measured,
            first_call=turn is not None and turn.step == 1,
            num_compressions=turn.compressions if turn else 0,
            fixed=fixed,
        )

    def overhead(self, session: Session, turn: Turn | None, started: SessionStarted | None = None) -> int:
        """The tokens of system prompt and tools for a session with that start; None: its own."""
        if started is not None:
            session = msgspec.structs.replace(session, started=started)
        prompt = session.started.system_prompt if session.started else ""
        toolsets = toolsets_of(session, turn) if turn else None
        tools = sum(spec.num_characters for spec in self.toolbox.of(session).specs(toolsets))
        return (token_weight(prompt) + tools) // CHARACTERS_A_TOKEN


def in_estimates(window: int, tokens: int, estimated: int) -> int:
    """The window in the measure of our estimates, where a request of `estimated` takes `tokens`."""
    return window if tokens <= estimated else max(1, window * estimated // tokens)


def too_small(size: ContextSize, toolsets: Mapping[str, int]) -> str:
    """The message about a window that the tools fill; `toolsets` are those to turn off, with their tokens."""
    text = (
        f"System prompt and tools take about {size.fixed:,} of the model's {size.window:,} tokens: "
        "little is left for the conversation. "
    )
    if not toolsets:
        return text + "Take a model with a larger window."
    named = ", ".join(f"{name} ({tokens:,})" for name, tokens in toolsets.items())
    setting = ", ".join(f'"{name}"' for name in toolsets)
    return (
        f"{text}Turn off toolsets that you do not need; the largest are {named}: "
        f"hermes-jobs config set toolsets.disabled '[{setting}]'. Or take a model with a larger window."
    )
