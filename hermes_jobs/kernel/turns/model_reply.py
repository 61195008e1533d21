"""Effects of a model's reply on its turn: tool calls, an answer, or another attempt."""

from __future__ import annotations

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import compression_rules, reviews
from hermes_jobs.kernel.turns import turn as turns
from hermes_jobs.kernel.turns.messages import AssistantMessage, Payload, UserMessage
from hermes_jobs.kernel.turns.rounds import round_opened
from hermes_jobs.kernel.turns.session import Session, append_messages, running_turn
from hermes_jobs.kernel.turns.synthetic_messages import (
    ASK_AGAIN,
    CONTINUE,
    NO_ANSWER,
    REASONING_ONLY,
    STOPPED_WITHOUT_WORDS,
    is_unfinished,
    unfinished,
)
from hermes_jobs.kernel.turns.turn import Turn


def replied(session: Session, event: e.ModelReplied) -> Session:
    """The session after the reply."""
    session = compression_rules.with_measured(session, event)
    turn = running_turn(session)
    turn = replace(turn.released(), tally=turn.tally.with_outcome(event), compressions=0)
    if event.failures:
        turn = replace(turn, failures=(*turn.failures, event.failures))
    cut = event.finish_reason == "length"
    if cut:
        turn = replace(turn, cut_at=event.usage.output_tokens)
    is_cancelled = turn.cancelled_by is not None
    opens_round = bool(event.tool_calls) and turn.may_call_tools
    if is_cancelled and (cut or not opens_round):
        messages = (AssistantMessage(event.content),) if event.content else ()
        return append_messages(session, turn, *messages)
    if opens_round:
        if cut:
            return _enlarge(session, turn)
        message = AssistantMessage(event.content, event.tool_calls, event.payload)
        if not is_cancelled:  # else its calls end as cancelled: no tool was used
            session = replace(session, review_counters=reviews.round_opened(session.review_counters))
        return append_messages(session, round_opened(turn, event), message)
    if cut and event.content and not event.stalled and turn.continuations < turns.MAX_CONTINUATIONS:
        turn = replace(
            turns.next_call(turn),
            partial_answer=turn.partial_answer + event.content,
            continuations=turn.continuations + 1,
        )
        return append_messages(
            session, turn, AssistantMessage(event.content, payload=event.payload), UserMessage(CONTINUE)
        )
    answer = turn.partial_answer + event.content
    if not answer.strip():
        if turn.finalizing:
            words = STOPPED_WITHOUT_WORDS[turn.finalizing_because]
            return _answer(session, turn, words, words, turn.finalizing_because)
        return _ask_again(session, turn, event.reasoning, cut=cut)
    stopped_by = turn.finalizing_because if turn.finalizing else "length" if cut else None
    return _answer(session, turn, event.content or NO_ANSWER, answer, stopped_by, event.payload)


def call_failed(session: Session, event: e.ModelCallFailed) -> Session:
    """The session after a failed call; the partial text of a cancelled answer stays, with a mark."""
    turn = turns.call_failed(running_turn(session), event)
    if is_unfinished(event):
        return append_messages(session, turn, AssistantMessage(unfinished(event.content)))
    return replace(session, current=turn)


def _answer(
    session: Session,
    turn: Turn,
    text: str,
    answer: str,
    stopped_by: str | None,
    payload: Payload | None = None,
) -> Session:
    done = replace(turn, answer=answer, stopped_by=stopped_by, attempt=1, worker_crashes=0, retry_at=0.0)
    return append_messages(session, done, AssistantMessage(text, payload=payload))


def _ask_again(session: Session, turn: Turn, reasoning: str, *, cut: bool) -> Session:
    """An empty answer that was cut off, as by long reasoning, is requested
    again with a higher output limit.

    Servers with the wrong parser put the answer into the reasoning every time: in the end it is shown.
    """
    if turn.empty_replies >= turns.MAX_EMPTY_REPLIES:
        if reasoning.strip():
            words = f"{REASONING_ONLY}\n\n{reasoning.strip()}"
            return _answer(session, turn, words, words, "length" if cut else None)
        message = f"The model gave an empty answer {turn.empty_replies + 1} times in a row."
        hint = "Try again with `hermes-jobs turns retry`, or with another model."
        return replace(session, current=turns.failed(turn, "empty_answer", message, hint))
    enlargements = turn.output_limit_raises + cut
    again = replace(
        turns.next_call(turn), empty_replies=turn.empty_replies + 1, output_limit_raises=enlargements
    )
    return append_messages(session, again, AssistantMessage(NO_ANSWER), UserMessage(ASK_AGAIN))


def _enlarge(session: Session, turn: Turn) -> Session:
    """Cut-off arguments are never run: the call is repeated with a higher output limit."""
    if turn.output_limit_raises >= turns.MAX_OUTPUT_LIMIT_RAISES:
        message = "The model's tool calls were cut off by the output limit, also with a larger one."
        hint = "Raise model.max_tokens, or ask for less at once."
        return replace(session, current=turns.failed(turn, "output_limit", message, hint))
    return replace(
        session, current=replace(turns.next_call(turn), output_limit_raises=turn.output_limit_raises + 1)
    )
