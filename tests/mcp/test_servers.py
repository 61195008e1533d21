"""Servers and their connectors: shared, kept warm, restarted, ended with all that they started."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from hermes_jobs.features.mcp.messages import CallTool, Failed, Offer, Result, decode_response, frame, receive
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.features.mcp.start import connected
from hermes_jobs.kernel.engine.in_flight import CancelToken
from tests.mcp.conftest import TestServer, is_alive, wait_until_gone
from tests.processes import ROOT
from tests.tools.support import processes_with, wait_until


def failed(reply: object) -> Failed:
    assert isinstance(reply, Failed), reply
    return reply


def test_it_is_started_when_first_wanted_and_answers(server: TestServer) -> None:
    assert server.starts == []
    offer = server.offer()
    assert isinstance(offer, Offer)
    assert (offer.protocol, offer.version) == ("2025-11-25", "test 1")
    assert server.text(server.call("echo", b'{"text": "hello"}')) == "hello"
    assert len(server.starts) == 1


def test_two_workers_share_one_server(server: TestServer) -> None:
    other = Servers(server.servers._folder)
    server.call("echo", b'{"text": "1"}')
    asked = CallTool(tool="echo", arguments=b'{"text": "2"}', timeout=60)
    other.call(server.launch(), asked, CancelToken())
    assert len(server.starts) == 1
    server.servers.close()
    assert is_alive(server.starts[0])
    other.close()
    wait_until_gone(*server.starts)


def test_many_calls_at_once_start_it_once_and_run_side_by_side(server: TestServer) -> None:
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda: results.append(server.text(server.call("slow", b'{"text": "go"}'))))
        for _ in range(8)
    ]
    for each in threads:
        each.start()
    wait_until(lambda: len(server.calls) == 8, "eight calls")
    (server.folder / "go").touch()
    for each in threads:
        each.join()
    assert results == ["at last"] * 8
    assert len(server.starts) == 1


@pytest.mark.slow
def test_another_environment_is_another_server(server: TestServer) -> None:
    server.call("echo", b'{"text": "1"}')
    server.call("echo", b'{"text": "2"}', launch=server.launch(COLOUR="blue"))
    assert len(server.starts) == 2


def test_it_gets_no_environment_but_its_own(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    seen = msgspec.json.decode(server.text(server.call("environment", launch=server.launch(COLOUR="blue"))))
    assert seen["COLOUR"] == "blue"
    assert "OPENAI_API_KEY" not in seen
    assert not [name for name in seen if name.startswith("PYTEST")]


def test_a_server_that_dies_in_a_call_is_reported_and_restarted(server: TestServer) -> None:
    died = failed(server.call("die"))
    assert (died.kind, died.sent) == ("lost", True)
    assert "exit code 3" in died.message
    assert "I cannot continue" in died.stderr
    assert server.text(server.call("echo", b'{"text": "back"}')) == "back"
    assert len(server.starts) == 2


def test_a_server_that_cannot_start_is_reported_with_its_last_lines(server: TestServer) -> None:
    launch = msgspec.structs.replace(
        server.launch(), command="sh", args=("-c", "echo no such luck >&2; exit 7")
    )
    why = failed(server.offer(launch))
    assert why.kind == "start"
    assert "exit code 7" in why.message
    assert why.stderr == "no such luck"


def test_a_missing_program_is_reported(server: TestServer) -> None:
    why = failed(server.offer(msgspec.structs.replace(server.launch(), command="no-such-program")))
    assert "no-such-program could not be started: no program of that name" in why.message


@pytest.mark.slow
def test_a_failing_server_is_restarted_with_growing_pauses(server: TestServer) -> None:
    launch = msgspec.structs.replace(server.launch(), command="sh", args=("-c", "echo >> starts; exit 7"))
    messages = [failed(server.offer(launch)).message for _ in range(6)]
    assert "in a row; it is started again in" in messages[-1]
    assert len((server.folder / "starts").read_bytes()) < 6
    (server.folder / "starts").unlink()


@pytest.mark.slow
def test_a_silent_server_is_given_up(server: TestServer) -> None:
    why = failed(server.offer(server.launch(start_timeout=0.5, SILENT="1")))
    assert "did not list its tools within 0.5 s" in why.message
    wait_until_gone(*server.starts)


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_given_up_and_the_server_keeps_running(server: TestServer) -> None:
    why = failed(server.call("slow", b'{"text": "never"}', timeout=0.2))
    assert (why.kind, why.sent) == ("timeout", True)
    assert server.text(server.call("echo", b'{"text": "still here"}')) == "still here"
    assert len(server.starts) == 1


def test_a_call_that_is_cancelled_returns_at_once(server: TestServer) -> None:
    cancel = CancelToken()
    replies: list[object] = []
    thread = threading.Thread(
        target=lambda: replies.append(server.call("slow", b'{"text": "never"}', cancel=cancel))
    )
    thread.start()
    wait_until(lambda: len(server.calls) == 1, "a call")
    cancel.fire("cancelled")
    thread.join()
    assert failed(replies[0]).sent


def test_a_flood_is_refused_and_the_next_call_works(server: TestServer) -> None:
    why = failed(server.call("flood"))
    assert "more than 16 MiB in one message" in why.message
    assert server.text(server.call("echo", b'{"text": "dry"}')) == "dry"


def test_a_server_that_prints_to_stdout_works_and_its_log_says_so(server: TestServer) -> None:
    launch = server.launch(NOISE="1")
    assert server.text(server.call("echo", b'{"text": "hello"}', launch=launch)) == "hello"
    assert "[on stdout, and no message] Welcome" in server.servers.log_of(launch).read_text()


def test_an_invalid_answer_is_reported(server: TestServer) -> None:
    why = failed(server.offer(server.launch(RUBBISH="1", NOISE="1")))
    assert why.kind == "start"
    assert "such as 'Welcome to the test server!'" in why.message


def test_a_malformed_tool_is_left_out_and_the_others_are_called(server: TestServer) -> None:
    schema = {"type": "object"}
    tools = [
        {"name": "bad", "inputSchema": schema, "annotations": {"readOnlyHint": "often"}},
        {"name": "echo", "inputSchema": schema},
        {"name": "without"},
        {"inputSchema": schema},
        "rubbish",
        {"name": "fail", "inputSchema": schema},
    ]
    (server.folder / "tools.json").write_text(json.dumps(tools))
    offer = server.offer()
    assert isinstance(offer, Offer)
    assert [each["name"] for each in decode_response(offer.tools)] == ["echo", "fail"]
    wrong = dict(offer.malformed)
    assert list(wrong) == ["bad", "without", "number 4 of the list", "number 5 of the list"]
    assert "(annotations.readOnlyHint: " in wrong["bad"]
    assert "(inputSchema: Field required)" in wrong["without"]
    assert "(name: Field required)" in wrong["number 4 of the list"]
    assert server.text(server.call("echo", b'{"text": "hello"}')) == "hello"
    assert "not listed" not in server.text(server.call("note", b'{"text": "unlisted"}'))


def test_an_invalid_list_is_reported_with_its_place(server: TestServer) -> None:
    (server.folder / "tools.json").write_text('{"echo": 1}')
    assert "(tools: Input should be a valid list)" in failed(server.offer()).message


def test_malformed_prompts_and_resources_cost_no_others(server: TestServer) -> None:
    prompts = [{"name": "fine"}, {"description": "without a name"}]
    resources = [{"uri": "note://a", "name": "a"}, {"name": "nowhere"}]
    (server.folder / "prompts.json").write_text(json.dumps(prompts))
    (server.folder / "resources.json").write_text(json.dumps(resources))
    offer = server.offer()
    assert isinstance(offer, Offer)
    assert [each["name"] for each in decode_response(offer.prompts)] == ["fine"]
    found = server.servers.inquire(server.launch(), "resources", b"{}", 60, CancelToken())
    assert isinstance(found, Result)
    assert [each["name"] for each in decode_response(found.content)["resources"]] == ["a"]
    log = server.servers.log_of(server.launch()).read_text()
    assert "left out of prompts/list: number 2 of the list" in log
    assert "left out of resources/list: nowhere: " in log


@pytest.mark.slow
def test_a_list_without_an_end_is_cut(server: TestServer) -> None:
    offer = server.offer(server.launch(ENDLESS="1"))
    assert isinstance(offer, Offer)
    assert len(decode_response(offer.tools)) <= 1_000


def test_unsolicited_messages_and_unsupported_requests_are_harmless(server: TestServer) -> None:
    launch = server.launch(SHOUTS="1")
    assert server.text(server.call("echo", b'{"text": "hello"}', launch=launch)) == "hello"
    assert server.text(server.call("echo", b'{"text": "again"}', launch=launch)) == "again"
    assert len(server.starts) == 1


STATE = {"type": "object", "properties": {"state": {"enum": ["on", "off"]}}, "required": ["state"]}
SAID = [{"type": "text", "text": "all is well"}]


RESULTS: list[tuple[object, dict[str, object], str]] = [
    (STATE, {"structuredContent": {"state": "standby"}}, "$.state: 'standby' is not one of"),
    (STATE, {}, "it has no structured content"),
    (STATE, {"structuredContent": {"state": "on"}}, ""),
    (STATE, {"isError": True}, ""),
    ({"$ref": "#/$defs/gone"}, {"structuredContent": {}}, "its reference '#/$defs/gone' leads nowhere"),
    ({"type": "objekt"}, {"structuredContent": {}}, "its schema cannot be used"),
    ("rubbish", {"structuredContent": {"state": "on"}}, ""),
    ({"type": "array"}, {"structuredContent": [1, 2]}, ""),
    ({"type": "object"}, {"structuredContent": [1, 2]}, "$: [1, 2] is not of type 'object'"),
    (None, {"structuredContent": 7}, ""),
]
"""The schema of a tool's results, a result, and what the note beside it says; without a note, nothing."""


def test_a_result_against_its_schema_is_passed_on_with_a_note(server: TestServer) -> None:
    names = [f"result {number}" for number in range(len(RESULTS))]
    tools = [
        {"name": name, "inputSchema": {"type": "object"}, "outputSchema": output}
        for name, (output, _, _) in zip(names, RESULTS, strict=True)
    ]
    (server.folder / "tools.json").write_text(json.dumps(tools))
    for name, (output, result, note) in zip(names, RESULTS, strict=True):
        (server.folder / name).write_text(json.dumps({"content": SAID, **result}))
        reply = server.call(name)
        assert isinstance(reply, Result), reply
        texts = [each["text"] for each in decode_response(reply.content)["content"]]
        assert texts[0] == "all is well"
        assert any("hermes-jobs" in each for each in texts) == bool(note), (output, result)
        if note:
            assert texts[-1].startswith("[Note of hermes-jobs:")
            assert note in texts[-1]


UNREADABLE = [
    b'{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "caf\xe9"}]}}',
    b'{"jsonrpc": "2.0", "result": {"content": "caf\xe9", "id": 999}, "id": ID}',
    b'{"jsonrpc": "2.0", "id": ID, "result": {"content": [], "structuredContent": %s}}'
    % (b'{"a":' * 5_000 + b"1" + b"}" * 5_000),
    b'{"jsonrpc": "2.0", "id": ID}',
    b'{"jsonrpc": "2.0", "id": ID, "result": {"content": []',
]


def test_an_answer_that_cannot_be_read_fails_its_call_at_once(server: TestServer) -> None:
    tool = {"name": "raw", "inputSchema": {"type": "object"}}
    (server.folder / "tools.json").write_text(json.dumps([tool, {**tool, "name": "echo"}]))
    for raw in UNREADABLE:
        (server.folder / "raw").write_bytes(raw)
        why = failed(server.call("raw", timeout=100_000.0))
        assert (why.kind, why.sent) == ("bad_result", True)
        assert "not JSON in UTF-8, or nested too deep" in why.message
        assert server.text(server.call("echo", b'{"text": "still here"}')) == "still here"
    assert len(server.starts) == 1


def test_a_changed_list_is_noticed(server: TestServer) -> None:
    before = server.offer()
    reply = server.call("change", b'{"text": "Something else."}')
    assert isinstance(reply, Result)
    wait_until(lambda: server.call("echo", b'{"text": ""}').listing > 0, "the change")  # type: ignore[union-attr]
    after = server.offer()
    assert isinstance(before, Offer)
    assert isinstance(after, Offer)
    assert before.tools != after.tools
    assert b"Something else." in after.tools


@pytest.mark.slow
def test_an_idle_server_is_ended(server: TestServer) -> None:
    launch = server.launch(idle_seconds=0.2)
    server.call("echo", b'{"text": "1"}', launch=launch)
    wait_until_gone(*server.starts)
    assert server.text(server.call("echo", b'{"text": "2"}', launch=launch)) == "2"


@pytest.mark.slow
@pytest.mark.parametrize("deaf", [False, True])
def test_no_process_is_left_without_users(server: TestServer, deaf: bool) -> None:
    launch = server.launch(DEAF="1") if deaf else server.launch()
    child = int(server.text(server.call("children", launch=launch)))
    server.servers.close()
    wait_until_gone(*server.starts, child)


@pytest.mark.slow
def test_nothing_is_left_of_a_worker_that_is_killed(server: TestServer) -> None:
    launch = base64.b64encode(msgspec.json.encode(server.launch(DEAF="1"))).decode()
    code = (
        "import base64, msgspec, time; from pathlib import Path\n"
        "from hermes_jobs.features.mcp.messages import CallTool, Launch\n"
        "from hermes_jobs.features.mcp.servers import Servers\n"
        "from hermes_jobs.kernel.engine.in_flight import CancelToken\n"
        f"launch = msgspec.json.decode(base64.b64decode({launch!r}), type=Launch)\n"
        f"servers = Servers(Path({str(server.servers._folder)!r}))\n"
        "asked = CallTool(tool='children', arguments=b'{}', timeout=60)\n"
        "print(servers.call(launch, asked, CancelToken()), flush=True)\n"
        "asked = CallTool(tool='slow', arguments=b'{\"text\": \"never\"}', timeout=60)\n"
        "servers.call(launch, asked, CancelToken())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as worker:
        wait_until(lambda: len(server.calls) == 2, "two calls")
        worker.kill()
        assert worker.stdout is not None
        child = int(worker.stdout.readline().partition('"text":"')[2].partition('"')[0])
    wait_until_gone(*server.starts, child)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["connector", "supervisor"])
def test_nothing_is_left_where_a_process_between_is_killed(server: TestServer, victim: str) -> None:
    child = int(server.text(server.call("children", launch=server.launch(DEAF="1"))))
    (pid,) = server.starts
    supervisor = _parent(pid)
    os.kill(supervisor if victim == "supervisor" else _parent(supervisor), signal.SIGKILL)
    wait_until_gone(pid)
    assert server.text(server.call("echo", b'{"text": "new"}', launch=server.launch(DEAF="1"))) == "new"
    wait_until_gone(child)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.slow
def test_a_long_path_of_the_home_does_no_harm(tmp_path: Path, server: TestServer) -> None:
    servers = Servers(tmp_path / ("long" * 40) / "mcp")
    asked = CallTool(tool="echo", arguments=b'{"text": "far"}', timeout=60)
    reply = servers.call(server.launch(), asked, CancelToken())
    assert server.text(reply) == "far"
    servers.close()


def test_a_secret_of_the_server_is_not_in_its_log(server: TestServer) -> None:
    launch = msgspec.structs.replace(
        server.launch(), command="sh", args=("-c", "echo key=$KEY >&2; exit 1"), secrets=("hunter22",)
    )
    launch = msgspec.structs.replace(launch, env={**launch.env, "KEY": "hunter22"})
    assert failed(server.offer(launch)).stderr == "key=[REDACTED]"
    assert "hunter22" not in server.servers.log_of(launch).read_text()


def test_a_stranger_without_the_token_is_not_served(server: TestServer) -> None:
    server.call("echo", b'{"text": "1"}')
    log = server.servers.log_of(server.launch())
    stranger = connected(log.parent)
    assert stranger is not None
    with stranger:
        stranger.sendall(frame(CallTool(token="wrong", tool="echo", arguments=b'{"text": "2"}', timeout=60)))
        assert receive(stranger) is None
    assert len(server.calls) == 1
    assert "without the right token" in log.read_text()


def test_a_host_that_is_ending_is_waited_for(server: TestServer) -> None:
    folder = server.servers._folder
    folder.mkdir(parents=True)
    with (folder / "host.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        replies: list[object] = []
        thread = threading.Thread(target=lambda: replies.append(server.offer()))
        thread.start()
        wait_until(lambda: processes_with(f"connector_host\0{folder}") != [], "a new host")
    thread.join()
    assert isinstance(replies[0], Offer)
