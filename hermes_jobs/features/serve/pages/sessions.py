"""Sessions: listed, searched, read, and written in."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from starlette.datastructures import UploadFile

from hermes_jobs.errors import Rejected
from hermes_jobs.features.attachments.api import MAX_NAME, File
from hermes_jobs.features.serve.pages.files import files_of
from hermes_jobs.features.serve.pages.frame import Table, caller_of, done, field, page, site_of
from hermes_jobs.features.serve.pages.waiting import waiting
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.interfaces.cli.turns.attached_files import composed
from hermes_jobs.interfaces.html.render import prose

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LISTED = 50
NEWEST = 200  # messages of a session
HEAD = 4_000  # characters of a tool's result


def show_all(request: Request) -> Response:
    """The sessions, or the messages that have the words."""
    site, query = site_of(request), request.query_params.get("q", "").strip()
    return page(
        request,
        "sessions.html",
        "Sessions",
        query=query,
        hits=site.sessions.search(query, limit=LISTED) if query else (),
        sessions=() if query else site.sessions.list(limit=LISTED),
    )


def show(request: Request) -> Response:
    """A session with its newest messages, and a box to write in."""
    site = site_of(request)
    session = site.sessions.get(request.path_params["session"])
    messages = site.sessions.messages(session.session)
    turns = site.turns.list(session=session.session, limit=5)
    going = [turn for turn in turns if turn.status in {"queued", "running", "waiting"}]
    stream = site.application.views.session(session.session).stream
    files = files_of(site, stream)
    said = [
        (
            each,
            prose(site.redact(each.content)) if each.role != "tool" else site.redact(each.content)[:HEAD],
            files.get((each.turn, each.call or ""), ()) if each.role != "assistant" else (),
        )
        for each in messages[-NEWEST:]
    ]
    title = session.title or session.preview or session.session
    found = [waiting(site, turn.turn) for turn in going if turn.status == "waiting"]
    return page(
        request,
        "conversation.html",
        title,
        live=f"stream={stream}",
        session=session,
        said=said,
        left_out=max(0, len(messages) - NEWEST),
        going=going,
        found=found,
        back="turn",
    )


def write(request: Request) -> Response:
    """Send a text with its files to a session, or begin one with it. Raises `Rejected`."""
    site, session = site_of(request), request.path_params.get("session")
    files = [
        File(one_line(PurePath(each.filename or "file").name)[:MAX_NAME], each.file.read())
        for each in request.state.form.getlist("file")
        if isinstance(each, UploadFile) and (each.filename or each.size)
    ]
    text, attachments = composed(site.application.intake, field(request, "text").strip(), files)
    if not text:
        raise Rejected("The text is empty. Nothing was sent.", kind="usage")
    by = caller_of(request).name
    deliver = site.settings.deliver
    submitted = site.turns.submit(text, session=session, source=by, attachments=attachments, deliver=deliver)
    return done(f"/sessions/{site.turns.current(submitted).session}#end")


ROUTES: Table = {
    ("GET", "/sessions"): show_all,
    ("POST", "/sessions"): write,
    ("GET", "/sessions/{session}"): show,
    ("POST", "/sessions/{session}"): write,
}
