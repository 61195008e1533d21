"""A stdio server sees no keys and writes to its own folders, and to those that its entry names."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_jobs.features.mcp.launches import Launches
from hermes_jobs.features.mcp.logins import Logins
from hermes_jobs.features.mcp.messages import CallTool, Result, decode_response
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.settings.sections.mcp_servers import McpServer
from hermes_jobs.tools.sandbox import layer
from hermes_jobs.tools.sandbox_plan import NONE
from tests.mcp.conftest import SERVER, TestServer

pytestmark = pytest.mark.skipif(layer().name == NONE, reason="this machine has no sandbox")
KEY = "the-needle-in-the-haystack"
HIDDEN = ("~/.ssh/id_rsa", "~/.aws/credentials", "~/.hermes-jobs/.env", "~/.hermes-jobs/results/r.txt")
WRITTEN = (
    "+~/.bashrc",
    "+~/.config/autostart/x.desktop",
    "+~/.local/bin/git",
    "+~/project/made.txt",
    "+~/project/.git/hooks/pre-commit",
    "+~/.hermes-jobs/plugins/x/__init__.py",
    "+~/other/made.txt",
)


class Person:
    """A person's home folder, and a server that tries paths."""

    def __init__(self, folder: Path, servers: Servers) -> None:
        self.folder = folder
        self.servers = servers
        for name in HIDDEN:
            file = folder / name.removeprefix("~/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(KEY)
        for name in ("project", "other", "log"):
            (folder / name).mkdir()
        (folder / "other" / "notes.txt").write_text("open to see")

    def tried(self, *paths: str, **entry: Any) -> dict[str, str]:
        """What became of the paths in a server with that entry."""
        entry["writable"] = ("~/log", *entry.get("writable", ()))
        config = McpServer(
            command=sys.executable,
            args=("-I", "-S", str(SERVER)),
            env={"MCP_TEST": str(self.folder / "log")},
            **entry,
        )
        launches = Launches(
            {"test": config},
            secret=lambda _name: None,
            variables={},
            environ={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            logins=Logins(self.folder / ".hermes-jobs" / "mcp" / "logins"),
            home=self.folder / ".hermes-jobs",
        )
        call = CallTool(tool="try", arguments=msgspec.json.encode({"paths": paths}), timeout=60.0)
        reply = self.servers.call(launches.launch("test", str(self.folder / "project")), call, CancelToken())
        assert isinstance(reply, Result), reply
        found: dict[str, str] = json.loads(decode_response(reply.content)["content"][0]["text"])
        return found


@pytest.fixture
def person(tmp_path: Path, server: TestServer) -> Person:
    """A person with keys, whose servers end with the test."""
    return Person(tmp_path, server.servers)


def test_keys_and_the_home_are_hidden_and_other_files_are_read(person: Person) -> None:
    found = person.tried(*HIDDEN, "~/other/notes.txt")
    assert found.pop("~/other/notes.txt") == "open to see"
    assert all(result.startswith("failed") for result in found.values()), found


def test_nothing_but_its_own_folders_is_written(person: Person) -> None:
    found = person.tried(*WRITTEN, "+/tmp/own/scratch.txt")
    assert found.pop("+/tmp/own/scratch.txt") == "written"
    assert all(result.startswith("failed") for result in found.values()), found
    assert not (person.folder / "project" / "made.txt").exists()


def test_what_its_entry_names_is_written_and_seen(person: Person) -> None:
    found = person.tried(*WRITTEN, *HIDDEN, writable=("~/other", "."), readable=("~/.aws",))
    assert found["+~/other/made.txt"] == found["+~/project/made.txt"] == "written"
    assert found["~/.aws/credentials"] == KEY
    assert (person.folder / "project" / "made.txt").read_text() == "written"
    for path in ("~/.ssh/id_rsa", "+~/.bashrc", "+~/.local/bin/git", "~/.hermes-jobs/.env"):
        assert found[path].startswith("failed"), found


def test_a_server_may_run_without_a_sandbox(person: Person) -> None:
    found = person.tried("~/.ssh/id_rsa", "+~/project/made.txt", sandbox="off")
    assert found == {"~/.ssh/id_rsa": KEY, "+~/project/made.txt": "written"}


def test_only_servers_that_are_started_here_have_a_sandbox() -> None:
    with pytest.raises(ValueError, match="are of servers with a `command`"):
        McpServer(url="https://mcp.example.com", writable=("~/notes",))


def test_a_server_with_a_secret_is_not_started_in_the_folder(person: Person) -> None:
    """`npx` and `python -m` run code of the folder that they are started in."""

    def folder_of(**entry: Any) -> str:
        launches = Launches(
            {"test": McpServer(command="npx", args=("-y", "x"), **entry)},
            secret={"TOKEN": "a-long-secret"}.get,
            variables={},
            environ={"PATH": os.environ["PATH"], "HOME": str(person.folder)},
            logins=Logins(person.folder / ".hermes-jobs" / "mcp" / "logins"),
            home=person.folder / ".hermes-jobs",
        )
        return launches.launch("test", str(person.folder / "project")).cwd

    home, project = str(person.folder), str(person.folder / "project")
    assert folder_of() == project
    assert folder_of(env={"MODE": "x"}) == project
    assert folder_of(env={"TOKEN": "${TOKEN}"}) == home
    assert folder_of(readable=("~/.aws",)) == home
    assert folder_of(env={"TOKEN": "${TOKEN}"}, cwd=project) == project
