"""A real server of ssh on loopback: git reaches it with the person's key, which no hook reads."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hermes_jobs.tools import sandbox
from hermes_jobs.tools.sandbox import Layer

from .keys_support import LAYERS, Person, Recorder
from .support import wait_until

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")
SERVER = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
CLIENT = """
Host server
HostName 127.0.0.1
Port {port}
User {user}
IdentityFile {key}
IdentitiesOnly yes
IdentityAgent none
StrictHostKeyChecking no
UserKnownHostsFile {key}.known
"""

pytestmark = pytest.mark.skipif(SSHD is None, reason="sshd is not installed")


@pytest.fixture(params=LAYERS)
def person(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> Iterator[Person]:
    """A person whose key opens a repository on the server."""
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=request.param))
    made = Person(tmp_path.resolve(), recorder.port)
    made.repository()
    key = made.folder / ".ssh/id_ed25519"
    key.unlink()
    folder = tmp_path / "server"
    folder.mkdir()
    for path in (key, folder / "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    shutil.copy(f"{key}.pub", folder / "authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(SERVER.format(port=port, folder=folder))
    config = made.folder / ".ssh/config"
    config.write_text(CLIENT.format(port=port, user=getpass.getuser(), key=key))
    config.chmod(0o600)
    (made.bin / "ssh").unlink()
    made.git("config", "--global", "core.sshCommand", f"ssh -F {config}")
    made.git("remote", "set-url", "origin", f"server:{made.served}/r.git")
    with suppress(OSError):
        Path("/run/sshd").mkdir(exist_ok=True)  # of a server that root starts
    assert SSHD is not None
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "config"], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(port), "the server")
        yield made
    finally:
        server.terminate()
        server.wait()
        made.close()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


@pytest.mark.slow
def test_git_pushes_and_fetches_with_the_key(person: Person) -> None:
    for command in ("git push origin HEAD:new", "git fetch --all", "git ls-remote origin"):
        done = person.run(command, attended="push" in command)  # which nobody can be asked about there
        assert done.ok, done.content
    assert "new" in person.git("branch", "--list", folder=person.served / "r.git")


def test_a_hook_of_the_folder_reads_no_key(person: Person, recorder: Recorder) -> None:
    for hook in ("pre-push", "post-commit", "pre-commit", "reference-transaction"):
        person.thief(f".git/hooks/{hook}")
    refused = person.run("git push origin HEAD:new")
    assert refused.refused
    assert "showing ~/.ssh" in refused.content
    person.run("git commit --allow-empty -m x", attended=False)
    person.run("make; bash .git/hooks/pre-push", attended=False)
    assert b"PRIVATE KEY" not in recorder.arrived
    assert os.access(person.folder / ".ssh/id_ed25519", os.R_OK)
