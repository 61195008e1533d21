"""Which addresses lie on the public Internet, and connections that go to no others."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence

import httpcore2

NOT_PUBLIC = tuple(
    ipaddress.ip_network(each)
    for each in (
        "168.63.129.16/32",  # Azure's host, which hands out certificates
        "192.0.0.0/24",  # IETF protocols; Oracle's metadata
        "fec0::/10",  # site-local
        "64:ff9b:1::/48",  # a network's own NAT64
    )
)
CARRIES_IPV4 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
"""NAT64 (RFC 6052) and IPv4-compatible addresses: the last 32 bits say where a packet ends up."""


class Refused(Exception):
    """The address must not be connected to. The message says which."""


def is_public(address: str) -> bool:
    """Whether the IP address is one of the public Internet, after all wrapping of IPv4 in IPv6."""
    found = ipaddress.ip_address(address)
    inner = _inner(found) if isinstance(found, ipaddress.IPv6Address) else None
    if inner is not None:
        return is_public(str(inner))
    return (
        found.is_global
        and not found.is_multicast
        and not any(found.version == each.version and found in each for each in NOT_PUBLIC)
    )


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    wrapped = address.ipv4_mapped or address.sixtofour
    if wrapped is None and any(address in each for each in CARRIES_IPV4):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return wrapped


def resolved(host: str, port: int) -> Sequence[str]:
    """The host's addresses. Raises `Refused` where there are none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Refused(f"the host {host} is not known: {error}.") from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class PublicNetwork(httpcore2.NetworkBackend):
    """Connects to the very addresses that it has checked; the name server is not asked again."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._network = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address that answers. Raises `Refused`."""
        addresses = resolved(host, port)
        allowed = [each for each in addresses if self._allow_private or is_public(each)]
        if not allowed:
            raise Refused(
                f"{host} is {addresses[0]}, which is no public address. web_fetch reaches the public "
                "Internet alone, unless the configuration allows more."
            )
        failure: Exception | None = None
        for address in allowed:
            try:
                return self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure
