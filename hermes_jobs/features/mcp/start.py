"""Starts connectors: forked from the connector host, one at a time for each server."""

from __future__ import annotations

import fcntl
import os
import random
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from hermes_jobs.features.mcp.messages import LENGTH, ConnectorEnd, Failed, Launch
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.cpu_affinity import without_affinity
from hermes_jobs.system.isolation import isolated, python_module
from hermes_jobs.system.struct_types import described

HOST = "hermes_jobs.features.mcp.connector_host"
INHERITED_VARIABLES = (
    *("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TMPDIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)
"""Variables of this process's environment for connectors; a server's are in its `Launch`."""
FIRST_PAUSE = 1.0
MAX_PAUSE = 60.0
STABLE_SECONDS = 60.0  # a server that ran so long is restarted immediately
SHORT_PAUSE = 5.0  # the most seconds for which a call waits for a restart


class NotStarted(Exception):
    """The connector could not be started; `failed` is the reason."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


def connected(folder: Path, name: str = "socket") -> socket.socket | None:
    """A connection to the process that listens there; None where none does.

    By the folder's descriptor: the address of such a socket has at most 100 characters.
    """
    connection = socket.socket(socket.AF_UNIX)
    try:
        if len(os.fsencode(folder / name)) < 100:
            connection.connect(str(folder / name))
            return connection
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            connection.connect(f"/proc/self/fd/{descriptor}/{name}")
        finally:
            os.close(descriptor)
    except OSError:
        connection.close()
        return None
    return connection


def is_served(folder: Path) -> bool:
    """Whether a connector serves there: it holds the lock."""
    try:
        descriptor = os.open(folder / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def single_start(path: Path) -> Iterator[None]:
    """Admit one process of this host at a time."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def start(folder: Path, launch: Launch) -> None:
    """Start the connector and wait until it listens. Raises `NotStarted`."""
    token = secrets.token_hex(16)
    write_bytes(folder / "token", token.encode(), durable=False)
    (folder / "token").chmod(0o600)
    text = msgspec.msgpack.encode(msgspec.structs.replace(launch, folder=str(folder), token=token))
    for _ in range(3):  # the previous one may have been ending
        try:
            host = hold_host(folder.parent)
            with host, host.makefile("rb") as stream:
                host.sendall(LENGTH.pack(len(text)) + text)
                if stream.readline():
                    return
        except OSError:
            continue
    raise NotStarted(not_started(folder.parent))


def not_started(folder: Path) -> Failed:
    """Why no connector could be started, from its log."""
    try:
        lines = (folder / "host.log").read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return Failed(kind="start", message=": ".join(["no connector could be started", *lines[-1:]]))


def hold_host(folder: Path) -> socket.socket:
    """A connection that holds the connector host, which is started if
    necessary. Raises `NotStarted`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    hold = connected(folder, "host")
    if hold is not None:
        return hold
    with single_start(folder / "host-start.lock"):
        hold = connected(folder, "host")
        if hold is None:
            _start_host(folder)
            hold = connected(folder, "host")
    if hold is None:
        raise NotStarted(not_started(folder))
    return hold


def _start_host(folder: Path) -> None:
    environ = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    with (folder / "host.log").open("wb") as errors, without_affinity():
        process = subprocess.Popen(
            [*python_module(HOST), str(folder)],
            cwd="/",
            env=isolated(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()  # avoids a zombie
    assert process.stdout is not None
    with process.stdout:
        process.stdout.readline()


def pause_after_failures(folder: Path) -> None:
    """Wait before a server is started again that has failed shortly before; the pause doubles each time.

    Raises `NotStarted` where it would be long.
    """
    try:
        ended = msgspec.json.decode((folder / "ended.json").read_bytes(), type=described(ConnectorEnd))
    except (OSError, msgspec.DecodeError):
        return
    counter = folder / "failures"
    if ended.well or ended.lived > STABLE_SECONDS:
        counter.unlink(missing_ok=True)
        return
    failures = _count(counter)
    pause = min(FIRST_PAUSE * 2**failures, MAX_PAUSE) * random.uniform(0.8, 1.0)
    remaining = ended.at + pause - time.time()
    if remaining > SHORT_PAUSE:
        message = f"{ended.why} ({failures + 1} times in a row; it is started again in {remaining:.0f} s)"
        raise NotStarted(Failed(kind="start", message=message, stderr=ended.stderr))
    if remaining > 0:
        time.sleep(remaining)
    counter.write_text(str(failures + 1))


def _count(counter: Path) -> int:
    try:
        return int(counter.read_text())
    except (OSError, ValueError):
        return 0
