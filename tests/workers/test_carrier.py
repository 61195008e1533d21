"""Messages carry a step's id and nothing else, under task ids that begin with it and are never used twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery

from hermes_jobs.kernel.turns.steps import Step, StepKind
from hermes_jobs.runtime.queues import ALL_QUEUES
from tests.engine.simulation import CountedIds
from workers.app import make_app
from workers.dispatch import CeleryDispatcher


@pytest.fixture
def app() -> Iterator[Celery]:
    app = make_app("memory://", prefix="")
    with app.connection_for_write() as connection:
        for queue in ALL_QUEUES:
            app.amqp.queues[queue](connection.default_channel).declare()
            app.amqp.queues[queue](connection.default_channel).purge()
    yield app
    app.close()


def step(step_id: str, kind: StepKind, attempt: int = 1) -> Step:
    return Step(id=step_id, stream="session-s", kind=kind, attempt=attempt)


def sent(app: Celery, queue: str) -> list[dict[str, Any]]:
    found = []
    with app.connection_for_read() as connection:
        while (message := app.amqp.queues[queue](connection.default_channel).get(no_ack=True)) is not None:
            args, _, embedded = message.decode()
            found.append({**message.headers, "args": args, "chain": embedded["chain"]})
    return found


def test_a_new_turn_is_sent_as_a_chain_of_its_prefetch_and_its_first_call(app: Celery) -> None:
    CeleryDispatcher(app, CountedIds()).dispatch([step("t1-prefetch", "turn.prefetch")])
    (message,) = sent(app, "turns")
    assert (message["task"], message["id"], message["args"]) == (
        "turn.prefetch",
        "t1-prefetch",
        ["t1-prefetch"],
    )
    (following,) = message["chain"]
    assert (following["task"], following["options"]["task_id"]) == ("turn.call_model", "t1-1")


def test_tools_of_one_reply_are_sent_as_a_group_on_their_own_queue(app: Celery) -> None:
    CeleryDispatcher(app, CountedIds()).dispatch(
        [step("t1-1-0", "turn.run_tool"), step("t1-1-1", "turn.run_tool")]
    )
    messages = sent(app, "tools")
    assert [message["id"] for message in messages] == ["t1-1-0", "t1-1-1"]
    assert len({message["group"] for message in messages}) == 1
    assert messages[0]["group"] is not None


def test_members_of_one_ensemble_are_sent_as_a_group(app: Celery) -> None:
    CeleryDispatcher(app, CountedIds()).dispatch(
        [step("t1-1-r0", "turn.reference"), step("t1-1-r1", "turn.reference")]
    )
    messages = sent(app, "turns")
    assert [(each["id"], each["task"], each["chain"]) for each in messages] == [
        ("t1-1-r0", "turn.reference", None),
        ("t1-1-r1", "turn.reference", None),
    ]
    assert len({message["group"] for message in messages}) == 1
    assert messages[0]["group"] is not None


def test_every_message_of_a_turn_has_its_first_task_as_root(app: Celery) -> None:
    dispatcher = CeleryDispatcher(app, CountedIds())
    dispatcher.dispatch([step("t1-2", "turn.call_model")])
    dispatcher.send_again([step("t1-record", "turn.record_usage")])
    assert {message["root_id"] for message in sent(app, "turns")} == {"t1-prefetch"}


def test_a_sub_agents_messages_have_the_first_task_of_its_tree_as_root(app: Celery) -> None:
    dispatcher = CeleryDispatcher(app, CountedIds())
    dispatcher.root = lambda each: "t0"
    dispatcher.dispatch([step("t1-prefetch", "turn.prefetch")])
    (message,) = sent(app, "turns")
    assert message["root_id"] == message["chain"][0]["options"]["root_id"] == "t0-prefetch"


def test_steps_of_a_task_are_sent_as_its_children(app: Celery) -> None:
    @app.task(name="turn.call_model", bind=True)
    def running(self: Any) -> None: ...

    dispatcher = CeleryDispatcher(app, CountedIds())
    running.push_request(id="t1-1", chain=None)
    with dispatcher.task_context(running):
        dispatcher.dispatch([step("t1-record", "turn.record_usage")])
    running.pop_request()
    dispatcher.dispatch([step("t2-record", "turn.record_usage")])
    child, other = sent(app, "turns")
    assert (child["parent_id"], child["root_id"], other["parent_id"]) == ("t1-1", "t1-prefetch", None)


def test_flower_gets_names_and_ids_and_the_body_only_the_step(app: Celery) -> None:
    dispatcher = CeleryDispatcher(app, CountedIds())
    dispatcher.dispatch([step("t1-prefetch", "turn.prefetch")])
    dispatcher.describe = lambda each: f"tool=terminal {each.id}"
    dispatcher.dispatch([step("t1-1-0", "turn.run_tool")])
    (first,) = sent(app, "turns")
    (call,) = sent(app, "tools")
    assert (first["argsrepr"], first["kwargsrepr"]) == ("('t1-prefetch',)", "session=s")
    assert first["chain"][0]["options"]["kwargsrepr"] == "session=s"
    assert (call["kwargsrepr"], call["args"]) == ("tool=terminal t1-1-0", ["t1-1-0"])


def test_the_next_message_of_a_chain_has_the_newest_description(app: Celery) -> None:
    @app.task(name="turn.prefetch", bind=True)
    def running(self: Any) -> None: ...

    dispatcher = CeleryDispatcher(app, CountedIds())
    dispatcher.describe = lambda each: "model=m"
    running.push_request(id="t1-prefetch", chain=[{"options": {"kwargsrepr": "session=s"}}])
    dispatcher.describe_next(running, step("t1-prefetch", "turn.prefetch"))
    assert running.request.chain == [{"options": {"kwargsrepr": "model=m"}}]
    running.pop_request()


def test_a_repeated_message_gets_a_new_id(app: Celery) -> None:
    dispatcher = CeleryDispatcher(app, CountedIds())
    dispatcher.dispatch([step("t1-2", "turn.call_model")])
    dispatcher.dispatch([step("t1-2", "turn.call_model", attempt=2)])
    dispatcher.send_again([step("t1-2", "turn.call_model")])
    ids = [message["id"] for message in sent(app, "turns")]
    assert len(set(ids)) == 3
    assert ids[0] == "t1-2"
    assert all(again.startswith("t1-2~") for again in ids[1:])


def test_a_broker_that_is_away_is_no_error() -> None:
    app = make_app("redis://127.0.0.1:1/0", prefix="")
    assert CeleryDispatcher(app, CountedIds()).send_again([step("t1-2", "turn.call_model")]) is False
    app.close()
