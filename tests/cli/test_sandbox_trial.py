"""What `doctor` tries of the sandbox: it reports what a command can read and write, and leaves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes_jobs.interfaces.cli.doctor.sandbox_trial import PLANTED, try_sandbox
from hermes_jobs.settings.load import load
from hermes_jobs.tools import sandbox
from hermes_jobs.tools.sandbox import Layer
from hermes_jobs.tools.sensitive_paths import paths_in
from tests.tools.stand_in_docker import stand_in_docker
from tests.tools.test_sandbox import LAYERS


def tried(
    folder: Path, variables: Mapping[str, str] | None = None, *, there: bool = False
) -> tuple[list[str], list[str], Path]:
    home, user_home = folder / "home", folder / "person"
    (user_home / ".ssh").mkdir(parents=True)
    (user_home / ".ssh" / "id_rsa").write_text("key")
    for place in paths_in("startup") if there else ():
        (user_home / place).parent.mkdir(parents=True, exist_ok=True)
        (user_home / place).touch()
    environ = {
        "HOME": str(user_home),
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "HERMES_JOBS_HOME": str(home),
        **(variables or {}),
    }
    settings = load(environ)
    settings.paths.run.mkdir(parents=True, exist_ok=True)
    num_keys, num_places, read, written = try_sandbox(settings, environ)
    assert num_keys >= 2
    assert num_places > 5
    left = [path for path in (*user_home.rglob("*"), *home.rglob("*")) if "doctor" in path.name]
    assert [path for path in left if path.is_file()] == []
    return read, written, user_home


def test_without_a_sandbox_it_reads_the_planted_key_and_writes_startup_files(tmp_path: Path) -> None:
    read, written, person = tried(tmp_path, {"HERMES_JOBS_TERMINAL__SANDBOX": "off"})
    assert [Path(path).name for path in read[:2]] == [PLANTED, ".ssh"]
    assert str(person / ".bashrc") in written
    assert str(person) in written
    assert written[-1].startswith("/dev/pts/")


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("there", [False, True])
def test_with_a_sandbox_it_reads_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str, there: bool
) -> None:
    """Given files that run by themselves, there or missing, none is written."""
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=layer))
    assert tried(tmp_path, there=there)[:2] == ([], [])


def test_with_containers_it_asks_the_engine(tmp_path: Path) -> None:
    """Given an engine whose containers isolate nothing, it says so; given none, that it could not try."""
    docker = {
        "HERMES_JOBS_TERMINAL__BACKEND": "docker",
        "DOCKER_HOST": f"unix://{tmp_path / 'docker.sock'}",
    }
    with stand_in_docker(tmp_path) as engine:
        read, _, _ = tried(tmp_path, docker)
        assert Path(read[0]).name == PLANTED
        assert engine.asked[0][0] == "run"
    (tmp_path / "person").rename(tmp_path / "before")
    with pytest.raises(ValueError, match="Cannot connect to the Docker daemon"):
        tried(tmp_path, docker)
