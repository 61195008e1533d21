"""The embedded broker: a private Valkey server for a home without a configured broker.

It listens on the loopback with a random password, stored in two files that only the owner can read:
`run/broker.conf` for the server, `run/broker.json` for the home's other processes. A private socket would
need no password, but its path is limited to 104 bytes, and Flower cannot read one with a space in it.

It stores nothing on disk: due steps are in the log, and the relay resends messages lost with a broker.
"""

from __future__ import annotations

import contextlib
import glob
import secrets
import socket
import time
from pathlib import Path

import msgspec

from hermes_jobs.runtime.broker_address import (
    HOST,
    Address,
    BrokerUnavailable,
    address_file,
    find_server,
    server_answers,
)
from hermes_jobs.settings import Paths
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.struct_types import described
from workers.processes import SupervisedProcess

START_SECONDS = 10.0
GRACE = 5.0
PORTS_TRIED = 5
CONFIGURATION = """\
bind {host}
port {port}
requirepass {password}
protected-mode yes
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
loglevel warning
logfile ""
hz 1
"""


class EmbeddedBroker:
    """The server and its address file, from `start` to `stop`. It ends with this process at the latest."""

    def __init__(self, paths: Paths) -> None:
        """Raises `Misconfigured` if no server is installed."""
        self._paths = paths
        self._program = find_server()
        self._password = secrets.token_hex(24)
        self._port = 0
        self._server = self._guarded()

    @property
    def url(self) -> str:
        """The server's URL with its password. It stays the same across restarts."""
        return f"redis://:{self._password}@{HOST}:{self._port}/0"

    @property
    def is_alive(self) -> bool:
        """Whether the server answers."""
        return server_answers(self._port, self._password)

    def start(self) -> str:
        """Start the server and publish its URL. Raises `BrokerUnavailable`."""
        for _ in range(PORTS_TRIED):
            self._port = _free_port()
            self._configure()
            self._server = self._guarded()
            self._server.start()
            if self._has_come_up():
                self._publish()
                return self.url
        raise BrokerUnavailable(
            f"The embedded broker {self._program} does not start.",
            hint=f"{self._log} says why. Or set broker_url to a Redis of your own.",
        )

    def restart_if_exited(self) -> int | None:
        """Restart the server at the same address if it has ended; call it periodically.

        Returns its exit code at the first call after its end, else None.
        """
        before = self._server.pid
        ended = self._server.restart_if_exited()
        if self._server.pid not in {None, before}:
            self._publish()
        return ended

    @property
    def is_running(self) -> bool:
        """Whether the server's process is running."""
        return self._server.is_running

    @property
    def starts_in(self) -> float:
        """Seconds until `restart_if_exited` will start it."""
        return self._server.starts_in

    def ask_to_stop(self) -> None:
        """Ask the server to stop; a second call stops it at once."""
        self._server.ask_to_stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the server's end, and remove the address file; returns whether it has ended."""
        if not self._server.wait(seconds):
            return False
        with contextlib.suppress(OSError, msgspec.DecodeError):
            address = msgspec.json.decode(address_file(self._paths).read_bytes(), type=described(Address))
            if address.url == self.url:  # not a later broker's address
                address_file(self._paths).unlink()
        return True

    def stop(self) -> None:
        """Stop the server."""
        self.ask_to_stop()
        self.wait()

    @property
    def _log(self) -> Path:
        return self._paths.logs / "broker.log"

    @property
    def _configuration(self) -> Path:
        return self._paths.run / "broker.conf"

    def _guarded(self) -> SupervisedProcess:
        # The server treats the name as a pattern; without a matching file it would start unconfigured.
        command = (self._program, glob.escape(str(self._configuration)))
        return SupervisedProcess(command, log=self._log, grace=GRACE, cwd=self._paths.run)

    def _configure(self) -> None:
        text = CONFIGURATION.format(host=HOST, port=self._port, password=self._password)
        write_bytes(self._configuration, text.encode(), durable=False)

    def _publish(self) -> None:
        address = Address(url=self.url, pid=self._server.pid or 0)
        write_bytes(address_file(self._paths), msgspec.json.encode(address), durable=False)

    def _has_come_up(self) -> bool:
        """Whether the server answers before it ends: the port may have been taken meanwhile."""
        until = time.monotonic() + START_SECONDS
        while self._server.is_running and time.monotonic() < until:
            if self.is_alive:
                return True
            self._server.wait(0.01)
        self._server.ask_to_stop()
        self._server.stop()
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
