"""Questions of a turn and of its sub-agents for the user who waits: for approval, and for input."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hermes_jobs.interfaces.cli.questions.approval import ApprovalQuestion, Asker
from hermes_jobs.interfaces.cli.questions.input import InputQuestion, input_questions
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.session import Session, stream_of, workdir_of
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.kernel.turns.waiting import LoadSession


def questions_of(
    load: LoadSession, session: Session, turn: str
) -> Iterator[ApprovalQuestion | InputQuestion]:
    """What calls of the turn, if it runs, and of its sub-agents ask a user.

    Those whose time is over are among them.
    """
    running = session.current
    if running is not None and running.id == turn and running.cancelled_by is None:
        yield from own_questions(session, running)
        yield from questions_below(load, session, turn)


def questions_below(
    load: LoadSession, session: Session, turn: str | None = None
) -> Iterator[ApprovalQuestion | InputQuestion]:
    """What calls of the session's sub-agents, and of theirs, ask a user.

    `turn`: of those that this turn began; None: of all. Those whose time is over are among them.
    """
    for child in session.children:
        if turn is not None and child.parent_turn.id != turn:
            continue
        below = load(stream_of(child.ref.session))
        place, running = below.delegation_of(child.ref.turn), below.current
        if place is not None and running is not None and running.cancelled_by is None:
            path = (*(payer.turn for payer in place.payers), child.ref.turn)
            asker = Asker(stream=below.stream, path=path, goal=child.ref.goal)
            yield from own_questions(below, running, asker)
        yield from questions_below(load, below)


def own_questions(
    session: Session, turn: Turn, asker: Asker | None = None
) -> Iterator[ApprovalQuestion | InputQuestion]:
    """The questions of a turn's calls; `asker` for a sub-agent's."""
    for call in turn.calls:
        if call.approval == "waiting" and call.result is None:
            request = e.ApprovalRequested(
                turn=turn.id,
                call=call.id,
                digest="",
                rule=call.rule,
                expires_at=call.expires_at,
                offer=call.offer,
            )
            yield ApprovalQuestion(
                request=request, tool_call=call.request, folder=workdir_of(session), asker=asker
            )
        if call.input is not None and call.waits_for_input:
            requested = msgspec.structs.replace(call.input.request, requests=call.input.unanswered)
            yield from input_questions(requested, call.request.name, asker)
