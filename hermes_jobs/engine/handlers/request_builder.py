"""The request of a turn's next model call."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hermes_jobs.domain.session.messages import Message, UserMessage
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.turn import Turn
from hermes_jobs.engine.budget_guard import SHORTEST_ANSWER, USUAL_ANSWER
from hermes_jobs.engine.handlers.tool_context import toolsets_of
from hermes_jobs.engine.ports import ModelRequest, Toolbox


class TurnLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The configured limits of a turn, in seconds and tokens.

    `memory_nudge` user turns, or `skill_nudge` rounds of tool calls, of a conversation make a review due.
    `listeners` are notified of events. `wait_for_quota`: the longest wait for a quota that resets;
    `wait_for_required`: for what a session cannot begin without;
    `fallback`: the models that are tried, in order, where the one asked cannot be used.
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
"""The kind of failure after which a `shorter_answer` may be had."""

Beside = Callable[[UserMessage, str], UserMessage]


class RequestBuilder(msgspec.Struct, frozen=True, eq=False):
    """Makes the requests of turns, as configured.

    `beside(message, recalled)` is the message as it is sent, with what was recalled for it; `longest(model)`
    is how many tokens an answer of that model can have, None where that is not known.
    """

    toolbox: Toolbox
    limits: TurnLimits
    beside: Beside | None = None
    longest: Callable[[str], int | None] | None = None

    def build(self, session: Session, turn: Turn) -> ModelRequest:
        """The turn's next request. `max_tokens` is what was reserved for the answer, else what is wanted."""
        assert session.started is not None, f"{session.stream} has no prompt"
        model = turn.model or session.model or ""
        return ModelRequest(
            model=model,
            system_prompt=session.started.system_prompt,
            messages=self.messages(session, turn),
            tools=self.toolbox.of(session).specs(toolsets_of(session, turn)),
            tool_choice="auto" if turn.may_call_tools else "none",
            max_tokens=turn.reserved.max_tokens if turn.reserved else self._wanted_answer(turn, model),
            session=session.lineage,
            answer_schema=turn.answer_schema if _is_constrained(session, turn) else "",
        )

    def messages(self, session: Session, turn: Turn) -> tuple[Message, ...]:
        """The history, with what was recalled beside the message that began the turn."""
        messages = session.messages
        if self.beside is None or not turn.recalled:
            return messages
        for at in range(len(messages) - 1, -1, -1):
            said = messages[at]
            if isinstance(said, UserMessage) and _holds(said.content, turn.prompt_text):
                return (*messages[:at], self.beside(said, turn.recalled), *messages[at + 1 :])
        return messages

    def _wanted_answer(self, turn: Turn, model: str) -> int | None:
        limit = self.limits.max_tokens
        if turn.output_limit_raises:
            larger = max((limit or USUAL_ANSWER) * 2**turn.output_limit_raises, 2 * turn.cut_at)
            longest = self.longest(model) if self.longest is not None else None
            limit = min(larger, longest or larger)
        if turn.max_tokens is not None:
            limit = min(limit or turn.max_tokens, turn.max_tokens)
        return limit


def _is_constrained(session: Session, turn: Turn) -> bool:
    """Whether the schema goes along as a parameter, too: in a correction, and where the history begins with
    this turn. Providers put it before the system prompt: elsewhere it would cost the whole prompt cache.
    """
    first = session.messages[0] if session.messages else None
    return turn.corrections > 0 or (
        isinstance(first, UserMessage) and _holds(first.content, turn.prompt_text)
    )


def _holds(content: str, asked: str) -> bool:
    """Whether the text was said there, alone or, since a compression, beside its notes."""
    return f"\n\n{asked}\n\n" in f"\n\n{content}\n\n"


def shorter_answer(asked: int | None, named: int | None) -> int | None:
    """The longest answer to ask for after `asked` tokens were refused; None where none is left to try.

    `named` is what the refusal allows. Without it, half; without a limit of our own, a usual small one.
    """
    if named is not None and (asked is None or named < asked):
        shorter = named
    else:
        shorter = 4096 if asked is None else asked // 2
    return shorter if shorter >= SHORTEST_ANSWER else None
