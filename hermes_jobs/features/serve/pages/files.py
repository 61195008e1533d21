"""Pictures and files of turns: which there are, and their contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from hermes_jobs.errors import Rejected
from hermes_jobs.features.serve.pages.frame import Table, site_of
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.views.attached import attachments_of
from hermes_jobs.kernel.views.turn_events import events_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from hermes_jobs.features.serve.site import Site

PNG, JPEG = "image/png", "image/jpeg"
SHOWN = {PNG, JPEG, "image/gif", "image/webp"}
"""What is shown in place; anything else is only stored."""
SECONDS = 3_600  # a browser may show it again without asking


class TurnFile(msgspec.Struct, frozen=True):
    """A file of a turn. `path` is that of its content; empty once it is forgotten."""

    about: str
    path: str
    is_picture: bool


def files_of(site: Site, stream: str) -> Mapping[tuple[str, str], tuple[TurnFile, ...]]:
    """The files of a session by turn and call; those of the turn's text have no call."""
    found: dict[tuple[str, str], tuple[TurnFile, ...]] = {}
    for recorded in site.application.log.read(stream):
        match recorded.event:
            case e.TurnSubmitted() as event if event.attachments:
                found[event.turn, ""] = _files(event.turn, event.attachments)
            case e.ToolFinished() as event if event.attachments:
                found[event.turn, event.call] = _files(event.turn, event.attachments)
    return found


def _files(turn: str, attachments: tuple[Attachment, ...]) -> tuple[TurnFile, ...]:
    return tuple(turn_file(turn, attachment) for attachment in attachments)


def turn_file(turn: str, attachment: Attachment) -> TurnFile:
    """How a page shows it."""
    path = f"/turns/{turn}/files/{attachment.digest}" if attachment.digest else ""
    return TurnFile(attachment.about, path, attachment.is_picture)


def show(request: Request) -> Response:
    """The content of a file of the turn: a picture as it is sent to models, anything else to be stored.

    Raises `Rejected` where there is none.
    """
    application = site_of(request).application
    turn = application.views.turn(application.views.find_turn(request.path_params["turn"]))
    digest = request.path_params["digest"]
    attached = (each for _, each in attachments_of(turn.id, events_of(application.log, turn)))
    attachment = next((each for each in attached if each.digest == digest), None)
    content = None if attachment is None else application.attached_content(attachment.sent or digest)
    if attachment is None or content is None:
        raise Rejected("There is no such file.", kind="not_found")
    headers = {"Cache-Control": f"private, max-age={SECONDS}"}
    if attachment.sent:  # written anew
        return Response(content, headers=headers, media_type=PNG if content[:4] == b"\x89PNG" else JPEG)
    if attachment.media_type in SHOWN:
        return Response(content, headers=headers, media_type=attachment.media_type)
    headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(attachment.file_name, safe='')}"
    return Response(content, headers=headers, media_type="application/octet-stream")


ROUTES: Table = {("GET", "/turns/{turn}/files/{digest}"): show}
