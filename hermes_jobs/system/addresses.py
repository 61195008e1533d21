"""Public Internet addresses, and connections restricted to them."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence

import httpcore2

GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that is routed on the Internet: https://www.iana.org/assignments/ipv6-address-space."""

NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",  # Azure's host, which hands out certificates
        "192.0.0.0/24",  # IETF protocols; Oracle's metadata
        "192.88.99.0/24",  # relays of 6to4: the nearest one unpacks the packet
        "2001::/23",  # IETF protocols, Teredo among them
        "2002::/16",  # 6to4, ended by RFC 7526: the nearest relay unpacks the packet
        "2620:4f:8000::/48",  # AS112, answered by the nearest network
        "3fff::/20",  # documentation (RFC 9637), unknown to older Pythons
    )
)
CARRIES_IPV4 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
"""NAT64 (RFC 6052) and IPv4-compatible addresses: the last 32 bits are the destination."""

ISATAP = (0x00005EFE, 0x02005EFE)
"""The bits before an IPv4 address in the lower half of an ISATAP address (RFC 5214, section 6.1)."""

BAD_PORTS = frozenset((
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512,
    513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719,
    1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
    10080,
))  # fmt: skip
"""Ports of protocols that an HTTP request could be smuggled into: https://fetch.spec.whatwg.org/#port-blocking."""


class AddressRefused(Exception):
    """The address must not be connected to. The message names it."""


def is_public(address: str) -> bool:
    """Whether the IP address is public, IPv4 addresses embedded in IPv6 included."""
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        carried = _carried(parsed)
        if carried is not None:
            return is_public(str(carried))
        tunnelled = _tunnelled(parsed)
        if parsed not in GLOBAL_UNICAST or not (tunnelled is None or is_public(str(tunnelled))):
            return False
    return (
        parsed.is_global
        and not parsed.is_multicast
        and not any(parsed.version == network.version and parsed in network for network in NOT_PUBLIC)
    )


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The embedded IPv4 address."""
    if any(address in network for network in CARRIES_IPV4):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def _tunnelled(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address of the host to which packets are tunnelled."""
    number = int(address)
    return ipaddress.IPv4Address(number & 0xFFFFFFFF) if (number >> 32) & 0xFFFFFFFF in ISATAP else None


def is_own_address(address: str) -> bool:
    """Whether the address is one of this machine's: the route to it then starts at the address itself."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))  # no packet is sent: the kernel only chooses the route
            return bool(probe.getsockname()[0] == address)
    except OSError:
        return False


def _is_outside(address: str) -> bool:
    return is_public(address) and not is_own_address(address)


def resolve(host: str, port: int) -> Sequence[str]:
    """The host's addresses. Raises `AddressRefused` if there are none."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefused(f"the host {host} is not known: {error}.") from error
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


class PublicNetwork(httpcore2.NetworkBackend):
    """Connects to checked addresses, without a second DNS lookup."""

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
        """Connect to the first address that answers. Raises `AddressRefused`."""
        if port in BAD_PORTS:
            raise AddressRefused(f"port {port} belongs to another protocol than HTTP.")
        addresses = resolve(host, port)
        allowed = [candidate for candidate in addresses if self._allow_private or _is_outside(candidate)]
        if not allowed:
            which = host if host == addresses[0] else f"{host} is {addresses[0]}, which"
            raise AddressRefused(
                f"{which} is not a public address. web_fetch reaches the public Internet alone, unless the "
                "configuration allows more."
            )
        failure: Exception | None = None
        for address in allowed:
            try:
                return self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure
