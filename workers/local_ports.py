"""Ports of this machine: which are free, and where somebody listens."""

from __future__ import annotations

import socket


def is_free(address: str, port: int) -> bool:
    """Whether a server could have the port at that address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True


def listens(address: str, port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection((address, port), timeout=0.5).close()
    except OSError:
        return False
    return True
