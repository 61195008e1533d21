"""A turn is one trace, whoever worked on it, and says nothing of what was said unless it is asked to."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from hermes_jobs.features.tracing.spans import root_id, trace_id
from hermes_jobs.features.tracing.tracing import Tracing
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.settings import Secrets
from tests.e2e.invariants import facts_of
from tests.home import KEY, Home, endpoint
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.processes import ROOT
from tests.telemetry.collector import Collector, Span
from tests.tools.support import wait_until
from tests.written_home import WrittenHome

CALL = AskedCall("terminal", {"command": "echo a-very-private-thing"})
BAD = AskedCall("read_file", {"path": "no-such-file"})
SCRIPT = Script(
    rules=(
        Rule("Look", (Answer(tool_calls=(CALL, BAD)), Answer(text="A private answer."))),
        Rule("Wait", (Hold(),)),
    )
)
ALL_HEADERS = {"OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_REQUEST": ".*"}
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "scripted",
    "gen_ai.response.model": "scripted",
}


def claude(model: str, _purpose: str) -> str:
    return f"anthropic of {model}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer, collector: Collector) -> Home:
    model_server.follow(SCRIPT)
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "my-agent"}
    return Home(tmp_path, {**endpoint(model_server.base_url), **environ})


def assert_one_trace(spans: list[Span], turn: str) -> Span:
    """All spans are of that turn, those of its steps below its own, requests below model calls; its own."""
    assert {span.trace for span in spans} == {f"{trace_id(turn):032x}"}
    by_id = {span.id: span for span in spans}
    assert len(by_id) == len(spans)
    [own] = [span for span in spans if not span.parent]
    assert own.id == f"{root_id(turn, 0):016x}"
    assert all(span.parent in by_id for span in spans if span is not own)
    steps = [span for span in spans if span.name.startswith(("chat", "execute_tool"))]
    assert {span.parent for span in steps} == {own.id}
    assert all(own.start <= span.start <= span.end <= own.end for span in steps)
    assert {by_id[span.parent].name for span in spans if span.name == "POST"} <= {"chat scripted"}
    return own


def above(span: Span, spans: list[Span]) -> list[str]:
    """The names from that span's parent up to the turn's own."""
    by_id = {each.id: each for each in spans}
    names = []
    while span.parent:
        span = by_id[span.parent]
        names.append(span.name)
    return names


@pytest.mark.slow
def test_a_turn_is_a_trace_without_content(home: Home, collector: Collector) -> None:
    done = home.send("Look", OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20collectors-own-token")
    own = assert_one_trace(collector.spans, done["turn"])
    assert own.name == "invoke_agent hermes-jobs"
    assert (
        own.attributes.items()
        >= {
            "gen_ai.agent.name": "hermes-jobs",
            "gen_ai.conversation.id": done["session"],
            "gen_ai.usage.input_tokens": done["usage"]["prompt_tokens"],
            "gen_ai.usage.output_tokens": done["usage"]["output_tokens"],
        }.items()
    )
    chats = collector.named("chat")
    assert [span.name for span in chats] == ["chat scripted"] * 2
    assert all(span.attributes.items() >= CHAT.items() for span in chats)
    assert chats[1].attributes["gen_ai.response.finish_reasons"] == ["stop"]
    tools = collector.named("execute_tool")
    assert {(span.name, span.failed) for span in tools} == {
        ("execute_tool terminal", False),
        ("execute_tool read_file", True),
    }
    assert all(span.resource["service.name"] == "my-agent" for span in collector.spans)
    assert collector.headers[0]["authorization"] == "Bearer collectors-own-token"
    told = repr(collector.spans)
    assert not [text for text in ("private", "Look", KEY) if text in told]
    assert home.files_holding("collectors-own-token") == []


def once_begun(names: list[str]) -> list[str]:
    """The names with one prefetch: where a worker is slow to begin, it is told of the turn once more."""
    later = [name for name in names if not name.endswith("turn.prefetch")]
    return [*later, *dict.fromkeys(name for name in names if name not in later)]


@pytest.mark.slow
def test_tasks_and_requests_are_in_the_turns_trace(home: Home, collector: Collector) -> None:
    with home.start("up", "--no-flower", "--no-beat", **ALL_HEADERS) as running:
        running.wait_for("hermes-jobs is up")
        done = home.send("Look")
        running.signal(signal.SIGTERM)
        assert running.end().code == 0
    spans = collector.spans
    own = assert_one_trace(spans, done["turn"])
    ran = once_begun([span.name for span in collector.named("run/")])
    sent = once_begun([span.name for span in collector.named("apply_async/")])
    assert sorted(ran) == [
        "run/turn.call_model",
        "run/turn.call_model",
        "run/turn.prefetch",
        "run/turn.record_usage",
        "run/turn.run_tool",
        "run/turn.run_tool",
    ]
    assert sorted(sent) == sorted(name.replace("run/", "apply_async/", 1) for name in ran)
    begun = collector.named("run/turn.prefetch")[0]
    assert above(begun, spans) == ["apply_async/turn.prefetch", own.name]
    tool = collector.named("run/turn.run_tool")[0]
    assert above(tool, spans)[:2] == ["apply_async/turn.run_tool", "run/turn.call_model"]
    posts = collector.named("POST")
    assert len(posts) == 2
    assert {post.attributes["http.request.header.authorization"][0] for post in posts} == {
        "Bearer [REDACTED]"
    }
    assert KEY not in repr(spans)


def test_a_secret_reaches_no_collector(log: SqlEventLog, model_server: ModelServer) -> None:
    spans = InMemorySpanExporter()
    hidden = Secrets({"OPENAI_API_KEY": KEY}).redact
    tracing = Tracing(log, version="1", content=False, redact=hidden, provider=claude, exporter=spans)

    async def ask() -> None:
        async with httpx2.AsyncClient() as client:
            tracing.watch_client(client)
            await client.get(f"{model_server.base_url}/{KEY}?code=what-no-pattern-knows")
            with pytest.raises(httpx2.UnsupportedProtocol):
                await client.get(f"gopher://{KEY}@example.org/")

    asyncio.run(ask())
    tracing.close()
    answered, failed = spans.get_finished_spans()
    assert answered.attributes is not None
    assert answered.attributes["http.url"] == f"{model_server.base_url}/[REDACTED]"
    assert failed.status.status_code is StatusCode.ERROR
    told = answered.to_json() + failed.to_json()
    assert not [text for text in (KEY, "what-no-pattern-knows") if text in told]


@pytest.mark.parametrize("content", [True, False])
def test_content_is_exported_on_request(tmp_path: Path, content: bool) -> None:
    lived = WrittenHome(tmp_path)
    lived.submit("s1", "t1", "a private question")
    lived.prefetch("s1")
    lived.reply("s1", "I look.", "terminal")
    lived.run_tool("s1", "a private result")
    lived.reply("s1", "a private answer")
    lived.record("s1")
    facts = [recorded.event for recorded in lived.log.read("session-s1")]
    spans = InMemorySpanExporter()
    tracing = Tracing(lived.log, version="1", content=content, redact=str, provider=claude, exporter=spans)
    tracing.on_append(Session(stream="session-s1"), facts, lived.session("s1"))
    tracing.close()
    lived.close()
    names = [span.name for span in spans.get_finished_spans()]
    assert names == ["chat m", "execute_tool terminal", "chat m", "invoke_agent hermes-jobs"]
    told = repr([dict(span.attributes or {}) for span in spans.get_finished_spans()])
    for text in ("a private question", "a private result", "a private answer"):
        assert (text in told) is content
    providers = [(span.attributes or {}).get("gen_ai.provider.name") for span in spans.get_finished_spans()]
    assert providers == ["anthropic of m", None, "anthropic of m", "anthropic of m"]


@pytest.mark.slow
def test_the_trace_continues_in_another_process(
    home: Home, collector: Collector, model_server: ModelServer
) -> None:
    with home.start("send", "--json", "Wait") as running:

        def asked() -> bool:
            if not (home.path / "events.db").exists():
                return False
            with home.open_log() as log:
                return any(isinstance(fact, e.ModelCallStarted) for fact in facts_of(log)[-1:])

        wait_until(asked, "the call")
        running.signal(signal.SIGKILL)
        running.end()
    model_server.release()
    [turn] = home.run("turns", "list", "--json").json
    assert home.run("turns", "wait", turn["turn"], "-q").out == "Released.\n"
    assert_one_trace(collector.spans, turn["turn"])
    died, answered = collector.named("chat")
    assert (died.failed, died.attributes["error.type"]) == (True, "abandoned")
    assert (answered.failed, answered.attributes["hermes_jobs.attempt"]) == (False, 2)
    assert died.end <= answered.start


@pytest.mark.slow
def test_a_missing_collector_does_no_harm(home: Home, collector: Collector) -> None:
    collector.close()
    done = home.run("send", "Look")
    assert (done.code, done.out) == (0, "A private answer.\n")
    assert "Traceback" not in done.err


def test_nothing_is_imported_where_no_collector_is_configured(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from hermes_jobs.settings import load\n"
        "from hermes_jobs.bootstrap import Application\n"
        "environ = {'HERMES_JOBS_HOME': sys.argv[1]}\n"
        "installation = Application(load(environ), environ)\n"
        "installation.engine()\n"
        "assert installation.shared.tracing is None\n"
        "installation.close()\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
