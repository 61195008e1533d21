"""`up` and what it starts, as processes: everything works, comes back, and ends."""

from __future__ import annotations

import base64
import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hermes_jobs.kernel.events import ToolFinished
from hermes_jobs.runtime.broker_address import find_broker
from hermes_jobs.runtime.queues import ALL_QUEUES
from hermes_jobs.settings import Paths
from tests.gateway.bot_server import TOKEN, BotServer
from tests.home import KEY, PATIENCE, Home, Running, endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.processes import ROOT
from tests.tools.support import processes_with, wait_until
from workers.worker import FILES_A_THREAD

UP = "hermes-jobs is up"


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Iterator[Home]:
    """A home of which nothing runs after the test."""
    home = Home(tmp_path, endpoint(model_server.base_url))
    yield home
    for process in left_of(home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def left_of(home: Home) -> list[int]:
    """The living processes of this home: by their environment, or the folder of a broker, which has none."""
    brokers = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cwd").readlink() == home.path / "run":
                brokers.append(int(folder.name))
    return sorted({*brokers, *processes_with(f"HERMES_JOBS_HOME={home.path}")})


@contextlib.contextmanager
def up(home: Home, *arguments: str, **environ: str) -> Iterator[Running]:
    """An `up` that has come up."""
    with home.start("up", *arguments, **environ) as running:
        running.wait_for(UP)
        yield running


def live_workers(home: Home) -> set[str]:
    """Their names, as `queues` tells them."""
    return {worker["name"] for worker in home.run("queues", "--json").json["workers"]}


def processes_running(home: Home, words: str) -> list[int]:
    """The home's processes with these words at the end of their command line, without their guards."""
    commands = {}
    for pid in left_of(home):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            commands[pid] = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return [
        pid
        for pid, command in commands.items()
        if words in " ".join(command) and not any(part.endswith("process_guard.py") for part in command)
    ]


def processes_with_in_command_line(mark: str) -> list[str]:
    """The command lines of all processes that hold the mark."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(file.read_text(errors="replace"))
    return [command for command in found if mark in command]


ALL_TASKS = (
    "draw=1&start=0&length=100&search%5Bvalue%5D=&order%5B0%5D%5Bcolumn%5D=0&order%5B0%5D%5Bdir%5D=asc"
    "&columns%5B0%5D%5Bdata%5D=name"
)


def page(url: str, password: str | None = None) -> str:
    request = urllib.request.Request(url)
    if password is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(password.encode()).decode()}")
    with urllib.request.urlopen(request, timeout=20) as response:
        text: str = response.read().decode()
        return text


def asking_for(command: str) -> tuple[Answer, ...]:
    """A model that has one command run and then is done."""
    return (Answer(tool_calls=(AskedCall("terminal", {"command": command}),)), Answer(text="Done."))


def broker_password(home: Home) -> str:
    url = find_broker(Paths(home.path))
    assert url is not None
    return url.partition("@")[0].rpartition(":")[2]


@pytest.mark.slow
def test_it_runs_everything_says_where_and_leaves_nothing_behind(home: Home) -> None:
    port = free_port()
    with up(home, "--flower-port", str(port), "--concurrency", "4") as running:
        result = home.send("hello")
        turn = home.turn(result["turn"])
        doctor = home.run("doctor", "--live", "--json").json
        load = home.run("queues", "--json").json
        running.signal(signal.SIGINT)
        ended = running.end()

    consuming = {worker["name"] for worker in load["workers"]}
    assert {worker["kind"] for worker in load["workers"]} == {"worker"}
    assert [other["kind"] for other in load["others"]] == ["beat"]
    assert {step["worker"] for step in turn["steps"]} == consuming
    troubled = [check for check in doctor["checks"] if check["status"] != "ok"]
    assert [check for check in troubled if not check["check"].startswith("live.")] == []
    assert [queue["name"] for queue in load["queues"]] == list(ALL_QUEUES)
    assert ended.code == 0
    assert f"http://127.0.0.1:{port}" in ended.err
    assert str(home.path / "logs" / "worker.log") in ended.err
    assert left_of(home) == []
    assert home.files_holding(KEY) == []


@pytest.mark.slow
def test_flower_shows_tasks_and_all_queues_and_never_the_brokers_password(home: Home) -> None:
    port = free_port()
    flower = f"http://127.0.0.1:{port}"
    with up(home, "--flower-port", str(port)):
        turn = home.send("hello, secretly")["turn"]
        wait_until(
            lambda: all(f"<td>{name}</td>" in page(f"{flower}/broker") for name in ALL_QUEUES),
            "every queue in Flower",
        )
        wait_until(lambda: f"{turn}-1" in page(f"{flower}/tasks/datatable?{ALL_TASKS}"), "the call in Flower")
        wait_until(lambda: "SUCCESS" in page(f"{flower}/task/{turn}-1"), "its end in Flower")
        workers = msgspec.json.decode(page(f"{flower}/workers?json=1"))["data"]
        pages = ["/workers", "/tasks", "/broker", "/metrics", f"/task/{turn}-1"]
        pages += [f"/worker/{worker['hostname']}" for worker in workers]
        shown = {name: page(flower + name) for name in pages}
        password = broker_password(home)
        commands = processes_with_in_command_line(password)

    assert "turn.call_model" in shown[f"/task/{turn}-1"]
    assert [name for name, text in shown.items() if password in text or "secretly" in text] == []
    assert commands == []
    assert sorted(path.name for path in home.files_holding(password)) == ["broker.conf", "broker.json"]


@pytest.mark.slow
def test_flower_asks_for_a_password_where_one_is_set(home: Home) -> None:
    port = free_port()
    with up(home, "--flower-port", str(port), FLOWER_BASIC_AUTH="anna:sesame"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            page(f"http://127.0.0.1:{port}/workers")
        refused.value.close()
        shown = page(f"http://127.0.0.1:{port}/workers", "anna:sesame")
        commands = processes_with_in_command_line("sesame")

    assert refused.value.code == 401
    assert "worker" in shown
    assert commands == []


def status(port: int, path: str, host: str, *lines: str) -> int:
    """The status of a request that names this host."""
    head = "\r\n".join((f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *lines, "", ""))
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(head.encode())
        return int(client.makefile("rb").readline().split()[1])


@pytest.mark.slow
def test_flower_refuses_requests_that_name_another_host(home: Home) -> None:
    port = free_port()
    websocket = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
    with up(home, "--flower-port", str(port)):
        own = [f"127.0.0.1:{port}", "localhost", f"LOCALHOST.:{port}", f"[::1]:{port}"]
        foreign = ["rebound.example", f"rebound.example:{port}", "127.0.0.1.rebound.example", "10.1.2.3"]
        assert {status(port, "/workers", host) for host in own} == {200}
        for path in ("/", "/workers", "/api/tasks", "/api/workers", "/metrics", "/healthcheck", "/static/x"):
            assert {status(port, path, host) for host in foreign} == {421}, path
        assert status(port, "/update-workers", "rebound.example", *websocket) == 421
        assert status(port, "http://127.0.0.1/workers", "rebound.example") == 421


@pytest.mark.slow
def test_a_killed_process_is_restarted_and_work_continues(home: Home) -> None:
    with up(home, "--no-flower") as running:
        before = live_workers(home)
        [broker] = processes_running(home, "valkey-server")
        os.kill(broker, signal.SIGKILL)
        running.wait_for("The broker has ended (signal 9")
        after_broker = home.send("hello")
        [worker] = processes_running(home, "hermes_jobs worker")
        os.kill(worker, signal.SIGKILL)
        running.wait_for("The worker has ended (signal 9")
        after_worker = home.send("hello again")
        wait_until(lambda: live_workers(home) - before != set(), "another worker")

    assert after_broker["status"] == after_worker["status"] == "completed"


@pytest.mark.slow
def test_a_beat_that_is_killed_comes_back(home: Home) -> None:
    with up(home, "--no-flower") as running:
        [beat] = processes_running(home, "hermes_jobs beat")
        os.kill(beat, signal.SIGKILL)
        running.wait_for("The scheduler has ended (signal 9")
        wait_until(lambda: processes_running(home, "hermes_jobs beat") not in ([], [beat]), "another beat")


@pytest.mark.slow
def test_without_beat_there_is_none(home: Home) -> None:
    with up(home, "--no-flower", "--no-beat"):
        assert processes_running(home, "hermes_jobs worker") != []
        assert processes_running(home, "hermes_jobs beat") == []


@pytest.mark.slow
def test_nothing_outlives_a_supervisor_that_is_killed(home: Home) -> None:
    # A worker that hangs is killed after its grace: here that comes too late to pass for an end of its own.
    with up(home, HERMES_JOBS_WORKERS__STOP_SECONDS="300") as running:
        running.signal(signal.SIGKILL)
        running.end()

        wait_until(lambda: left_of(home) == [], "everything to end", seconds=PATIENCE)
    assert find_broker(Paths(home.path)) is None
    with up(home, "--no-flower"):
        assert home.send("hello")["status"] == "completed"


@pytest.mark.slow
def test_a_write_under_way_may_end_although_supervisor_and_broker_are_gone(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(Script(rules=(Rule("work", asking_for("touch begun; sleep 2; touch ended")),)))
    with up(home, "--no-flower") as running:
        home.run("send", "--no-wait", "work")
        wait_until((home.work / "begun").exists, "the command to begin")
        running.signal(signal.SIGKILL)
        wait_until(lambda: left_of(home) == [], "everything to end")

    assert (home.work / "ended").exists()
    with home.open_log() as log:
        finished = [each.event for each in log.tail() if isinstance(each.event, ToolFinished)]
    assert [event.ok for event in finished] == [True]


@pytest.mark.slow
def test_a_first_interrupt_lets_work_end_and_a_second_stops_it(home: Home, model_server: ModelServer) -> None:
    model_server.follow(Script(rules=(Rule("work", asking_for("touch begun; sleep 60")),)))
    with up(home, "--no-flower") as running:
        sent = home.run("send", "--no-wait", "work")
        assert sent.code == 0, sent
        wait_until((home.work / "begun").exists, "the command to begin")

        running.signal(signal.SIGINT)
        running.wait_for("Stopping")
        wait_until(
            lambda: "Warm shutdown" in (home.path / "logs" / "worker.log").read_text(), "the warm stop"
        )
        assert processes_running(home, "hermes_jobs worker")
        running.signal(signal.SIGINT)
        ended = running.end()

    assert ended.code == 0
    wait_until(lambda: left_of(home) == [], "everything to end")


@pytest.mark.slow
def test_in_the_background_it_runs_once_and_until_it_is_stopped(home: Home) -> None:
    port = free_port()
    started = home.run("up", "-d", "--flower-port", str(port))
    again = home.run("up", "-d")
    in_front = home.run("up")
    answer = home.send("hello")
    flower = page(f"http://127.0.0.1:{port}/healthcheck")
    stopped = home.run("down")
    once_more = home.run("down")

    assert started.code == 0, started
    pid = started.err.partition("(process ")[2].partition(")")[0]
    assert (again.code, in_front.code) == (2, 2)
    assert f"process {pid}" in again.err
    assert f"process {pid}" in in_front.err
    assert answer["status"] == "completed"
    assert flower == "OK"
    assert stopped.code == 0
    assert left_of(home) == []
    assert (once_more.code, once_more.err.strip()) == (0, "Nothing was up.")


@pytest.mark.slow
def test_its_worker_may_open_as_many_files_as_its_threads_need(home: Home) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with home.start("up", "--no-flower", "--no-beat", "--concurrency", "64") as running:
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (256, most))
        running.wait_for(UP)
        worker = processes_running(home, "hermes_jobs worker")[0]
        allowed, _ = resource.prlimit(worker, resource.RLIMIT_NOFILE)
        running.signal(signal.SIGINT)
        running.end()

    assert allowed >= 64 * FILES_A_THREAD


def test_an_up_in_the_background_that_cannot_start_says_why(home: Home) -> None:
    ended = home.run("up", "-d", HERMES_JOBS_BROKER_URL="redis://127.0.0.1:1/0")

    assert ended.code == 5
    assert "does not answer" in ended.err


def test_the_supervisor_loads_neither_celery_nor_a_models_client() -> None:
    program = "import sys, workers.up, workers.daemon; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert {"celery", "kombu", "openai", "flower"}.isdisjoint(loaded.stdout.split())


@pytest.mark.parametrize("command", ["up", "worker", "beat", "flower"])
def test_a_broker_that_does_not_answer_is_exit_code_5_and_its_password_is_not_said(
    home: Home, command: str
) -> None:
    ended = home.run(command, HERMES_JOBS_BROKER_URL="redis://:sesame-open@127.0.0.1:1/0")

    assert ended.code == 5
    assert "does not answer" in ended.err
    assert "sesame-open" not in ended.err


def test_without_its_log_nothing_is_started(home: Home) -> None:
    ended = home.run("up", HERMES_JOBS_LOG_URL="postgresql://127.0.0.1:1/hermes")

    assert ended.code == 5
    assert "The log at 127.0.0.1:1/hermes cannot be used" in ended.err
    assert left_of(home) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["up", "worker", "doctor"])
def test_a_broker_of_an_unknown_kind_is_wrong_configuration(home: Home, command: str) -> None:
    ended = home.run(command, HERMES_JOBS_BROKER_URL="nats://127.0.0.1:1/0")

    assert ended.code == (5 if command == "doctor" else 2)
    assert "brokers of the form nats://… are not supported here" in ended.out + ended.err


def test_a_worker_without_any_broker_says_how_to_get_one(home: Home) -> None:
    ended = home.run("worker")

    assert ended.code == 5
    assert "hermes-jobs up" in ended.err


def test_a_port_that_is_taken_is_said_before_anything_is_left_running(home: Home) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        ended = home.run("up", "--flower-port", str(other.getsockname()[1]))

    assert ended.code == 2
    assert "Flower cannot have port" in ended.err
    assert left_of(home) == []


@pytest.mark.slow
def test_it_listens_to_a_telegram_bot_that_is_configured(home: Home) -> None:
    bot = BotServer().start()
    telegram = {
        "TELEGRAM_BOT_TOKEN": TOKEN,
        "HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": "[7]",
        "HERMES_JOBS_GATEWAY__TELEGRAM__BASE_URL": bot.base_url,
    }
    with up(home, "--no-flower", **telegram) as running:
        bot.write(7, "hello")
        bot.wait_until(lambda: "You said: hello" in bot.said(7), "an answer")
        running.signal(signal.SIGINT)
        ended = running.end()
    bot.close()

    assert str(home.path / "logs" / "gateway.log") in ended.err
    assert left_of(home) == []
    assert home.files_holding(TOKEN) == []


@pytest.mark.slow
def test_a_bot_that_is_configured_later_is_listened_to_as_soon_as_its_token_is_right(home: Home) -> None:
    bot = BotServer().start()
    with up(home, "--no-flower", "--no-beat") as running:
        home.run("config", "set", "gateway.telegram.base_url", bot.base_url)
        home.run("config", "set", "gateway.telegram.allowed_users", "[7]")
        (home.path / ".env").touch(mode=0o600)
        (home.path / ".env").write_text("TELEGRAM_BOT_TOKEN=4242:another-token-that-is-wrong\n")
        running.wait_for("Telegram is configured: the gateway starts")
        running.wait_for(
            "Telegram refuses TELEGRAM_BOT_TOKEN: the gateway starts again when another one is set."
        )
        (home.path / ".env").write_text(f"TELEGRAM_BOT_TOKEN={TOKEN}\n")
        bot.write(7, "hello")
        bot.wait_until(lambda: "You said: hello" in bot.said(7), "an answer")
        (home.path / ".env").write_text("")
        running.wait_for("Telegram is configured no more: the gateway ends.")
        running.signal(signal.SIGINT)
        running.end()
    bot.close()
    assert left_of(home) == []


def test_flower_is_shown_to_other_machines_only_with_a_password(home: Home) -> None:
    ended = home.run("flower", "--address", "0.0.0.0", HERMES_JOBS_BROKER_URL="redis://127.0.0.1:1/0")

    assert ended.code == 2
    assert "FLOWER_BASIC_AUTH" in ended.err


@pytest.mark.slow
def test_it_says_why_the_web_pages_are_not_served(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        serves = {
            "HERMES_JOBS_SERVE__ENABLED": "true",
            "HERMES_JOBS_SERVE__PORT": str(taken.getsockname()[1]),
        }
        with up(home, "--no-flower", "--no-beat", **serves) as running:
            assert "web       not served: The web pages cannot be served" in running.err
            assert "Address already in use" in running.err
            running.signal(signal.SIGINT)
            assert running.end().code == 0
