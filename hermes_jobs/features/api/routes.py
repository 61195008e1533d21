"""The plain API: the commands of `hermes_jobs.client` over HTTP, with the JSON that `--json` prints."""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from hermes_jobs.client import Entry, Run, Schedule, Spending
from hermes_jobs.client.home import spending
from hermes_jobs.client.queues import HeartbeatTracker, QueueStats, read_stats
from hermes_jobs.errors import Rejected
from hermes_jobs.features.api import asking
from hermes_jobs.features.api.asking import WaitingCall
from hermes_jobs.features.api.bodies import (
    AddedSchedule,
    Allowed,
    Forked,
    Given,
    Listed,
    ListedTurns,
    Refused,
    Searched,
    SentTurn,
    Titled,
    UsageQuery,
)
from hermes_jobs.features.api.choosing import Chosen
from hermes_jobs.features.api.prompts import Prompt
from hermes_jobs.features.api.response_json import ResponseWriter
from hermes_jobs.features.api.responses import write_backlog
from hermes_jobs.features.api.wire import Call, Operation
from hermes_jobs.kernel.engine.ports.conversation_search import SearchHit
from hermes_jobs.kernel.views.models import MessageView
from hermes_jobs.kernel.views.session_json import SessionJson
from hermes_jobs.kernel.views.turn_json import DetailedTurnJson, ListedTurnJson, TurnJson
from hermes_jobs.runtime.queues import ALL_QUEUES


def list_turns(call: Call, asked: ListedTurns) -> tuple[ListedTurnJson, ...]:
    """The newest turns, newest first."""
    return call.site.turns.list(session=asked.session, status=asked.status, limit=asked.limit)


def send_turn(call: Call, asked: SentTurn) -> TurnJson:
    """Submit a text, without waiting."""
    turns = call.site.turns
    if asked.session is not None:
        turn = turns.list(session=asked.session, limit=1)
        if turn:
            call.turn(turn[0].turn)
        else:
            call.require("read")
    chosen = Chosen(asked.session, begins=False, system=asked.system)
    prompt = Prompt(asked.text, (), (), "")
    submitted = asking.joined(call, prompt) or asking.ask(
        call, prompt, chosen, model=asked.model, schema=None, waits=False
    )
    return turns.current(submitted)


def show_turn(call: Call) -> DetailedTurnJson:
    """A turn with its steps."""
    return call.site.turns.get(call.turn(call.path["turn"]).turn)


def waiting(call: Call) -> tuple[WaitingCall, ...]:
    """The calls of a turn, and of its sub-agents, that wait for a person."""
    submitted = call.turn(call.path["turn"])
    writer = ResponseWriter(submitted.turn)
    write_backlog(call, submitted, writer)
    return writer.waiting


def cancel_turn(call: Call) -> TurnJson:
    """Cancel a turn; a running one ends when its calls are interrupted."""
    return call.site.turns.cancel(call.turn(call.path["turn"], "manage").turn, by=call.by)


def retry_turn(call: Call) -> TurnJson:
    """Resume a failed, cancelled or stopped turn."""
    turn = call.turn(call.path["turn"], "manage").turn
    call.refuse_without_budget()
    return call.site.turns.retry(turn, wait=False, by=call.by)


def approve(call: Call, asked: Allowed) -> TurnJson:
    """Allow a call that waits: once, for the session, or always in its folder."""
    turn = call.turn(call.path["turn"], "approve", own="approve").turn
    return call.site.turns.approve(turn, call=asked.call, scope=asked.scope, by=call.by)


def deny(call: Call, asked: Refused) -> TurnJson:
    """Refuse a call that waits; the agent is given the reason."""
    turn = call.turn(call.path["turn"], "approve", own="approve").turn
    return call.site.turns.deny(turn, call=asked.call, reason=asked.reason, by=call.by)


def answer(call: Call, asked: Given) -> TurnJson:
    """Answer a question of the agent, or of a server."""
    turn = call.turn(call.path["turn"], "approve").turn
    given = msgspec.json.decode(msgspec.json.encode(asked.answer))
    return call.site.turns.answer(
        turn, given, call=asked.call, key=asked.key, action=asked.action, by=call.by
    )


def list_sessions(call: Call, asked: Listed) -> tuple[SessionJson, ...]:
    """The sessions, the last used first."""
    return call.site.sessions.list(limit=asked.limit)


def search(call: Call, asked: Searched) -> tuple[SearchHit, ...]:
    """Messages of all sessions with these words, best first."""
    return call.site.sessions.search(asked.q, limit=asked.limit)


def show_session(call: Call) -> SessionJson:
    """A session."""
    return call.site.sessions.get(call.path["session"])


def messages(call: Call) -> tuple[MessageView, ...]:
    """The messages of a session, oldest first."""
    return call.site.sessions.messages(call.path["session"])


def rename(call: Call, asked: Titled) -> SessionJson:
    """Change a session's title."""
    return call.site.sessions.rename(call.path["session"], asked.title)


def fork(call: Call, asked: Forked) -> SessionJson:
    """Begin a session with the history of this one."""
    return call.site.sessions.fork(call.path["session"], at=asked.at, before=asked.before)


def end_session(call: Call) -> SessionJson:
    """End a session: it takes no more turns; nothing is deleted."""
    return call.site.sessions.end(call.path["session"])


def list_schedules(call: Call) -> tuple[Schedule, ...]:
    """The schedules, next due first."""
    return call.site.schedules.list()


def add_schedule(call: Call, asked: AddedSchedule) -> Schedule:
    """Add a prompt that is sent once or repeatedly."""
    return call.site.schedules.add(asked.when, asked.task, name=asked.name, timezone=asked.timezone)


def show_schedule(call: Call) -> Schedule:
    """A schedule."""
    return call.site.schedules.get(call.path["schedule"])


def runs(call: Call, asked: Listed) -> tuple[Run, ...]:
    """The past due times of a schedule, newest first."""
    return call.site.schedules.history(call.path["schedule"], limit=asked.limit)


def pause(call: Call) -> Schedule:
    """Pause a schedule; a run in progress continues."""
    return call.site.schedules.pause(call.path["schedule"])


def resume(call: Call) -> Schedule:
    """Resume a schedule."""
    return call.site.schedules.resume(call.path["schedule"])


def remove(call: Call) -> Schedule:
    """Remove a schedule; its history stays."""
    return call.site.schedules.remove(call.path["schedule"])


def run(call: Call) -> TurnJson:
    """Run a schedule now."""
    call.refuse_without_budget()
    return call.site.turns.current(call.site.schedules.run(call.path["schedule"]))


def list_memory(call: Call) -> tuple[Entry, ...]:
    """What is remembered."""
    return call.site.memory.entries()


def usage(call: Call, asked: UsageQuery) -> tuple[Spending, ...]:
    """Tokens and money of all model responses, in rows. Raises `Rejected`."""
    if asked.since is not None and asked.since.tzinfo is None:
        raise Rejected("`since` needs an offset, as 2026-11-01T00:00:00Z has.", kind="usage")
    return spending(call.site.application, by=asked.by, since=asked.since)


def queues(call: Call) -> QueueStats:
    """Queues and workers."""
    application = call.site.application
    return read_stats(application, ALL_QUEUES, HeartbeatTracker(application))


_TABLE = """
    GET  /api/turns                       read          list_turns
    POST /api/turns                       chat          send_turn
    GET  /api/turns/{turn}                chat,read     show_turn
    GET  /api/turns/{turn}/waiting        chat,read     waiting
    POST /api/turns/{turn}/cancel         chat,manage   cancel_turn
    POST /api/turns/{turn}/retry          chat,manage   retry_turn
    POST /api/turns/{turn}/approve        approve       approve
    POST /api/turns/{turn}/deny           approve       deny
    POST /api/turns/{turn}/answer         chat,approve  answer
    GET  /api/sessions                    read          list_sessions
    GET  /api/search                      read          search
    GET  /api/sessions/{session}          read          show_session
    GET  /api/sessions/{session}/messages read          messages
    POST /api/sessions/{session}/rename   manage        rename
    POST /api/sessions/{session}/fork     manage        fork
    POST /api/sessions/{session}/end      manage        end_session
    GET  /api/schedules                   read          list_schedules
    POST /api/schedules                   manage        add_schedule
    GET  /api/schedules/{schedule}        read          show_schedule
    GET  /api/schedules/{schedule}/runs   read          runs
    POST /api/schedules/{schedule}/pause  manage        pause
    POST /api/schedules/{schedule}/resume manage        resume
    POST /api/schedules/{schedule}/remove manage        remove
    POST /api/schedules/{schedule}/run    manage        run
    GET  /api/memory                      read          list_memory
    GET  /api/usage                       read          usage
    GET  /api/queues                      read          queues
"""


def operations() -> tuple[Operation, ...]:
    """The table as operations: what each takes and gives are the types of its function."""
    return tuple(_operation(*line.split()) for line in _TABLE.strip().splitlines())


def _operation(method: str, path: str, scopes: str, name: str) -> Operation:
    from typing import get_type_hints

    function = globals()[name]
    hints = get_type_hints(function)
    return Operation(
        cast("Literal['GET', 'POST']", method),
        path,
        (function.__doc__ or "").strip(),
        function,
        hints["return"],
        hints.get("asked"),
        tuple(scopes.split(",")),  # type: ignore[arg-type]
    )
