"""What all parts of the site share, and how a part declares itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hermes_jobs.client.memory import Memory
from hermes_jobs.client.schedules import Schedules
from hermes_jobs.client.sessions import Sessions
from hermes_jobs.client.turns import Turns
from hermes_jobs.features.serve.feed import Feed
from hermes_jobs.runtime.redis_live import channel_of

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.serve.sign_in import Caller, SignIn
    from hermes_jobs.settings.sections.processes import ServeSettings


class Site:
    """A home that is served. Safe for threads."""

    def __init__(self, application: Application, settings: ServeSettings, sign_in: SignIn) -> None:
        self.application = application
        self.settings = settings
        self.sign_in = sign_in
        # Made here, before there are threads that would make one each.
        _ = application.log, application.views, application.workers
        self.turns = Turns(application)
        self.sessions = Sessions(application)
        self.schedules = Schedules(application)
        self.memory = Memory(application)
        self.feed = Feed(application.log)
        self.live = channel_of(application)

    def redact(self, text: str) -> str:
        """The text without secrets."""
        return self.application.settings.secrets.redact(text)


class Part(NamedTuple):
    """A part of the site: its routes, and who may ask for them.

    `identify` says who asks under one of the `prefixes`; None for nobody, who is refused. A caller with a
    CSRF token is a browser: its POSTs need the site's own origin and that token. One without is a program.
    """

    prefixes: tuple[str, ...]
    routes: Callable[[Site], Sequence[BaseRoute]]
    identify: Callable[[Site, HTTPConnection], Caller | None]
    max_body: int = 1024 * 1024
    """The most bytes of a body."""
    refuse: Callable[[int, str], Response] | None = None
    """How a status and a sentence of the gate are said; None: in plain text."""
    max_readers: int = 64
    """The most bodies that are read at once."""
    uploads: tuple[str, ...] = ()
    """Paths below which forms may carry files besides: as many bytes as a message may have of them."""
