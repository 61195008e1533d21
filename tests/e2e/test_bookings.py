"""What the server says was used is what is booked, and what `usage` shows, whatever happened to the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.usage.tables.estimates import select_estimates
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.llm.usage import canonical_usage
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.e2e.invariants import facts_of
from tests.home import PATIENCE, endpoint
from tests.model_script import Action, Answer, AskedCall, Drop, Hold, Raw, Refuse, Script, Seen
from tests.model_server import ModelServer

AGAIN = Refuse(status=503, headers={"retry-after": "0"})
LIST = AskedCall("terminal", {"command": "echo hello"})
WRONG = AskedCall("no_such_tool", {})


def used(prompt: int, completion: int, cached: int = 0) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def billed_and_broken(usage: dict[str, Any]) -> Raw:
    """A stream that tells its usage and then an error."""
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": "I be"}}], "usage": usage},
        {"error": {"message": "Content filter", "code": "content_filter"}},
    ]
    return Raw(body="".join(f"data: {msgspec.json.encode(chunk).decode()}\n\n" for chunk in chunks))


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Texts of one session, the server's actions, what it billed outside of answers, and how turns end."""

    name: str
    actions: tuple[Action, ...]
    texts: tuple[str, ...] = ("Hello",)
    billed: tuple[dict[str, Any], ...] = ()
    ends: tuple[type[e.Event], ...] = (e.TurnCompleted,)
    environ: dict[str, str] = {}
    num_estimated: int = 0


CASES = (
    Case(name="a plain answer", actions=(Answer(text="Yes.", usage=used(100, 5, 60)),)),
    Case(name="counted by the server", actions=(Answer(text="Yes."),)),
    Case(name="retries", actions=(AGAIN, AGAIN, Answer(text="Yes.", usage=used(90, 4)))),
    Case(
        name="continuations",
        actions=(
            Answer(text="One, ", finish_reason="length", usage=used(100, 10)),
            Answer(text="two, ", finish_reason="length", usage=used(110, 10, 100)),
            Answer(text="three.", usage=used(120, 3, 110)),
        ),
    ),
    Case(
        name="an answer asked for again",
        actions=(Answer(text="", usage=used(50, 0)), Answer(text="Yes.", usage=used(60, 2))),
    ),
    Case(
        name="a tool call that was cut",
        actions=(
            Answer(tool_calls=(LIST,), finish_reason="length", usage=used(70, 50)),
            Answer(tool_calls=(LIST,), usage=used(70, 60)),
            Answer(text="Hello.", usage=used(140, 4, 70)),
        ),
    ),
    Case(
        name="several turns",
        texts=("Hello", "And again"),
        actions=(Answer(text="Yes.", usage=used(10, 1)), Answer(text="No.", usage=used(20, 1, 10))),
        ends=(e.TurnCompleted, e.TurnCompleted),
    ),
    Case(
        name="a turn that fails of its tool calls",
        actions=tuple(Answer(tool_calls=(WRONG,), usage=used(30 + at, at)) for at in range(3)),
        ends=(e.TurnFailed,),
    ),
    Case(
        name="a turn that fails of empty answers",
        actions=tuple(Answer(text="", usage=used(30 + at, at)) for at in range(3)),
        ends=(e.TurnFailed,),
    ),
    Case(name="a refusal", actions=(Refuse(status=401, message="No."),), ends=(e.TurnFailed,)),
    Case(
        name="a failure after it was billed",
        actions=(billed_and_broken(used(80, 7)),),
        billed=(used(80, 7),),
        ends=(e.TurnFailed,),
    ),
    Case(
        name="an answer that broke off",
        actions=(Drop(text="I begin"), Answer(text="Yes.", usage=used(40, 2))),
        num_estimated=1,
    ),
    Case(
        name="the Responses API",
        actions=(
            Answer(
                text="Yes.",
                usage={
                    "input_tokens": 75,
                    "input_tokens_details": {"cached_tokens": 11},
                    "output_tokens": 9,
                    "output_tokens_details": {"reasoning_tokens": 3},
                },
            ),
        ),
        environ={"HERMES_JOBS_MODEL__API": "responses"},
    ),
    Case(
        name="a review afterwards",
        actions=(Answer(text="Yes.", usage=used(100, 5)), Answer(text="Nothing.", usage=used(200, 1))),
        environ={"HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "1"},
        ends=(e.TurnCompleted, e.TurnCompleted),
    ),
)


def window(application: Application, model: str) -> int:
    return application.endpoints.by_name.window_of(model)


@contextmanager
def installed(folder: Path, server: ModelServer, **environ: str) -> Iterator[Application]:
    settings = load({**endpoint(server.base_url), **environ}, home=folder / "home")
    application = Application(settings, {"HOME": str(folder), "PATH": "/usr/bin:/bin"})
    try:
        yield application
    finally:
        application.close()


def submit(application: Application, turn: str, text: str) -> None:
    application.engine().submit(e.TurnSubmitted(turn=turn, session="s1", text=text, source="cli"))


def work(application: Application, done: Callable[[], bool] | None = None) -> None:
    with InlineWorker(application) as worker:
        assert worker.work(done or (lambda: not application.log.steps()), seconds=PATIENCE)


def assert_booked(
    application: Application, server: ModelServer, billed: tuple[dict[str, Any], ...] = ()
) -> None:
    """The server's sum is the sum of `usage`, of the turns' books, and of the day's account."""
    reported = sum(map(canonical_usage, (*server.reported, *billed)), NO_USAGE)
    for key in ("day", "session", "model", "purpose"):
        rows = application.views.read(select_spending, by=key)
        assert sum((row.usage for row in rows), NO_USAGE) == reported, key
    facts = facts_of(application.log)
    recorded = [fact for fact in facts if isinstance(fact, e.UsageRecorded)]
    apart = [fact.usage for fact in facts if isinstance(fact, e.ResponseBooked) and fact.turn is None]
    names = Usage.__struct_fields__
    booked = sum((Usage(*(getattr(fact, name) for name in names)) for fact in recorded), NO_USAGE)
    assert sum(apart, booked) == reported
    estimated = sum((fact.estimated.total_tokens for fact in recorded), 0)
    assert (
        sum(each.input_tokens + each.output_tokens for each in application.views.read(select_estimates))
        == estimated
    )
    spent = sum(
        application.log.account(f"session-{session.lineage}").spent.tokens
        for session in application.views.sessions(hidden=True)
    )
    assert spent == reported.total_tokens + estimated
    assert isinstance(application.log, SqlEventLog)
    assert verify(application.log).findings == ()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_reported_usage_is_booked_unchanged(tmp_path: Path, model_server: ModelServer, case: Case) -> None:
    model_server.follow(
        Script(sequence=case.actions, default=Refuse(status=400, message="The script ended."))
    )
    with installed(tmp_path, model_server, **case.environ) as application:
        for number, text in enumerate(case.texts):
            submit(application, f"t{number}", text)
        work(application)
        facts = facts_of(application.log)
        ends = [type(fact) for fact in facts if isinstance(fact, e.TurnCompleted | e.TurnFailed)]
        assert ends == list(case.ends)
        assert len(application.views.read(select_estimates)) == case.num_estimated
        assert_booked(application, model_server, case.billed)


def test_a_cancelled_call_is_booked_as_an_estimate_beside_reported_ones(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.follow(
        Script(sequence=(Answer(tool_calls=(LIST,), usage=used(100, 9)), Hold(first="I begin to")))
    )
    with installed(tmp_path, model_server) as application:
        submit(application, "t0", "Hello")
        cancels = iter([c.CancelTurn(turn="t0", by="user")])

        def done() -> bool:
            if len(model_server.requests) == 2:
                for cancel in cancels:
                    application.engine().execute("session-s1", cancel)
            return not application.log.steps()

        work(application, done)
        model_server.wait_until(lambda: model_server.disconnects == 1)
        (estimate,) = application.views.read(select_estimates)
        assert (estimate.turn, estimate.step, estimate.reason) == ("t0", "t0-2", "it was cancelled")
        assert estimate.input_tokens > 0
        assert_booked(application, model_server)


def test_a_call_left_by_a_worker_that_stops_is_estimated_and_called_again(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.follow(Script(sequence=(Hold(),), default=Answer(text="Yes.", usage=used(100, 5))))
    with installed(tmp_path, model_server) as application:
        submit(application, "t0", "Hello")
        work(application, lambda: len(model_server.requests) == 1)
        model_server.wait_until(lambda: model_server.disconnects == 1)
        (estimate,) = application.views.read(select_estimates)
        assert estimate.reason == "its worker was stopped"
        work(application)
        assert len(model_server.requests) == 2
        assert_booked(application, model_server)


TOO_LONG = {
    "code": 400,
    "message": "the request exceeds the available context size, try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 50_000,
    "n_ctx": 16_000,
}


def test_a_compression_is_booked_and_the_window_that_made_it_necessary_is_remembered(
    tmp_path: Path, model_server: ModelServer
) -> None:
    texts = [f"text {number} " + "and so on " * 600 for number in range(8)]

    def choose(seen: Seen) -> Action:
        if seen.number == len(texts) - 1:
            return Refuse(status=400, body={"error": TOO_LONG})
        return Answer(text="word " * 300, usage=used(1000 + seen.number, 10 + seen.number, seen.number))

    model_server.follow(choose)
    environ = {
        "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "1",
        "HERMES_JOBS_BUDGETS__TURN_TOKENS": "1000000",
    }
    with installed(tmp_path, model_server, **environ) as application:
        for number, text in enumerate(texts):
            submit(application, f"t{number}", text)
        assert window(application, "scripted") == 128_000
        work(application)
        facts = facts_of(application.log)
        assert [fact.reason for fact in facts if isinstance(fact, e.CompressionRequested)] == ["overflow"]
        assert all(fact.reserved for fact in facts if isinstance(fact, e.CompressionStarted))
        (learned,) = [fact for fact in facts if isinstance(fact, e.WindowLearned)]
        assert (learned.model, learned.window, learned.assumed) == ("scripted", 16_000, 128_000)
        assert "compression" in [row.key for row in application.views.read(select_spending, by="purpose")]
        assert_booked(application, model_server)
    with installed(tmp_path, model_server) as restarted:
        assert window(restarted, "scripted") == 16_000
        assert window(restarted, "another") == 128_000
    with installed(tmp_path, model_server, HERMES_JOBS_MODEL__CONTEXT_LENGTH="32000") as told_otherwise:
        assert window(told_otherwise, "scripted") == 32_000


def test_large_results_take_less_room_where_the_window_is_small(
    tmp_path: Path, model_server: ModelServer
) -> None:
    for number, (window, result_chars, turn_chars) in enumerate(
        [(1_000_000, 100_000, 200_000), (100_000, 60_000, 120_000), (8_000, 8_000, 16_000)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        with installed(folder, model_server, HERMES_JOBS_MODEL__CONTEXT_LENGTH=str(window)) as application:
            submit(application, "t0", "Hello")
            work(application)
            (begun,) = [fact for fact in facts_of(application.log) if isinstance(fact, e.ContextPrefetched)]
            assert (begun.result_chars, begun.turn_chars) == (result_chars, turn_chars)
