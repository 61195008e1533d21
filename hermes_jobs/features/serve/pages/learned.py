"""What the agent has learned: memory, skills, and the reviews that wrote them; with reasons, and undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import api as memories
from hermes_jobs.features.reviews import api as reviews
from hermes_jobs.features.serve.pages.frame import Table, caller_of, done, field, page, site_of
from hermes_jobs.features.skills import api as skills

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hermes_jobs.features.memory.events import MemoryTarget

WRITES = 50
REVIEWS = 50


def show_memory(request: Request) -> Response:
    """What the agent remembers, why, and the newest writes."""
    site, asked = site_of(request), request.query_params.get("why", "")
    entries = site.memory.entries()
    chosen = next((each for each in entries if str(each.version) == asked), None)
    return page(
        request,
        "memory.html",
        "Memory",
        entries=entries,
        writes=memories.writes(site.application, WRITES),
        chosen=chosen,
        why=memories.why(site.application, chosen.text, chosen.target) if chosen is not None else None,
    )


def change_memory(request: Request) -> Response:
    """Add, replace or remove an entry, or undo a write. Raises `Rejected`."""
    site, by = site_of(request), caller_of(request).name
    text, old, target = field(request, "text").strip(), field(request, "old"), field(request, "target")
    act = field(request, "act")
    if act == "undo":
        memories.undo(site.application, _number(request), by=by)
        return done("/memory#log")
    if target not in {"user", "memory"}:
        raise Rejected(f"{target!r} is no target of the memory.", kind="usage")
    chosen = cast("MemoryTarget", target)
    match act:
        case "add":
            site.memory.add(text, target=chosen, by=by)
        case "replace":
            site.memory.replace(old, text, target=chosen, by=by)
        case "remove":
            site.memory.remove(old, target=chosen, by=by)
        case other:
            raise Rejected(f"{other!r} cannot be done with the memory.", kind="usage")
    return done("/memory")


def show_skills(request: Request) -> Response:
    """All skills."""
    rows, problems = skills.skill_rows(site_of(request).application)
    return page(request, "skills.html", "Skills", skills=rows, problems=problems)


def show_skill(request: Request) -> Response:
    """A skill with its text, its proposals, and its writes with their reasons."""
    application, name = site_of(request).application, request.path_params["skill"]
    details = None
    try:
        details = skills.skill_details(application, name)
    except Rejected as unknown:
        if unknown.kind != "unknown_skill":
            raise
    why = None
    if details is None or details.source == "home":
        why = skills.skill_why(application, name, WRITES)  # also of one that was removed
    return page(request, "skill.html", name, skill=details, why=why)


def change_skill(request: Request) -> Response:
    """Undo the last write, restore a version, or decide about a proposal. Raises `Rejected`."""
    application, name = site_of(request).application, request.path_params["skill"]
    by = caller_of(request).name
    match field(request, "act"):
        case "undo":
            skills.undo(application, name, by=by)
        case "restore":
            skills.undo(application, name, _number(request), by=by)
        case ("approve" | "deny") as act:
            skills.decide(application, name, _number(request), approves=act == "approve", by=by)
        case other:
            raise Rejected(f"{other!r} cannot be done with a skill.", kind="usage")
    return done(f"/skills/{name}")


def show_reviews(request: Request) -> Response:
    """Reviews, with what each saved and why it was due."""
    application = site_of(request).application
    found = reviews.reviews(application, REVIEWS)
    names = reviews.saved(application, found)
    return page(request, "reviews.html", "Reviews", live="all", reviews=found, names=names)


def _number(request: Request) -> int:
    text = field(request, "number")
    if not text.isdecimal() or len(text) > 9:
        raise Rejected(f"{text[:20]!r} is no number of a write.", kind="usage")
    return int(text)


ROUTES: Table = {
    ("GET", "/memory"): show_memory,
    ("POST", "/memory"): change_memory,
    ("GET", "/skills"): show_skills,
    ("GET", "/skills/{skill}"): show_skill,
    ("POST", "/skills/{skill}"): change_skill,
    ("GET", "/reviews"): show_reviews,
}
