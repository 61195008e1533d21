"""Pipes and huge files in the place of files that are read before a command runs: nothing waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from hermes_jobs.features.conditions.changes import Seen, compare
from hermes_jobs.interfaces.cli.questions.edit_diff import edited_texts
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.credentials import Credentials
from hermes_jobs.tools.git_places import git_folders
from hermes_jobs.tools.git_program import Git, Unreadable
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.repositories import examine

from .support import ENGINES, context_in


class Waits(Exception):
    """It waited for a pipe."""


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """An open that waits is interrupted; git is given up after 5 s by itself."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise Waits

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def judged(command: str, folder: Path) -> str:
    paths = PathPolicy(home=str(folder / "h"), user_home=str(folder))
    judge = CommandPolicy(paths=paths, credentials=Credentials(paths=paths, visible=ENGINES))
    (folder / "w").mkdir(exist_ok=True)
    return judge.verdict(command, context_in(folder / "w")).decision


@pytest.mark.parametrize("name", ["docker-compose.yml", "compose.yaml"])
def test_containers_from_a_pipe_ask(tmp_path, name):
    assert judged("docker compose up", tmp_path) == "allow" or Path("/run/docker.sock").exists()
    os.mkfifo(tmp_path / "w" / name)
    assert judged("docker compose up", tmp_path) == "ask"


def test_a_container_file_that_is_too_long_asks(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w/compose.yml").write_text("#" * 100_001)
    assert judged("docker compose up", tmp_path) == "ask"


def test_a_server_is_not_looked_for_in_a_pipe(tmp_path):
    (tmp_path / "w").mkdir()
    os.mkfifo(tmp_path / "w/docker-compose.yml")
    assert judged("psql -h elsewhere -c 'select 1'", tmp_path) == "ask"


def test_settings_of_npm_in_a_pipe_count_as_another_server(tmp_path):
    (tmp_path / ".npmrc").write_text("//registry.npmjs.org/:_authToken=x\n")
    (tmp_path / "w").mkdir()
    os.mkfifo(tmp_path / "w/.npmrc")
    paths = PathPolicy(home=str(tmp_path / "h"), user_home=str(tmp_path))
    judge = CommandPolicy(paths=paths, is_confined=lambda: False)
    assert judge.verdict("npm ci", context_in(tmp_path / "w")).decision == "ask"


READ = (
    ".git",
    ".git/HEAD",
    ".git/config",
    ".git/commondir",
    ".git/packed-refs",
    ".git/refs/heads/main",
    ".gitmodules",
)


@pytest.mark.parametrize("name", [*READ, ".git/included", "sub/HEAD"])
def test_git_is_not_asked_about_a_repository_with_a_pipe(tmp_path, name):
    if name != ".git":
        subprocess.run(("git", "init", "-q", "-b", "main", tmp_path), check=True)
        subprocess.run(("git", "-C", tmp_path, "config", "include.path", "included"), check=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    git = Git("/nonexistent/git", {})
    with pytest.raises(Unreadable, match="is no file"):
        examine(str(tmp_path / "sub"), git, PathPolicy(home="/h", user_home="/u"), str(tmp_path))


def test_git_is_not_asked_about_a_repository_that_is_a_device(tmp_path):
    subprocess.run(("git", "init", "-q", tmp_path), check=True)
    (tmp_path / ".git/commondir").symlink_to("/dev/zero")
    with pytest.raises(Unreadable, match="commondir is no file"):
        Git("/nonexistent/git", {}).ask(str(tmp_path), "status")


def test_git_is_asked_no_second_time_where_it_did_not_answer(tmp_path):
    asked = tmp_path / "asked"
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\necho >> {asked}\nexec sleep 60\n")
    program.chmod(0o755)
    git = Git(str(program), {"PATH": os.defpath})
    for _ in range(3):
        with pytest.raises(Unreadable):
            git.ask(str(tmp_path), "config", "--list")
    assert asked.read_text() == "\n"


def test_a_pointer_to_a_repository_is_not_read_from_a_pipe(tmp_path):
    os.mkfifo(tmp_path / ".git")
    assert list(git_folders(str(tmp_path))) == []


def test_an_edit_of_a_pipe_or_of_a_huge_file_has_no_diff(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(5 << 20)
    for name in ("pipe", "huge"):
        call = ToolCall(id="1", name="write_file", arguments=f'{{"path": "{name}", "content": "x"}}')
        assert edited_texts(call, str(tmp_path))[0] is None


def test_a_watched_file_that_became_a_pipe_is_left_out(tmp_path):
    (tmp_path / "a").write_text("a")
    os.mkfifo(tmp_path / "b")
    assert set(compare(Seen(), ["."], str(tmp_path), 1)[1]) == {str(tmp_path / "a")}
