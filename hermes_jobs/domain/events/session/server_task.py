"""Events of tasks: calls that an MCP server goes on with after it has answered, until it is asked again."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class ServerTaskBegun(Event, frozen=True, kw_only=True):
    """The server of the call has made a task of it, known there as `task`; it is asked about it at `poll_at`.

    `at`: when that was. `message`: what the server says of it.
    """

    turn: str
    call: str
    server: str
    task: str
    at: float
    poll_at: float
    message: str = ""


class ServerTaskPolled(Event, frozen=True, kw_only=True):
    """The server was asked about the task at `at`, and it has not ended: it is asked again at `poll_at`.

    `reached`: it has answered, and has the answers that were given to it until then.
    """

    turn: str
    call: str
    at: float
    poll_at: float
    message: str = ""
    reached: bool = True
