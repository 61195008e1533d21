"""Moves secrets out of the entry of a server, into variables of `.env`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hermes_jobs.settings.sections.mcp_servers import NAMED


def without_secrets(name: str, entry: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The entry with the values of its environment, headers and client named instead, where they may be
    secrets, and these values by the names of their variables."""
    secrets: dict[str, str] = {}
    changed = dict(entry)
    for part in ("env", "headers", "oauth"):
        values = entry.get(part)
        if isinstance(values, dict):
            changed[part] = {
                key: _named(name, part, key, str(value), secrets) for key, value in values.items()
            }
    return changed, secrets


def _named(server: str, part: str, key: str, value: str, secrets: dict[str, str]) -> str:
    if NAMED.search(value) or not value or not _may_be_secret(part, key, value):
        return value
    variable = key if part == "env" else f"MCP_{server}_{key}"
    variable = re.sub(r"[^A-Za-z0-9_]", "_", variable).upper()
    secrets[variable] = value
    return f"${{{variable}}}"


_PLAIN_HEADERS = frozenset({"accept", "content-type", "user-agent", "accept-language"})
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|_PAT$|^PAT$|DSN|DATABASE_URL", re.IGNORECASE
)


def _may_be_secret(part: str, key: str, value: str) -> bool:
    if part == "headers":
        return key.lower() not in _PLAIN_HEADERS
    if part == "oauth":
        return key == "client_secret"
    return _SECRET.search(key) is not None or re.search(r"://[^/\s:@]*:[^/\s@]+@", value) is not None
