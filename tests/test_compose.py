"""docker-compose.yml: what it starts are commands of ours, and they run. No Docker is needed to see that."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
import redis
import yaml
from redis.backoff import NoBackoff
from redis.retry import Retry

from hermes_jobs.interfaces.cli import ALIASES, COMMANDS, hermes_jobs
from hermes_jobs.runtime.queues import ALL_QUEUES
from hermes_jobs.settings.load import load
from hermes_jobs.settings.sections.processes import Workers
from tests.home import Home
from tests.processes import ROOT
from tests.serve.test_doors import free_port
from tests.services import REDIS_URL, missing, postgres_schema
from tests.tools.support import wait_until

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
ALWAYS = [name for name in OURS if "profiles" not in SERVICES[name]]
WORKERS = [name for name in OURS if SERVICES[name]["command"][0] == "worker"]
REFERENCE = re.compile(r"\$\{(\w+)(:[?-])?([^}]*)\}")


def parsed(service: str) -> dict[str, Any]:
    """The options of a service's command as our command line reads them. Raises `click.UsageError`."""
    name, *arguments = SERVICES[service]["command"]
    group = click.Context(hermes_jobs)
    command = hermes_jobs.get_command(group, name)
    if isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.get_command(group, name)
    assert command is not None
    return command.make_context(name, arguments, parent=group).params


@pytest.mark.parametrize("service", OURS)
def test_every_service_runs_an_existing_command_with_known_options(service: str) -> None:
    name, *arguments = SERVICES[service]["command"]
    assert name in COMMANDS | ALIASES
    assert bool(parsed(service)) == any(each.startswith("-") for each in arguments)


def test_every_queue_is_consumed_by_exactly_one_group_of_workers() -> None:
    consumed = [queue for service in WORKERS for queue in parsed(service)["queues"].split(",")]

    assert sorted(consumed) == sorted(ALL_QUEUES)


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_is_restarted_watched_and_given_time_to_stop(service: str) -> None:
    described = SERVICES[service]

    assert described["restart"] == "unless-stopped"
    assert described["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert re.fullmatch(r"\d+s", described["stop_grace_period"])


@pytest.mark.parametrize("service", WORKERS)
def test_a_worker_gets_longer_to_stop_than_its_writes_may_take(service: str) -> None:
    assert int(SERVICES[service]["stop_grace_period"][:-1]) > Workers().stop_seconds + 10


@pytest.mark.parametrize("service", OURS)
def test_dependencies_of_services_exist_and_have_health_checks(service: str) -> None:
    for name, condition in SERVICES[service]["depends_on"].items():
        assert condition == {"condition": "service_healthy"}
        assert "healthcheck" in SERVICES[name]


def test_it_holds_no_secret_and_starts_nothing_without_those_it_needs() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            for variable, operator, _rest in REFERENCE.findall(str(value)):
                assert operator == (":?" if "PASSWORD" in variable or "AUTH" in variable else ":-")
            if "PASSWORD" in name or "AUTH" in name or "KEY" in name:
                assert REFERENCE.fullmatch(value)
            assert not re.search(r"://[^$@]*:[^$@]+@", str(value))


def test_nothing_listens_beyond_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_volume_that_is_mounted_is_declared() -> None:
    mounted = {volume.partition(":")[0] for each in SERVICES.values() for volume in each.get("volumes", ())}

    assert mounted == set(COMPOSE["volumes"])


@pytest.mark.parametrize("service", OURS)
def test_the_environment_of_services_is_valid_for_the_settings(service: str, tmp_path: Path) -> None:
    settings = load(environment(service), home=tmp_path)

    assert settings.broker_url == "redis://:REDIS_PASSWORD@redis:6379/0"
    assert settings.log_url == "postgresql://hermes:POSTGRES_PASSWORD@postgres:5432/hermes"
    assert settings.rehearsal


def test_the_image_copies_existing_files_and_ignores_none_it_needs() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    needed = {
        source
        for line in re.findall(r"^COPY (?!--)(.+) \S+$", dockerfile, flags=re.M)
        for source in line.split()
    }
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}

    assert needed == kept
    assert all((ROOT / name).exists() for name in needed)
    assert 'ENTRYPOINT ["hermes-jobs"]' in dockerfile
    assert re.search(r"^USER hermes$", dockerfile, flags=re.M)


def environment(service: str) -> dict[str, str]:
    """What Compose gives the service; each variable that must be set holds its own name."""

    def value(reference: re.Match[str]) -> str:
        return reference[1] if reference[2] == ":?" else reference[3]

    given = SERVICES[service]["environment"]
    return {name: REFERENCE.sub(value, str(text)) for name, text in given.items()}


# --- as plain processes ---------------------------------------------------------------------------


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Home]:
    """A home before this machine's Redis and a schema of its PostgreSQL."""
    with redis.Redis.from_url(REDIS_URL, retry=Retry(NoBackoff(), 0)) as broker:
        try:
            broker.ping()
        except redis.ConnectionError:
            missing("Redis")
    with postgres_schema() as log_url:
        environ = {"HERMES_JOBS_LOG_URL": log_url, "HERMES_JOBS_BROKER_URL": REDIS_URL}
        yield Home(tmp_path, {**environ, "HERMES_JOBS_WORKERS__CONCURRENCY": "4", "FLOWER_BASIC_AUTH": "a:b"})


@pytest.mark.slow
@pytest.mark.redis
@pytest.mark.postgres
def test_the_services_commands_work_together_as_plain_processes(servers: Home) -> None:
    commands = {name: list(SERVICES[name]["command"]) for name in ALWAYS}
    here = {"0.0.0.0": "127.0.0.1", "5555": str(20_000 + uuid.uuid4().int % 10_000)}
    commands["flower"] = [here.get(part, part) for part in commands["flower"]]
    with ExitStack() as stack:
        running = {name: stack.enter_context(servers.start(*command)) for name, command in commands.items()}
        wait_until(lambda: consumed(servers) == sorted(ALL_QUEUES), "every queue to be consumed")
        result = servers.send("Rehearse two tools at once: list the files here.")
        health = servers.run(*SERVICES["workers-turns"]["healthcheck"]["test"][2:])
        for process in running.values():
            process.process.terminate()
        ended = {name: process.end() for name, process in running.items()}

    assert result["status"] == "completed"
    assert result["num_tool_calls"] == 2
    assert health.code == 0, health
    assert {name: each.code for name, each in ended.items()} == dict.fromkeys(ALWAYS, 0)


@pytest.mark.slow
@pytest.mark.redis
@pytest.mark.postgres
def test_the_web_service_serves_whoever_has_the_password_by_the_names_that_are_given(servers: Home) -> None:
    service, port, password = SERVICES["web"], free_port(), "correct horse battery"
    given = {
        name: value for name, value in environment("web").items() if name.startswith("HERMES_JOBS_SERVE__")
    }
    given["HERMES_JOBS_SERVE__ALLOWED_HOSTS"] = "[jobs.example.com]"
    assert servers.run(*service["command"], **given).code == 2, "nobody could sign in"
    assert servers.run("serve", "--set-password", stdin=f"{password}\n" * 2).code == 0
    check = service["healthcheck"]["test"][-1].replace("5580", str(port))
    with servers.start(*service["command"], "--port", str(port), **given) as running:
        running.wait_for("sign-in?link=")
        assert httpx.get(check).status_code == 200
        for host, status in (("jobs.example.com", 303), (f"127.0.0.1:{port}", 303), ("other.example", 421)):
            signed_in = httpx.post(
                f"http://127.0.0.1:{port}/sign-in",
                data={"password": password},
                headers={"Host": host, "Origin": f"http://{host}"},
            )
            assert signed_in.status_code == status, (host, signed_in.text)
        running.process.terminate()
        assert running.end().code == 0


def consumed(home: Home) -> list[str]:
    workers = home.run("queues", "--json").json["workers"]
    return sorted(queue for worker in workers for queue in worker["queues"])
