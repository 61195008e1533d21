"""The request of a turn's next model call."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hermes_jobs.kernel.engine.budget_guard import SHORTEST_ANSWER, USUAL_ANSWER
from hermes_jobs.kernel.engine.handlers.tool_context import toolsets_of
from hermes_jobs.kernel.engine.ports import ModelRequest, Toolbox
from hermes_jobs.kernel.turns.messages import Message, UserMessage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn


class TurnLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The configured limits of a turn, in seconds and tokens.

    `memory_nudge` user turns, or `skill_nudge` rounds of tool calls, of a conversation make a review due.
    `listeners` are notified of events. `wait_for_quota`: the longest wait for a quota that resets;
    `wait_for_required`: the longest wait for what a session requires to begin;
    `fallback`: the models to try instead, in order, if the requested one cannot be used.
    """

    max_iterations: int
    max_tokens: int | None
    approval_seconds: float
    result_chars: int = 100_000
    turn_chars: int = 200_000
    preview_chars: int = 1_500
    memory_nudge: int = 0
    skill_nudge: int = 0
    listeners: tuple[str, ...] = ()
    wait_for_quota: float = 0.0
    wait_for_required: float = 0.0
    fallback: tuple[str, ...] = ()


OUTPUT_LIMIT = "output_limit"
"""The kind of failure after which `shorter_answer` is tried."""

Beside = Callable[[UserMessage, str], UserMessage]


class RequestBuilder(msgspec.Struct, frozen=True, eq=False):
    """Builds the requests of turns from the configured limits.

    `beside(message, recalled)` is the message as it is sent, with what was recalled for it; `longest(model)`
    is the model's output limit in tokens, None if unknown.
    """

    toolbox: Toolbox
    limits: TurnLimits
    beside: Beside | None = None
    longest: Callable[[str], int | None] | None = None

    def build(self, session: Session, turn: Turn) -> ModelRequest:
        """The turn's next request. `max_tokens` is the reservation for the answer, if there is one."""
        assert session.started is not None, f"{session.stream} has no prompt"
        model = turn.model or session.model or ""
        return ModelRequest(
            model=model,
            system_prompt=session.started.system_prompt,
            messages=self.messages(session, turn),
            tools=self.toolbox.of(session).specs(toolsets_of(session, turn)),
            tool_choice="auto" if turn.may_call_tools else "none",
            max_tokens=turn.reserved.max_tokens if turn.reserved else self._answer_tokens(turn, model),
            session=session.lineage,
            cache_ttl=turn.cache_ttl,
            answer_schema=turn.answer_schema if _is_constrained(session, turn) else "",
        )

    def messages(self, session: Session, turn: Turn) -> tuple[Message, ...]:
        """The history, with the recalled context added to the message that began the turn."""
        messages = session.messages
        if self.beside is None or not turn.recalled:
            return messages
        for at in range(len(messages) - 1, -1, -1):
            message = messages[at]
            if isinstance(message, UserMessage) and _holds(message.content, turn.prompt_text):
                return (*messages[:at], self.beside(message, turn.recalled), *messages[at + 1 :])
        return messages

    def _answer_tokens(self, turn: Turn, model: str) -> int | None:
        limit = self.limits.max_tokens
        if turn.output_limit_raises:
            larger = max((limit or USUAL_ANSWER) * 2**turn.output_limit_raises, 2 * turn.cut_at)
            longest = self.longest(model) if self.longest is not None else None
            limit = min(larger, longest or larger)
        if turn.max_tokens is not None:
            limit = min(limit or turn.max_tokens, turn.max_tokens)
        return limit


def _is_constrained(session: Session, turn: Turn) -> bool:
    """Whether the schema is also sent as a parameter: in a correction, and if the history begins with this
    turn. Providers put it before the system prompt, so elsewhere it would invalidate the prompt cache.
    """
    first = session.messages[0] if session.messages else None
    return turn.corrections > 0 or (
        isinstance(first, UserMessage) and _holds(first.content, turn.prompt_text)
    )


def _holds(content: str, text: str) -> bool:
    """Whether the message is that text, alone or, after a compression, beside notes."""
    return f"\n\n{text}\n\n" in f"\n\n{content}\n\n"


def shorter_answer(requested: int | None, limit: int | None) -> int | None:
    """The output limit to try after `requested` tokens were refused; None if none is left to try. `limit` is
    the one that the provider reported. Without it, half of `requested`; without that, a small default.
    """
    if limit is not None and (requested is None or limit < requested):
        shorter = limit
    else:
        shorter = 4096 if requested is None else requested // 2
    return shorter if shorter >= SHORTEST_ANSWER else None
