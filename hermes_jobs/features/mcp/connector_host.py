"""The process from which the connectors of a home on this host are forked: it imports the SDK once.

A connector requested before the import is forked at once: it imports the SDK itself, while its server starts.

Run as `python -m hermes_jobs.features.mcp.connector_host FOLDER`; it listens at `FOLDER/host`. A connection
that sends a `Launch` becomes the standard output of a new connector; one that sends nothing holds the
process, which ends without holders. Connectors do not need it to continue."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from hermes_jobs.features.mcp import connector
from hermes_jobs.features.mcp.messages import LENGTH, Launch
from hermes_jobs.system.struct_types import described

FIRST_HOLDER_SECONDS = 15.0  # seconds without a holder after its start
LINGER_SECONDS = 1.0  # seconds without a holder later
TICK = 0.5
FIRST_LAUNCH = 0.05  # seconds to wait for a first request before the SDK is imported
AFTER_FIRST = 3.0  # seconds after that connector: a process that needed only that one has ended
SENDING = 5.0  # seconds within which a `Launch` must arrive


def main() -> None:
    """Fork connectors until there are no holders."""
    folder = Path(sys.argv[1])
    lock = os.open(folder / "host.lock", os.O_RDWR | os.O_CREAT, 0o600)
    if not connector.locked(lock):
        return  # another host serves
    listener = connector.listen(folder, "host")
    os.write(1, b"listening\n")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # avoids zombies
    Host(listener, lock).serve()
    with suppress(OSError):
        (folder / "host").unlink()
    listener.close()


class Host:
    """The sockets of the processes that need connectors."""

    def __init__(self, listener: socket.socket, lock: int) -> None:
        self._listener = listener
        self._lock = lock
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._unheld_since = time.monotonic() + FIRST_HOLDER_SECONDS - LINGER_SECONDS
        self._import_at: float | None = time.monotonic() + FIRST_LAUNCH
        self._has_forked = False

    def serve(self) -> None:
        """Accept connections until there are no holders."""
        while self._others() or time.monotonic() - self._unheld_since < LINGER_SECONDS:
            for key, _ in self._selector.select(self._timeout()):
                if key.fileobj is self._listener:
                    with suppress(OSError):
                        self._selector.register(self._listener.accept()[0], selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket):
                    self._handle_worker(key.fileobj)
            if self._timeout() == 0.0:
                self._import()

    def _timeout(self) -> float:
        """Seconds until the next timeout."""
        return TICK if self._import_at is None else max(0.0, min(TICK, self._import_at - time.monotonic()))

    def _import(self) -> None:
        """Import the modules of connectors once, for all later forks."""
        if self._import_at is not None:
            self._import_at = None
            connector.connection_class()

    def _others(self) -> int:
        return len(self._selector.get_map()) - 1

    def _handle_worker(self, worker: socket.socket) -> None:
        """Handle a worker's input: fork the requested connector, or drop a closed connection."""
        self._selector.unregister(worker)
        with worker:
            launch = _received(worker)
            if launch is not None:
                self._fork(launch, worker)
        if not self._others():
            self._unheld_since = time.monotonic()

    def _fork(self, launch: Launch, worker: socket.socket) -> None:
        if self._has_forked:
            self._import()
        elif self._import_at is not None:
            self._import_at = time.monotonic() + AFTER_FIRST
        self._has_forked = True
        if os.fork() == 0:
            self._run_connector(launch, worker)

    def _run_connector(self, launch: Launch, worker: socket.socket) -> None:
        """Run the connector, in the forked process."""
        try:
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(worker.fileno(), 1)
            for key in list(self._selector.get_map().values()):
                if isinstance(key.fileobj, socket.socket):
                    key.fileobj.close()
            self._selector.close()
            worker.close()
            os.close(self._lock)
            connector.run(launch)
        finally:
            sys.stderr.flush()
            os._exit(0)


def _received(worker: socket.socket) -> Launch | None:
    """The launch sent by a worker; None if the connection was closed or the message is invalid."""
    worker.settimeout(SENDING)
    data = b""
    try:
        while len(data) < LENGTH.size or len(data) < LENGTH.size + LENGTH.unpack_from(data)[0]:
            chunk = worker.recv(1 << 16)
            if not chunk:
                return None
            data += chunk
        return msgspec.msgpack.decode(data[LENGTH.size :], type=described(Launch))
    except (OSError, msgspec.DecodeError):
        return None


if __name__ == "__main__":
    main()
