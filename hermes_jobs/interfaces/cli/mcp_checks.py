"""What `doctor` says of MCP servers: each is started or reached, several at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hermes_jobs.errors import HermesJobsError, Rejected
from hermes_jobs.interfaces.cli.checks import Finding
from hermes_jobs.text.plural import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

AT_ONCE = 4


def mcp(application: Application) -> Iterator[Finding]:
    """Whether each server can be used."""
    names = sorted(application.mcp.config)
    if not names:
        return
    _ = application.log, application.views
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        yield from pool.map(lambda name: _server(application, name), names)


def _server(application: Application, name: str) -> Finding:
    from hermes_jobs.agent.mcp.messages import Failed
    from hermes_jobs.domain import mcp_servers

    check = f"mcp {name}"[:14]
    try:
        listed = application.mcp.discover(name, os.getcwd())  # noqa: PTH109
    except Rejected as refused:
        return Finding(check=check, status="warn", message=f"{name}: {refused.message}", hint=refused.hint)
    except HermesJobsError as error:
        return Finding(check=check, status="warn", message=f"{name}: {error}")
    if isinstance(listed, Failed):
        hint = f"hermes-jobs mcp {'login' if listed.kind == 'login' else 'test'} {name}"
        last = listed.stderr.strip().splitlines()[-1:]
        told = f"{name}: {listed.message}{f'; its last line: {last[0][:200]}' if last else ''}"
        return Finding(check=check, status="warn", message=told, hint=hint)
    state = application.engine().state(mcp_servers.stream_of(name))
    assert isinstance(state, mcp_servers.ServerListings)
    told = f"{name}: {pluralize(len(listed.tools), 'tool')}, specification {listed.protocol}"
    if state.waiting is not None:
        hint = f"hermes-jobs mcp accept {name}"
        return Finding(check=check, status="warn", message=f"{told}; changed, and waits for you", hint=hint)
    if listed.left_out:
        hint = f"hermes-jobs mcp show {name}"
        left = pluralize(len(listed.left_out), "tool")
        return Finding(check=check, status="warn", message=f"{told}; {left} left out", hint=hint)
    return Finding(check=check, status="ok", message=told)
