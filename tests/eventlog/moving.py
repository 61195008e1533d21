"""Logs that have lived, and what it takes to move them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.copy_log import copy_log, temp_log
from hermes_jobs.kernel.log.export_log import export_log
from hermes_jobs.kernel.log.import_log import ImportResult, import_log
from hermes_jobs.kernel.log.log import Append, StepGuard, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.transaction import TransactionLog
from hermes_jobs.kernel.streams.budgets import charges
from hermes_jobs.kernel.streams.decision import LargeResult, UniqueKey
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import next_steps
from tests.eventlog.changes import META, MOMENT
from tests.views.histories import random_history

DAY = MOMENT[:10]


def live(log: SqlEventLog, random: Random, times: int, sessions: tuple[str, ...] = ("aa", "bb")) -> None:
    """Random sessions with all that goes with them: keys, due steps, some of them held, accounts, results."""
    states: dict[str, Session] = {}
    for stream, happened in random_history(random, times, sessions).facts:
        before = states.get(stream) or Session(stream=stream)
        fact = _reserving(happened, random)
        states[stream] = after = fold(before, (fact,))
        had, has = set(next_steps(before)), set(next_steps(after))
        still = {step.id for step in has}
        write = StreamWrite(
            stream=stream,
            events=(fact,),
            expected=before.version,
            due=tuple(step for step in next_steps(after) if step not in had),
            dropped=tuple(sorted(step.id for step in had if step.id not in still)),
        )
        log.append(
            Append(
                meta=META,
                recorded_at=MOMENT,
                writes=(write,),
                keys=_keys(fact),
                results=_results(fact),
                charges=charges(before, (fact,), lambda: DAY),
            )
        )
    for row in log.steps():
        if _is_begun(states[row.step.stream], row.step.id):
            guard = StepGuard(action="claim", step=row.step.id, owner="w-gone", fence=random.getrandbits(62))
            log.append(Append(meta=META, recorded_at=MOMENT, guard=guard))


def _is_begun(session: Session, step: str) -> bool:
    """Whether somebody is at the step."""
    turn = session.current
    if turn is None:
        return False
    begun = turn.call(step) or turn.reference(step)
    return (begun is not None and begun.running) or (turn.running and step == turn.step_id)


def _reserving(fact: e.SessionEvent, random: Random) -> e.SessionEvent:
    if isinstance(fact, e.ModelCallStarted) and random.random() < 0.5:
        held = Reservation(
            model="m", input_tokens=9, output_tokens=9, day="2026-01-02", max_tokens=9, cost_usd=1
        )
        return msgspec.structs.replace(fact, reserved=held)
    return fact


def _keys(fact: e.SessionEvent) -> tuple[UniqueKey, ...]:
    return (
        (UniqueKey(scope="turn", key=f"key of {fact.turn}", digest="d"),)
        if isinstance(fact, e.TurnSubmitted)
        else ()
    )


def _results(fact: e.SessionEvent) -> tuple[LargeResult, ...]:
    if isinstance(fact, e.ToolFinished):
        return (LargeResult(call=fact.call, content=f"all of {fact.call}, \x00 and 😀"),)
    return ()


def lines_of(log: SqlEventLog, streams: Iterable[str] | None = None) -> list[bytes]:
    """An export."""
    only = None if streams is None else set(streams)
    return list(export_log(log, version="test", made_at=MOMENT, streams=only))


def bring_in(log: SqlEventLog, lines: Iterable[bytes], prefix: str = "") -> ImportResult:
    """An import of the streams whose name begins so."""
    with looked_at(log, lines, prefix) as (came, source):
        copy_log(source, log, lambda inner: None)
    return came


@contextmanager
def looked_at(
    log: SqlEventLog, lines: Iterable[bytes], prefix: str = ""
) -> Iterator[tuple[ImportResult, SqlEventLog]]:
    """What would come into that log, and where it waits."""
    with TemporaryDirectory() as folder, temp_log(Path(folder), log.codec) as source:
        came = source.change_tables(
            lambda connection: import_log(
                TransactionLog(connection, source.log_id, source.codec),
                lines,
                lambda moment: moment[:10],
                log,
                lambda stream: stream.startswith(prefix),
            )
        )
        yield came, source
