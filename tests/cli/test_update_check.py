"""`update-check`: it asks when it is told to, and says what it was told, or why it was not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hermes_jobs import __version__
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.update_check import GitSource, installation, newest_commit
from tests.home import Home
from tests.server_thread import ServerThread


@contextmanager
def index(status: int = 200, body: bytes = b"{}", *, silent: bool = False) -> Iterator[tuple[str, list[str]]]:
    """An index that answers so, or not at all; its URL, and what it was asked for."""
    asked: list[str] = []
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if silent:
                over.wait()
                return
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    with ServerThread(server):
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            over.set()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, {})


def published(version: str) -> bytes:
    return json.dumps({"info": {"version": version, "summary": "An agent."}}).encode()


def test_a_newer_release_is_shown_with_the_command_to_install_it(home: Home) -> None:
    with index(body=published("99.1")) as (url, asked):
        ran = home.run("update-check", "--index", url)
        as_json = home.run("update-check", "--index", f"{url}/", "--json").json
    assert asked == ["/pypi/hermes-jobs/json"] * 2
    assert (ran.code, ran.out) == (0, "")
    assert f"Installed: {__version__}. Newest on {url}: 99.1 (An agent.).\nTo upgrade: " in ran.err
    assert (as_json["newest"], as_json["is_newer"]) == ("99.1", True)
    assert as_json["upgrade"]


@pytest.mark.parametrize("version", [__version__, "0.0.9"])
def test_the_same_or_an_older_one_is_nothing_new(home: Home, version: str) -> None:
    with index(body=published(version)) as (url, _):
        ran = home.run("update-check", "--index", url)
    assert (ran.code, "There is nothing newer." in ran.err) == (0, True)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": 404}, "hermes-jobs is not published on http"),
        ({"status": 503}, "it answered HTTP 503"),
        ({"body": b"<html>"}, "not JSON of a package index"),
        ({"body": b"[]"}, "not JSON of a package index"),
        ({"body": published("newest")}, "names no version"),
        ({"silent": True}, "it did not answer within 0.2 s"),
    ],
)
def test_an_unreachable_index_is_reported(home: Home, answer: dict[str, Any], said: str) -> None:
    with index(**answer) as (url, _):
        ran = home.run("update-check", "--index", url, "--timeout", "0.2")
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


def test_no_answer_and_wrong_usage(home: Home) -> None:
    assert "could not be asked" in home.run("update-check", "--index", "http://127.0.0.1:9").err
    assert home.run("update-check", "--index", "file:///etc").code == 2


# --- installed from a git address ---------------------------------------------------------------------

FROM_GIT = json.dumps(
    {
        "url": "https://example.com/agent.git",
        "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": "a" * 40},
    }
)


@pytest.mark.parametrize(
    ("receipt", "recorded", "upgrade"),
    [
        ("uv-receipt.toml", FROM_GIT, "uv tool upgrade hermes-jobs"),
        ("pipx_metadata.json", None, "pipx upgrade hermes-jobs"),
        ("", None, "bin/python -m pip install --upgrade hermes-jobs"),
        ("", FROM_GIT, "pip install --upgrade 'hermes-jobs @ git+https://example.com/agent.git@main'"),
        ("", "not JSON", "pip install --upgrade hermes-jobs"),
        ("", '{"url": "file:///src", "dir_info": {"editable": true}}', "git -C /src/agent pull"),
    ],
)
def test_the_command_that_upgrades_follows_from_the_installer(
    tmp_path: Path, receipt: str, recorded: str | None, upgrade: str
) -> None:
    if receipt:
        (tmp_path / receipt).touch()
    assert installation(recorded, tmp_path, Path("/src/agent")).upgrade.endswith(upgrade)


def test_only_a_git_address_is_one(tmp_path: Path) -> None:
    source = GitSource("https://example.com/agent.git", "main", "a" * 40)
    assert installation(FROM_GIT, tmp_path, tmp_path).git == source
    archive = '{"url": "file:///agent.whl", "archive_info": {}}'
    assert installation(archive, tmp_path, tmp_path).git is None


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with a commit on `main` and an annotated tag of it, `v1`."""
    folder = tmp_path / "repository"
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    git(folder, "tag", "-a", "v1", "-m", "one")
    return folder


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(("revision", "moves"), [(None, True), ("main", True), ("v1", False)])
def test_a_git_address_is_asked_for_the_branch_or_tag_that_was_installed(
    repository: Path, revision: str | None, moves: bool
) -> None:
    first = git(repository, "rev-parse", "HEAD")
    source = GitSource(repository.as_uri(), revision, first)
    assert newest_commit(source, 10).is_newer is False
    git(repository, "branch", "other/main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "two")
    answer = newest_commit(source, 10)
    assert answer.is_newer is moves
    assert answer.newest == git(repository, "rev-parse", "HEAD" if moves else "v1^{}")


def test_a_commit_that_was_installed_by_its_hash_stays(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "commit", "-q", "--allow-empty", "-m", "two")
    assert newest_commit(GitSource(repository.as_uri(), first[:12], first), 10).is_newer is False


@pytest.mark.parametrize(
    ("part", "said"), [("", "no branch and no tag gone"), ("/nowhere", "could not be asked")]
)
def test_a_git_address_that_does_not_answer_is_said(repository: Path, part: str, said: str) -> None:
    with pytest.raises(Rejected, match=said):
        newest_commit(GitSource(f"{repository.as_uri()}{part}", "gone", "a" * 40), 10)
