"""Flower that answers under its own names only, with a style for lists of tasks.

A page that a browser has open can point its own name to 127.0.0.1 and then read what listens there (DNS
rebinding); the request's Host header still has the page's name. So every request, to pages, the API and
websockets, is refused with 421 (RFC 9110, 15.5.20) unless its Host is expected. This module imports Flower.
"""

from __future__ import annotations

import hashlib
import ipaddress
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flower.app import Flower
from tornado.httputil import HTTPServerRequest
from tornado.web import ErrorHandler, StaticFileHandler

MISDIRECTED = 421
STYLE = "/static/css/flower.css"
DENSE = b"""
.tasks-page table.tasks-table { font-size: .8rem; }
.tasks-page table.tasks-table :is(th, td) { padding-left: .35rem; padding-right: .35rem; }
.from-log > :not(caption) > * > * { padding-top: .3rem; padding-bottom: .3rem; }
"""
"""So that a task's name, id, state, times and worker fit in 1,280 pixels, and our tables on a screen.

By class, not id: the head that is shown is a table of its own, and both need the same widths.
"""


class Hosts:
    """The hosts under which Flower may be reached: loopback, the address it listens on, and `names`.

    On an address for all interfaces also this machine's name, and every IP address: those have no DNS.
    """

    def __init__(self, address: str, names: Iterable[str] = ()) -> None:
        own = _ip_address(address)
        self._all_addresses = own is not None and own.is_unspecified
        machine = (socket.gethostname(),) if self._all_addresses else ()
        self._names = frozenset(name.lower().rstrip(".") for name in ("localhost", address, *machine, *names))

    def __contains__(self, host: str) -> bool:
        """Whether the name of a Host header, without its port, is one of them."""
        name = host.lower().strip("[]").rstrip(".")
        ip = _ip_address(name)
        return name in self._names or (ip is not None and (ip.is_loopback or self._all_addresses))


class DenseStyle(StaticFileHandler):
    """Flower's own style sheet, and `DENSE`."""

    @classmethod
    def get_content(cls, abspath: str, start: int | None = None, end: int | None = None) -> bytes:  # type: ignore[override]
        """The whole sheet, or that part of it."""
        return (Path(abspath).read_bytes() + DENSE)[start:end]

    def get_content_size(self) -> int:
        """The number of its bytes."""
        return super().get_content_size() + len(DENSE)

    @classmethod
    def get_content_version(cls, abspath: str) -> str:
        """A hash of the sheet, by which browsers know whether they have it."""
        return hashlib.sha256(cls.get_content(abspath)).hexdigest()


class GuardedFlower(Flower):
    """Flower, for requests to these hosts."""

    def __init__(self, hosts: Hosts, **options: Any) -> None:
        self._hosts = hosts
        super().__init__(**options)

    def find_handler(self, request: HTTPServerRequest, **options: Any) -> Any:
        """What answers the request; every request comes through here."""
        if request.host_name in self._hosts and request.path.endswith(STYLE):
            sheet = {"path": self.settings["static_path"]}
            return self.get_handler_delegate(request, DenseStyle, sheet, path_args=[b"css/flower.css"])
        if request.host_name in self._hosts:
            return super().find_handler(request, **options)
        return self.get_handler_delegate(request, ErrorHandler, {"status_code": MISDIRECTED})


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
