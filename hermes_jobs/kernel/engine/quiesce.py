"""Quiesce streams: cancel or pause all due work; users resume it explicitly.

| due                     | becomes                                       | resumed by            |
|-------------------------|-----------------------------------------------|-----------------------|
| a turn                  | it is cancelled                               | `turns retry ID`      |
| a review, a compression | it is cancelled; the conversation stays whole | by itself, when due   |
| a schedule              | it is paused                                  | `schedule resume ID`  |
| a delivery              | its text goes to the inbox                    | `inbox read`          |
| events for a listener   | they are skipped                              |                       |
| a condition of a text   | the text is not sent                          |                       |
| a trigger's firings     | the trigger is paused                         | `triggers resume`     |

Sub-agents of imported sessions may be imported without their parent or child. A parent whose child was not
imported gets its end as unknown; an imported child occupies a slot here, or queues for one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import TypeAlias

from hermes_jobs.errors import Corrupt
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events import CompressionFailed, ListenerTold, ToolInterrupted
from hermes_jobs.kernel.streams import delegation
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, append
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.streams.streams import rest_of, rested_as, rests_as
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, is_session

ROUNDS = 10  # the end of one step may make another due, such as a turn's review


Rested: TypeAlias = dict[str, list[str]]
"""The ids of the cancelled and paused work, in order: `turns`, `reviews`, `compressions`, and what streams of
features rest as, such as `schedules`."""


def nothing_rested() -> Rested:
    """No ids of each."""
    return {noun: [] for noun in ("turns", "reviews", "compressions", *rests_as())}


def quiesce(engine: Engine, streams: Collection[str], by: str, waiting: Iterable[str] = ()) -> Rested:
    """Cancel or pause all steps that are due or running in those streams; `by` is the author.

    `waiting` are the streams that wait for others, parents before their children: they may have no due step,
    and cancelling them cancels their children. Call it only while no worker runs: claimed steps are taken
    from their owners. Raises `Corrupt` if work remains due after several rounds.
    """
    report, among, first = nothing_rested(), set(streams), tuple(waiting)
    due = [row for row in engine.log.steps() if row.step.stream in among]
    for _ in range(ROUNDS):
        if not (due or first):
            return report
        for row in due:
            if row.owner is not None:
                engine.reclaim(row)
        at_work = dict.fromkeys((*first, *(row.step.stream for row in due)))
        for stream in sorted(at_work, key=is_session):  # others first: a schedule begins no run meanwhile
            if is_session(stream):
                _end_work(engine, stream, by, report)
            else:
                _rest(engine, stream, by, report)
        first = ()
        due = [row for row in engine.log.steps() if row.step.stream in among]
    raise Corrupt(f"These cannot be put to rest: {', '.join(sorted({row.step.id for row in due}))}.")


def _rest(engine: Engine, stream: str, by: str, report: Rested) -> None:
    if not (events := rest_of(engine.state(stream), by)):
        return
    engine.change(append(stream, *events), by)
    noun, its_id = rested_as(stream)
    if noun:
        report[noun].append(its_id)


def _end_work(engine: Engine, stream: str, by: str, report: Rested) -> None:
    session = engine.sessions.load(stream)
    for turn in (*reversed(session.waiting), *((session.current,) if session.current else ())):
        engine.execute(stream, c.CancelTurn(turn=turn.id, by=by))
        report["turns"].append(turn.id)
    _leave_tasks(engine, engine.sessions.load(stream))
    _drop_compression(engine, engine.sessions.load(stream), by, report)
    for review in engine.sessions.load(stream).reviews:
        engine.execute(stream, c.CancelReview(review=review.id, by=by))
        report["reviews"].append(review.id)
    _ignore_progress(engine, engine.sessions.load(stream), by)


def _leave_tasks(engine: Engine, session: Session) -> None:
    """End the cancelled turn's calls that are tasks of a server. The tasks are not cancelled on their
    servers."""
    turn = session.current
    if turn is None or turn.cancelled_by is None:
        return
    for call in turn.calls:
        if call.has_task:
            interrupted = ToolInterrupted(
                turn=turn.id, call=call.id, reason="unknown_outcome", attempt=call.attempt
            )
            engine.execute(session.stream, c.FinishToolCall(step=call.id, outcome=interrupted))


def _drop_compression(engine: Engine, session: Session, by: str, report: Rested) -> None:
    job = session.compression
    if job is None or job.running:
        return
    failed = CompressionFailed(
        turn=job.turn, step=job.step_id, attempt=job.attempt, kind="cancelled", message=f"Cancelled by {by}."
    )
    engine.execute(session.stream, c.FinishCompression(step=job.step_id, outcome=failed))
    report["compressions"].append(job.step_id)


def _ignore_progress(engine: Engine, session: Session, by: str) -> None:
    message = f"Held back by {by}: it may have been told from elsewhere."
    skipped = tuple(
        ListenerTold(listener=listener.name, upto=session.version, message=message)
        for listener in session.listeners
        if listener.has_backlog
    )
    if skipped:
        engine.change(append(session.stream, *skipped), by)


def reconcile_children(
    engine: Engine, streams: Iterable[str], by: str, *, per_root: int, per_home: int
) -> None:
    """End the wait of these sessions for children that are not in this log; `by` is the author."""

    def with_place(stream: str, load: StateLoader) -> DecisionResult:
        return with_reactions(delegation.place_for(load(stream), per_root, per_home, load), load)

    for stream in streams:
        for child in engine.sessions.load(stream).children:
            engine.change(partial(delegation.end_if_lost, stream, child), by)
        engine.change(partial(with_place, stream), by)
