"""A stand-in for Docker where there is none: a client on the PATH, and an engine that runs containers.

As with the real one, a container is not a descendant of the client and outlives it: it is a process of the
engine, which is this test's own. It isolates nothing.
"""

from __future__ import annotations

import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.server_thread import ServerThread

CLIENT = f"""#!{sys.executable} -IS
import json, os, signal, socket, sys
if os.environ.get("STUBBORN"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
client = socket.socket(socket.AF_UNIX)
try:
    client.connect(os.environ["DOCKER_HOST"].removeprefix("unix://"))
except OSError:
    sys.stderr.write("Cannot connect to the Docker daemon. Is the docker daemon running?\\n")
    sys.exit(125)
client.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
for line in client.makefile():
    said = json.loads(line)
    if isinstance(said, int):
        sys.exit(said)
    sys.stdout.write(said)
    sys.stdout.flush()
sys.exit(125)
"""


class Engine:
    """What was asked of it, and the containers that run."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "docker.sock"
        self.asked: list[list[str]] = []
        self._containers: dict[str, subprocess.Popen[str]] = {}
        self._lock = threading.Lock()

    @property
    def running(self) -> Sequence[str]:
        """The containers' names; one whose command has done something already is among them."""
        with self._lock:
            return tuple(self._containers)

    def answer(self, arguments: list[str]) -> Iterator[str | int]:
        """Output and at last the exit code."""
        self.asked.append(arguments)
        if arguments[0] == "run":
            yield from self._run(arguments)
        else:
            yield self._remove(arguments[-1])

    def _run(self, arguments: list[str]) -> Iterator[str | int]:
        name = arguments[arguments.index("--name") + 1]
        folder = arguments[arguments.index("--workdir") + 1]
        with self._lock:
            container = self._containers[name] = subprocess.Popen(
                ["bash", "-c", arguments[arguments.index("-c") + 3]],  # without the look at its mounts
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        assert container.stdout
        with container.stdout:
            yield from container.stdout
        code = container.wait()
        with self._lock:
            self._containers.pop(name, None)
        yield code if code >= 0 else 128 - code

    def _remove(self, name: str) -> int:
        with self._lock:
            container = self._containers.get(name)
        if container is None:
            return 1
        with suppress(ProcessLookupError):
            os.killpg(container.pid, signal.SIGKILL)
        return 0


@contextmanager
def stand_in_docker(folder: Path) -> Iterator[Engine]:
    """The client as `folder/bin/docker`, and its engine running."""
    (folder / "bin").mkdir()
    (folder / "bin" / "docker").write_text(CLIENT)
    (folder / "bin" / "docker").chmod(0o755)
    engine = Engine(folder)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                for said in engine.answer(json.loads(self.rfile.readline())):
                    self.wfile.write(json.dumps(said).encode() + b"\n")

    server = socketserver.ThreadingUnixStreamServer(str(engine.socket), Handler)
    with ServerThread(server):
        try:
            yield engine
        finally:
            for name in engine.running:
                engine._remove(name)
