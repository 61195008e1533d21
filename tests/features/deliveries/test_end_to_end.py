"""From a turn's end to its targets, by a worker: apart from the turn, again and again, once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.deliveries.events import stream_of
from hermes_jobs.features.deliveries.rules import MAX_ATTEMPTS
from hermes_jobs.features.deliveries.tables import count_unread, select_deliveries, select_delivery
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.features.deliveries.http_server import Receiver, Reply
from tests.features.deliveries.letters import NOON
from tests.manual_clock import ManualClock
from tests.model_script import Answer, Refuse, Rule, Script
from tests.model_server import ModelServer

SECRET = "nobody-may-ever-see-this-secret"


class SteppingClock(ManualClock):
    """The test moves the time; what the process waits for runs by the host's own clock."""

    def monotonic(self) -> float:
        return time.monotonic()


class Desk:
    """An installation with a worker, and a clock of the test's own."""

    def __init__(
        self, application: Application, clock: SteppingClock, worker: InlineWorker, environ: dict[str, str]
    ) -> None:
        self.application = application
        self.clock = clock
        self.worker = worker
        self.environ = environ

    def ask(self, text: str, *targets: str) -> str:
        """A turn that is answered, and whose deliveries are tried once; the first one's id."""
        name = self.application.ids.name
        turn = name("t")
        work = str(self.application.settings.paths.home.parent)
        command = e.TurnSubmitted(
            turn=turn,
            session=name("s"),
            text=text,
            source="test",
            opening=e.Opening(workdir=work),
            deliver=targets,
        )
        self.worker.engine.submit(command)
        self.worker.drain()
        return f"d{turn}x0x0"

    def state(self, delivery: str) -> Any:
        """The delivery as the log has it."""
        return self.worker.engine.state(stream_of(delivery))

    def later(self, delivery: str) -> None:
        """The next attempt's time comes."""
        self.clock.moment = max(self.clock.moment, self.state(delivery).retry_at)
        self.worker.drain()


@pytest.fixture
def desk(tmp_path: Path, model_server: ModelServer) -> Iterator[Desk]:
    environ = {
        "HOME": str(tmp_path),
        "HERMES_JOBS_HOME": str(tmp_path / "home"),
        "OPENAI_API_KEY": "sk-nobody",
        "OPENAI_BASE_URL": model_server.base_url,
        "WEBHOOK_SECRET": SECRET,
    }
    clock = SteppingClock(NOON)
    with (
        closing(Application(load(environ), environ, clock=clock)) as application,
        InlineWorker(application) as worker,
    ):
        yield Desk(application, clock, worker, environ)


def test_one_answer_reaches_all_its_targets(desk: Desk, tmp_path: Path) -> None:
    with Receiver() as receiver:
        delivery = desk.ask("Hello", "cli", "file:answers.md", f"webhook:{receiver.url}")
    assert "You said: Hello" in (tmp_path / "answers.md").read_text()
    (got,) = receiver.received
    assert json.loads(got.body)["data"]["text"] == "You said: Hello"
    views = desk.application.views
    turn = views.read(select_delivery, delivery).turn
    assert {
        each.target.partition(":")[0]: each.status for each in views.read(select_deliveries, turn=turn)
    } == {
        "cli": "unread",
        "file": "sent",
        "webhook": "sent",
    }
    assert views.read(count_unread) == 1
    report = verify(desk.application.log)  # type: ignore[arg-type]
    assert report.is_sound, report.findings


def test_a_failed_delivery_does_not_affect_its_turn(desk: Desk, tmp_path: Path) -> None:
    delivery = desk.ask("Hello", "file:missing/answers.md")
    views = desk.application.views
    state = desk.state(delivery)
    assert views.turn(state.requested.turn).status == "completed"
    assert (state.status, state.failures) == ("waiting", 1)
    assert "No such file or directory" in views.read(select_delivery, delivery).message
    desk.worker.drain()
    assert desk.state(delivery).failures == 1, "it is not tried before its time"
    (tmp_path / "missing").mkdir()
    desk.later(delivery)
    assert desk.state(delivery).status == "sent"
    assert (tmp_path / "missing" / "answers.md").read_text().count("You said: Hello") == 1


def test_an_undeliverable_answer_is_given_up_after_a_day_and_left_in_the_inbox(desk: Desk) -> None:
    begun = desk.clock.moment
    delivery = desk.ask("Hello", "file:missing/answers.md")
    while desk.state(delivery).status == "waiting":
        desk.later(delivery)
    assert desk.state(delivery).failures == MAX_ATTEMPTS
    assert 18 * 3600 < desk.clock.moment - begun < 30 * 3600
    assert [each.delivery for each in desk.application.views.read(select_deliveries, inbox=True)] == [
        delivery
    ]


def test_a_webhook_s_retry_after_is_kept_to(desk: Desk) -> None:
    with Receiver() as receiver:
        receiver.replies.extend([Reply(503, {"retry-after": "300"}), Reply(204)])
        delivery = desk.ask("Hello", f"webhook:{receiver.url}")
        assert desk.state(delivery).retry_at == desk.clock.moment + 300
        desk.later(delivery)
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivery
    assert desk.state(delivery).status == "sent"


def test_a_failed_turn_is_delivered_too(desk: Desk, model_server: ModelServer) -> None:
    model_server.follow(Script(rules=(Rule("Break", (Refuse(status=400, message="no"),)),)))
    delivery = desk.ask("Break", "cli")
    requested = desk.state(delivery).requested
    assert not requested.ok
    assert requested.text.startswith("This request failed: ")


def test_a_silent_answer_goes_nowhere(desk: Desk, model_server: ModelServer) -> None:
    model_server.follow(Script(default=Answer(text=" [SILENT]\n")))
    delivery = desk.ask("Anything new?", "cli")
    assert desk.state(delivery).requested is None
    assert desk.application.views.read(count_unread) == 0


def test_a_process_without_the_secret_leaves_a_delivery_to_one_that_has_it(desk: Desk) -> None:
    environ = {name: value for name, value in desk.environ.items() if name != "WEBHOOK_SECRET"}
    with (
        Receiver() as receiver,
        closing(Application(load(environ), environ, clock=desk.clock)) as application,
        InlineWorker(application) as without,
    ):
        other = Desk(application, desk.clock, without, environ)
        delivery = other.ask("Hello", f"webhook:{receiver.url}")
        assert (other.state(delivery).status, other.state(delivery).failures) == ("waiting", 0)
        desk.worker.drain()
        assert desk.state(delivery).status == "sent"
    assert len(receiver.received) == 1


def test_where_no_process_has_the_secret_the_delivery_says_so(desk: Desk) -> None:
    delivery = desk.ask("Hello", "telegram:12")
    assert desk.state(delivery).failures == 1
    assert "TELEGRAM_BOT_TOKEN" in desk.state(delivery).message


def test_a_failed_attempt_is_the_result_of_its_step(desk: Desk) -> None:
    delivery = desk.ask("Hello", "telegram:12")
    desk.clock.moment = desk.state(delivery).retry_at
    [row] = desk.application.log.due(desk.clock.now(), stream=stream_of(delivery))
    assert desk.worker.engine.run(row.step.stream, row.step.id) == "failed"


def test_a_recorded_failure_has_no_secret(desk: Desk, tmp_path: Path) -> None:
    with Receiver() as receiver:
        receiver.replies.append(Reply(500))
        desk.ask("Hello", f"webhook:{receiver.url}", "telegram:12")
    for path in (tmp_path / "home").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
