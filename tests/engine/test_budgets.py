"""Budgets hold, however many turns spend at the same time, and nothing that was spent is forgotten."""

from __future__ import annotations

import threading

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import ModelError, Reply
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams.accounts import NANO, NOTHING, Amount
from hermes_jobs.kernel.streams.budgets import Budgets
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.llm.scripted_model import HeldCall, ScriptedModel
from hermes_jobs.runtime.recovery import reclaim_from_dead_workers
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.engine.simulation import KnownDead
from tests.engine.spenders import (
    COST,
    DAY,
    OUTPUT,
    SAID,
    SENT,
    spending_engine,
    submit,
    two_calls,
    work,
    work_in_a_process,
)
from tests.eventlog.writers import run_in_processes

TURNS = 20
CALLS = 25
"""How many calls the budget of the day is for; the turns want forty."""


def of_calls(number: float) -> Amount:
    return Amount(round(number * (SENT + SAID)), round(number * COST * NANO))


def assert_the_day_was_not_overspent(log: SqlEventLog, budget: float) -> None:
    """Nothing is reserved any more, what is spent is what was billed, and the budget was used to its end."""
    assert_all_is_done_once(log, [])
    day = log.account(f"day-{DAY}")
    assert day.reserved == NOTHING
    assert day.spent.nano_usd <= round(budget * NANO)
    facts = facts_of(log)
    billed = [fact for fact in facts if isinstance(fact, e.ModelReplied)]
    assert day.spent.tokens == sum(fact.usage.total_tokens for fact in billed)
    ends = [fact for fact in facts if isinstance(fact, e.TurnCompleted | e.TurnFailed)]
    failed = [end for end in ends if isinstance(end, e.TurnFailed)]
    assert {end.kind for end in failed} == {"budget"}
    assert 0 < len(failed) < TURNS
    assert budget * NANO - day.spent.nano_usd < (SENT * 1e-6 + 256 * OUTPUT) * NANO


def test_twenty_turns_in_threads_do_not_overspend_the_day(log: SqlEventLog) -> None:
    budget = CALLS * COST
    engine = spending_engine(log, "w1", Budgets(day_usd=budget), ScriptedModel(two_calls))
    submit(engine, TURNS)
    work(engine, threads=TURNS)
    assert_the_day_was_not_overspent(log, budget)


@pytest.mark.slow
def test_twenty_turns_in_four_processes_do_not_overspend_the_day(log: SqlEventLog, log_url: str) -> None:
    submit(spending_engine(log, "w", Budgets(), ScriptedModel(two_calls)), TURNS)
    run_in_processes(work_in_a_process, log_url, 4, 5, CALLS)
    assert_the_day_was_not_overspent(log, CALLS * COST)


def test_a_call_waits_for_reservations_of_others_and_continues_when_they_are_released(
    log: SqlEventLog,
) -> None:
    reply = Reply(content="done", usage=Usage(SENT, 10), model="m")
    model = ScriptedModel([HeldCall(reply), reply])
    budgets = Budgets(day_usd=1.5 * (SENT * 1e-6 + 8192 * OUTPUT))
    engine = spending_engine(log, "w1", budgets, model)
    submit(engine, 2)
    for number in range(2):
        engine.run(f"session-s{number}", f"t{number}-prefetch")
    first = threading.Thread(target=engine.run, args=("session-s0", "t0-1"))
    first.start()
    model.wait_for_requests(1)
    assert engine.run("session-s1", "t1-1") == "held_up"
    assert [fact for fact in facts_of(log) if isinstance(fact, e.TurnFailed)] == []
    model.release()
    first.join()
    assert engine.run("session-s1", "t1-1") == "done"
    work(engine)
    assert_all_is_done_once(log, ["t0", "t1"])


def test_a_turn_over_its_budget_fails_and_continues_when_it_is_raised(log: SqlEventLog) -> None:
    model = ScriptedModel(two_calls)
    short = spending_engine(log, "w1", Budgets(turn_tokens=2 * SENT + SAID), model)
    submit(short, 1)
    work(short)
    (failed,) = [fact for fact in facts_of(log) if isinstance(fact, e.TurnFailed)]
    assert failed.kind == "budget"
    assert f"{SENT + SAID:,} spent so far" in failed.message
    raised = spending_engine(log, "w1", Budgets(turn_tokens=4 * SENT), model)
    raised.execute("session-s0", c.ResumeTurn(e.TurnResumed(turn="t0")))
    work(raised)
    facts = facts_of(log)
    assert isinstance(facts[-1], e.TurnCompleted)
    assert log.account("turn-t0").spent == of_calls(2)
    recorded = [fact for fact in facts if isinstance(fact, e.UsageRecorded)]
    assert sum(fact.input_tokens + fact.output_tokens for fact in recorded) == 2 * (SENT + SAID)


def test_each_turn_has_its_own_budget_beside_the_sessions(log: SqlEventLog) -> None:
    engine = spending_engine(log, "w1", Budgets(session_usd=2.9 * COST), ScriptedModel(two_calls))
    for number in range(2):
        command = e.TurnSubmitted(
            turn=f"t{number}", session="s0", text="hello", source="test", budget_usd=2.5 * COST
        )
        engine.submit(command)
    work(engine)
    ends = [fact for fact in facts_of(log) if isinstance(fact, e.TurnCompleted | e.TurnFailed)]
    assert [type(end) for end in ends] == [e.TurnCompleted, e.TurnFailed]
    assert isinstance(ends[1], e.TurnFailed)
    assert "budgets.session_usd" in ends[1].message


def test_a_tiny_budget_is_shown_as_an_amount(log: SqlEventLog) -> None:
    engine = spending_engine(log, "w1", Budgets(turn_usd=1e-7), ScriptedModel(two_calls))
    submit(engine, 1)
    work(engine)
    (failed,) = [fact for fact in facts_of(log) if isinstance(fact, e.TurnFailed)]
    assert "budgets.turn_usd allows $0.0000001; $0.00 spent so far" in failed.message


def test_an_answer_is_asked_for_no_longer_than_the_budget_pays_for(log: SqlEventLog) -> None:
    model = ScriptedModel(two_calls)
    engine = spending_engine(log, "w1", Budgets(turn_tokens=SENT + 280), model)
    submit(engine, 1)
    work(engine)
    assert [request.max_tokens for request in model.requests] == [280]


def test_without_a_budget_the_providers_limit_applies(log: SqlEventLog) -> None:
    model = ScriptedModel(two_calls)
    engine = spending_engine(log, "w1", Budgets(), model)
    submit(engine, 1)
    work(engine)
    assert [request.max_tokens for request in model.requests] == [None, None]
    assert log.account("turn-t0").spent == of_calls(2)


def test_a_call_whose_worker_died_is_charged_as_reserved_until_its_reply_comes_after_all(
    log: SqlEventLog,
) -> None:
    reply = Reply(content="done", usage=Usage(SENT, SAID), model="m")
    dead = spending_engine(log, "dead", Budgets(), held := ScriptedModel([HeldCall(reply)]), max_tokens=500)
    other = spending_engine(log, "other", Budgets(), ScriptedModel([reply]), max_tokens=500)
    submit(dead, 1)
    dead.run("session-s0", "t0-prefetch")
    late = threading.Thread(target=dead.run, args=("session-s0", "t0-1"))
    late.start()
    held.wait_for_requests(1)
    observer = KnownDead()
    observer.ids = {"dead"}
    reclaim_from_dead_workers(other, observer)
    (abandoned,) = [fact for fact in facts_of(log) if isinstance(fact, e.StepAbandoned)]
    assert (abandoned.model, abandoned.estimated) == ("m", Usage(SENT, 500))
    assert log.account("turn-t0").spent.tokens == SENT + 500
    work(other)
    held.release()
    late.join()
    assert_all_is_done_once(log, ["t0"])
    assert log.account("turn-t0").spent == log.account(f"day-{DAY}").spent == of_calls(2)


@pytest.mark.parametrize(
    ("error", "estimated"),
    [
        (ModelError("timeout", "No answer in time."), Usage(SENT, 0)),
        (ModelError("server", "It broke."), NO_USAGE),
        (ModelError("garbage", "It is not JSON.", usage=Usage(SENT, 5)), NO_USAGE),
    ],
)
def test_a_failed_call_without_reported_usage_is_booked_as_an_estimate(
    log: SqlEventLog, error: ModelError, estimated: Usage
) -> None:
    engine = spending_engine(log, "w1", Budgets(), ScriptedModel([error]))
    submit(engine, 1)
    work(engine)
    (recorded,) = [fact for fact in facts_of(log) if isinstance(fact, e.UsageRecorded)]
    assert recorded.estimated == estimated
    assert recorded.input_tokens == error.usage.input_tokens
    assert log.account("turn-t0").spent.tokens == (error.usage + estimated).total_tokens


def test_a_reply_whose_usage_was_not_reported_is_booked_as_estimated(log: SqlEventLog) -> None:
    engine = spending_engine(log, "w1", Budgets(), ScriptedModel([Reply(content="d" * 40, model="m")]))
    submit(engine, 1)
    work(engine)
    (recorded,) = [fact for fact in facts_of(log) if isinstance(fact, e.UsageRecorded)]
    assert (recorded.input_tokens, recorded.cost_usd, recorded.estimated) == (0, None, Usage(SENT, 10))
    assert log.account("turn-t0").spent.tokens == SENT + 10


def test_an_account_that_does_not_follow_from_the_events_is_found(log: SqlEventLog) -> None:
    engine = spending_engine(log, "w1", Budgets(), ScriptedModel(two_calls))
    submit(engine, 1)
    work(engine)
    assert verify(log).is_sound
    with log._database.write_lock() as begin:
        connection = begin(True)
        connection.execute("UPDATE budgets SET spent_tokens = 1 WHERE account = 'turn-t0'")
        connection.commit()
    (finding,) = verify(log).findings
    assert "The account turn-t0 says 1 tokens" in finding.message
