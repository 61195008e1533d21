"""Schedules: next and past runs, and adding one by a sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_jobs.errors import Rejected
from hermes_jobs.features.serve.pages.frame import Table, caller_of, done, field, page, site_of
from schedules.timing import upcoming, written

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hermes_jobs.features.serve.site import Site
    from schedules.phrases import Understood

SHOWN_RUNS = 5


def show_all(request: Request) -> Response:
    """All schedules, and how a sentence would be understood."""
    site, sentence = site_of(request), request.query_params.get("sentence", "").strip()
    understood, refusal = _understand(site, sentence) if sentence else (None, "")
    return page(
        request,
        "schedules.html",
        "Schedules",
        schedules=site.schedules.list(),
        sentence=sentence,
        understood=understood,
        when=written(understood.timing) if understood is not None else "",
        runs=_runs(understood) if understood is not None else (),
        refusal=refusal,
    )


def show(request: Request) -> Response:
    """A schedule with its history."""
    site = site_of(request)
    schedule = site.schedules.get(request.path_params["schedule"])
    history = site.schedules.history(schedule.schedule, limit=50)
    return page(request, "schedule.html", schedule.name, schedule=schedule, history=history)


def act(request: Request) -> Response:
    """Pause, resume or run a schedule. Raises `Rejected`."""
    site, schedule, by = site_of(request), request.path_params["schedule"], caller_of(request).name
    match field(request, "act"):
        case "pause":
            site.schedules.pause(schedule, by=by)
        case "resume":
            site.schedules.resume(schedule, by=by)
        case "run":
            return done(f"/turns/{site.schedules.run(schedule, by=by).turn}")
        case other:
            raise Rejected(f"{other!r} cannot be done with a schedule.", kind="usage")
    return done(f"/schedules/{schedule}")


def add(request: Request) -> Response:
    """Add the schedule that the preview showed."""
    site = site_of(request)
    added = site.schedules.add(
        field(request, "when"),
        field(request, "task"),
        name=field(request, "name") or None,
        by=caller_of(request).name,
    )
    return done(f"/schedules/{added.schedule}")


def _understand(site: Site, sentence: str) -> tuple[Understood | None, str]:
    """The sentence, or why it is not understood. No model is asked."""
    from schedules.phrases import Refused, parse

    zone = site.application.timezone
    parsed = parse(sentence, datetime.now(UTC).replace(microsecond=0), zone)
    if isinstance(parsed, Refused):
        return None, f"{parsed.reason} {parsed.proposal}".rstrip()
    return parsed, ""


def _runs(understood: Understood) -> list[str]:
    zone = ZoneInfo(understood.zone)
    due = islice(upcoming(understood.timing, datetime.now(UTC), zone), SHOWN_RUNS)
    return [f"{moment.astimezone(zone):%a %d %b %Y %H:%M}" for moment in due]


ROUTES: Table = {
    ("GET", "/schedules"): show_all,
    ("POST", "/schedules"): add,
    ("GET", "/schedules/{schedule}"): show,
    ("POST", "/schedules/{schedule}"): act,
}
