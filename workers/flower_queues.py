"""Flower's page “Queues”: what waits, runs and is due later, and what reviews have saved; read from the log.

Flower has no extension points for pages. This one is a handler more, behind Flower's own authentication, in
Flower's own frame, with a link in its navigation; where `serve` runs, another one leads to the web pages.
This module imports Flower.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
from flower.urls import settings
from flower.views import BaseHandler
from tornado.template import Loader, Template
from tornado.web import Application as TornadoApplication
from tornado.web import authenticated, url

from hermes_jobs.bootstrap import Application
from hermes_jobs.client.queues import HeartbeatTracker, QueueStats, age, queues_of, read_stats
from hermes_jobs.errors import LogUnavailable
from hermes_jobs.features.reviews.saved_names import saved_names
from hermes_jobs.features.reviews.tables import ReviewView, select_reviews
from hermes_jobs.features.serve.sign_in import read_running
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.kernel.log.log import StepRow
from hermes_jobs.runtime.queues import ALL_QUEUES

TEMPLATES = Path(__file__).parent / "templates"
PAGE = "queues"
LINK = """
        <li class="nav-item">
          <a class="nav-link{% if active_tab == 'queues' %} active{% end %}"
            href="{{ reverse_url('queues') }}"
            {% if active_tab == 'queues' %}aria-current="page"{% end %}>Queues</a>
        </li>
        {% set web = web_pages() %}
        {% if web %}
        <li class="nav-item">
          <a class="nav-link" href="{{ web }}" title="Waiting, turns, sessions">hermes-jobs</a>
        </li>
        {% end %}
"""
SHOWN = 20  # steps that are due later, and reviews
RELOADED_EVERY = 5  # seconds


class LaterStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step that is not due yet, or the expiry of a wait."""

    id: str
    kind: str
    due: str


class ReviewRow(msgspec.Struct, frozen=True, kw_only=True):
    """A review with the names of what it saved; `why` is the reason of its failure."""

    id: str
    kind: str
    state: str
    requested: str
    saved: str
    why: str


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    stats: QueueStats
    later: tuple[LaterStep, ...]
    reviews: tuple[ReviewRow, ...]


class QueueReader:
    """Reads the log and the views in a thread of its own."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._heartbeats = HeartbeatTracker(application)
        self._read_at = float("-inf")
        self.thread = ThreadPoolExecutor(1, "queues")

    def read(self) -> Overview:
        """The queues and the newest reviews. Raises `LogUnavailable`."""
        application, now = self._application, self._application.clock.monotonic()
        if now - self._read_at > application.settings.workers.lease_seconds:
            self._heartbeats.wait_for_heartbeats()  # a worker of another host may have died since
        stats = read_stats(application, ALL_QUEUES, self._heartbeats)
        self._read_at = application.clock.monotonic()
        reviews = application.views.read(select_reviews, limit=SHOWN)
        return Overview(
            stats=stats,
            later=_later(application.log.steps(), application.clock.now()),
            reviews=tuple(self._reviews(reviews)),
        )

    def _reviews(self, reviews: Sequence[ReviewView]) -> Sequence[ReviewRow]:
        saving = {review.id for review in reviews if review.saved}
        names = saved_names(self._application.log, saving, texts=False)
        secrets = self._application.settings.secrets
        return [
            ReviewRow(
                id=review.id,
                kind=review.kind,
                state=review.status,
                requested=format_time(review.requested_at),
                saved=names.get(review.id, f"hermes-jobs reviews show {review.id}" if review.saved else ""),
                why=secrets.redact(review.message.partition("\n")[0]) if review.status == "failed" else "",
            )
            for review in reviews
        ]


class QueuesPage(BaseHandler):
    """`/queues`."""

    def initialize(self, reader: QueueReader) -> None:
        """Called by Tornado before each request."""
        self._reader = reader

    @authenticated
    async def get(self) -> None:
        """The page; with 503 and the reason where the log cannot be read."""
        self.set_header("Refresh", str(RELOADED_EVERY))
        overview, problem = None, ""
        try:
            loop = self.application.io_loop
            overview = await loop.run_in_executor(self._reader.thread, self._reader.read)
        except LogUnavailable as error:
            problem = str(error)
            self.set_status(503)
        self.render(
            "queues.html", overview=overview, problem=problem, age=age, queues_of=queues_of, shown=SHOWN
        )


class Templates(Loader):
    """Flower's templates, with a link to the page in the navigation, and the page's own."""

    def _create_template(self, name: str) -> Template:
        folder = TEMPLATES if name == f"{PAGE}.html" else Path(self.root)
        text = (folder / name).read_text()
        if name == "navbar.html":
            text = text.replace("</ul>", f"{LINK}</ul>", 1)
        return Template(text, name=name, loader=self)


def templates(application: Application) -> Templates:
    """The value of Tornado's setting `template_loader`."""
    paths, public_url = application.settings.paths, application.settings.serve.public_url

    def web_pages() -> str:
        running = read_running(paths)
        return public_url or running.url if running is not None else ""

    return Templates(os.fspath(settings["template_path"]), namespace={"web_pages": web_pages})


def add_page(flower: TornadoApplication, application: Application, prefix: str) -> None:
    """Serve the page, below Flower's `url_prefix`."""
    path = f"/{prefix.strip('/')}/{PAGE}" if prefix else f"/{PAGE}"
    handlers: list[Any] = [url(path, QueuesPage, {"reader": QueueReader(application)}, name=PAGE)]
    flower.add_handlers(".*", handlers)


def _later(rows: Sequence[StepRow], now: float) -> tuple[LaterStep, ...]:
    waiting = sorted(
        (row.step for row in rows if row.owner is None and row.step.not_before > now),
        key=lambda step: step.not_before,
    )
    return tuple(
        LaterStep(id=step.id, kind=step.kind, due=format_time(step.not_before, seconds=True))
        for step in waiting[:SHOWN]
    )
