"""Turns: those under way, all, and one as it grows."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from starlette.responses import HTMLResponse, Response

from hermes_jobs.errors import Rejected
from hermes_jobs.features.serve.pages.files import turn_file
from hermes_jobs.features.serve.pages.frame import Table, caller_of, done, field, frame, page, site_of
from hermes_jobs.features.serve.pages.waiting import waiting
from hermes_jobs.features.usage.tables.usage import select_unknown_costs
from hermes_jobs.interfaces.cli.turns.prompt import find_request
from hermes_jobs.interfaces.html.shown_files import shown_files
from hermes_jobs.interfaces.html.turn_page import turn_page
from hermes_jobs.kernel.views.attached import attachments_of
from hermes_jobs.kernel.views.timeline import timeline
from hermes_jobs.kernel.views.turn_events import events_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from hermes_jobs.kernel.views.models import StatusFilter

STATUSES = ("running", "queued", "waiting", "completed", "failed", "cancelled", "stopped")
LISTED = 50
AMOUNT = re.compile(r"\d{1,6}(\.\d{1,6})?", re.ASCII)


def show_all(request: Request) -> Response:
    """The newest turns, or those of a status."""
    status = request.query_params.get("status")
    chosen = cast("StatusFilter", status) if status in STATUSES else None
    turns = site_of(request).turns.list(status=chosen, limit=LISTED)
    return page(request, "turns.html", "Turns", live="all", turns=turns, statuses=STATUSES, chosen=chosen)


def show(request: Request) -> Response:
    """A turn, as `turns show --html` shows it, with what can be done."""
    site = site_of(request)
    application = site.application
    turn = application.views.turn(application.views.find_turn(request.path_params["turn"]))
    events = events_of(application.log, turn)
    sent = None
    with suppress(Rejected):  # nothing was sent yet
        sent = find_request(application, turn, events)
    is_open = turn.ended_at is None
    attached = attachments_of(turn.id, events)
    around = frame(
        request,
        live="" if not is_open else f"turn={turn.id}",
        acts="turn_acts.html",
        found=waiting(site, turn.id) if is_open else None,
        can_cancel=is_open,
        can_retry=turn.status in {"failed", "cancelled"} or turn.stopped_by is not None,
        session=turn.session,
        files=[turn_file(turn.id, each) for _, each in attached if not each.is_picture],
        name=turn.id,
        back="turn",
    )
    text = turn_page(
        turn,
        timeline(turn.id, events, application.clock.now()),
        events,
        site.redact,
        application.settings.zone,
        application.views.read(select_unknown_costs, turns=[turn.id]),
        sent,
        application.views.tree_below(turn.id),
        shown_files(turn.id, events, application.attached_content),
        around,
    )
    return HTMLResponse(text.encode("utf-8", "replace"))


def cancel(request: Request) -> Response:
    """Cancel a turn."""
    turn = request.path_params["turn"]
    site_of(request).turns.cancel(turn, by=caller_of(request).name)
    session = field(request, "session")
    return done(f"/sessions/{session}#end" if session else f"/turns/{turn}")


def retry(request: Request) -> Response:
    """Resume a turn that has failed or was stopped, with the budget that is given. Raises `Rejected`."""
    turn, budget = request.path_params["turn"], field(request, "budget").strip()
    if budget and not AMOUNT.fullmatch(budget):
        raise Rejected(f"{budget[:20]!r} is no amount of dollars, such as 2.50.", kind="usage")
    by = caller_of(request).name
    site_of(request).turns.retry(turn, wait=False, by=by, budget_usd=float(budget) if budget else None)
    return done(f"/turns/{turn}")


ROUTES: Table = {
    ("GET", "/turns"): show_all,
    ("GET", "/turns/{turn}"): show,
    ("POST", "/turns/{turn}/cancel"): cancel,
    ("POST", "/turns/{turn}/retry"): retry,
}
