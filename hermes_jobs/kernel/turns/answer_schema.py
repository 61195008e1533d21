"""Answers with a JSON Schema: notes for the model, and corrections of an invalid answer.

A turn's text may have a schema (`TurnSubmitted.answer_schema`). The final answer is validated when it is
recorded, and the verdict is an event: a fold never validates. After `MAX_CORRECTIONS` corrections by the
model the turn fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.kernel.turns.session import Session, append_messages, running_turn
from hermes_jobs.kernel.turns.stops import SCHEMA
from hermes_jobs.kernel.turns.synthetic_messages import answer_correction
from hermes_jobs.kernel.turns.turn import Turn, failed, next_call
from hermes_jobs.text.json_schema import document_in, faults

MAX_CORRECTIONS = 1


def judged(session: Session, faults_found: tuple[str, ...] | None = None) -> Iterator[e.AnswerRejected]:
    """The verdict on the running turn's answer, if it violates its schema.

    `faults_found`: its violations, if they were found before, in a child process.
    """
    turn = session.current
    if turn is None or turn.answer is None or not turn.answer_schema:
        return
    faults = _faults(turn.answer_schema, turn.answer) if faults_found is None else faults_found
    if faults:
        yield e.AnswerRejected(turn=turn.id, step=turn.step_id, faults=faults)


def _faults(schema: str, answer: str) -> tuple[str, ...]:
    try:
        return faults(schema, document_in(answer))
    except ValueError as error:
        return (str(error),)


def rejected(session: Session, event: e.AnswerRejected) -> Session:
    """The session after the verdict: the model corrects its answer, or the turn has failed."""
    turn = running_turn(session)
    text = "; ".join(event.faults)
    if turn.corrections >= MAX_CORRECTIONS:
        message = f"The answer does not fit the schema, also after a correction: {text}."
        hint = f"`hermes-jobs sessions show {session.id}` has the answers; another model (-m) may do better."
        return replace(session, current=failed(replace(turn, answer=None), SCHEMA, message, hint))
    again = replace(
        next_call(turn),
        corrections=turn.corrections + 1,
        answer=None,
        stopped_by=None,
        partial_answer="",
        continuations=0,
        empty_replies=0,
    )
    return append_messages(session, again, UserMessage(answer_correction(text, turn.answer_schema)))


def final_answer(turn: Turn) -> str:
    """The turn's answer: with a schema only the JSON document, without any text around it."""
    answer = turn.answer or ""
    return document_in(answer) if turn.answer_schema else answer
