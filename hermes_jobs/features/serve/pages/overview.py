"""Triggers, the inbox, usage, queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.client.queues import HeartbeatTracker, age, queues_of, read_stats
from hermes_jobs.features.deliveries import api as deliveries
from hermes_jobs.features.serve.pages.frame import Table, caller_of, done, field, page, site_of
from hermes_jobs.features.triggers import api as triggers
from hermes_jobs.features.usage.tables.usage import SpendingKey, select_spending
from hermes_jobs.kernel.turns.steps import QUEUES_BY_KIND

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LISTED = 50
WAYS: tuple[SpendingKey, ...] = ("day", "model", "session", "purpose")
QUEUES = tuple(dict.fromkeys(QUEUES_BY_KIND.values()))


def show_triggers(request: Request) -> Response:
    """The triggers."""
    found = triggers.triggers(site_of(request).application)
    return page(request, "triggers.html", "Triggers", triggers=found)


def change_trigger(request: Request) -> Response:
    """Pause or resume a trigger."""
    change = triggers.pause if field(request, "act") == "pause" else triggers.resume
    change(site_of(request).application, request.path_params["name"], by=caller_of(request).name)
    return done("/triggers")


def show_inbox(request: Request) -> Response:
    """Answers that arrived in the inbox."""
    found = deliveries.deliveries(site_of(request).application, inbox=True, limit=LISTED)
    return page(request, "inbox.html", "Inbox", live="all", deliveries=found)


def mark_as_read(request: Request) -> Response:
    """Take a delivery out of the inbox."""
    application = site_of(request).application
    deliveries.mark_as_read(application, [deliveries.delivery(application, request.path_params["delivery"])])
    return done("/inbox")


def show_usage(request: Request) -> Response:
    """Tokens and money."""
    application, asked = site_of(request).application, request.query_params.get("by")
    by = next((way for way in WAYS if way == asked), WAYS[0])
    rows = application.views.read(select_spending, by=by, since=None, zone=application.settings.zone)
    budgets = application.settings.budgets
    return page(request, "usage.html", "Usage", rows=rows[-LISTED:], by=by, ways=WAYS, budgets=budgets)


def show_queues(request: Request) -> Response:
    """Queues and workers."""
    from hermes_jobs.runtime.up_state import read_state

    application = site_of(request).application
    load = read_stats(application, QUEUES, HeartbeatTracker(application))
    state = read_state(application.settings.paths)
    flower = state.flower if state is not None else None
    return page(request, "queues.html", "Queues", load=load, flower=flower, age=age, queues_of=queues_of)


ROUTES: Table = {
    ("GET", "/triggers"): show_triggers,
    ("POST", "/triggers/{name}"): change_trigger,
    ("GET", "/inbox"): show_inbox,
    ("POST", "/inbox/{delivery}"): mark_as_read,
    ("GET", "/usage"): show_usage,
    ("GET", "/queues"): show_queues,
}
