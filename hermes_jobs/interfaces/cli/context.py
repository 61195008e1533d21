"""The context of one command: its environment, settings and application, opened on first use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Misconfigured
from hermes_jobs.interfaces.cli.building import show_building

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.views.models import SessionView, TurnView
    from hermes_jobs.runtime.home_copy import HomeCopy
    from hermes_jobs.settings import Settings

DEBUG = "HERMES_JOBS_DEBUG"
"""Set to 1, it shows tracebacks. It is read here and is not a key of the configuration."""


class CliContext:
    """The environment of one command, and the settings and the application made from it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.debug = environ.get(DEBUG, "") not in {"", "0"}
        self._copy: HomeCopy | None = None
        self.environ = {name: value for name, value in environ.items() if name != DEBUG}

    @cached_property
    def settings(self) -> Settings:
        """The settings. Raises `Misconfigured`."""
        from hermes_jobs.settings import load

        settings = load(self.environ)
        for text in settings.removed:
            click.echo(f"Warning: {text}", err=True)
        return settings

    @cached_property
    def application(self) -> Application:
        """The home with its log. Raises `Misconfigured`, `LogUnavailable`."""
        from hermes_jobs.bootstrap import Application

        try:
            application = Application(self.settings, self.environ, notify=self._note, progress=show_building)
        except Misconfigured as error:
            return self._reading_a_copy(error)
        if self.settings.paths.forgetting.exists():
            from hermes_jobs.features.forgetting.cleanup import finish

            finish(application)
        return application

    def _reading_a_copy(self, refusal: Misconfigured) -> Application:
        """The application of a home that cannot be written: it can be read. Raises the refusal otherwise."""
        from msgspec.structs import replace

        from hermes_jobs.bootstrap import Application
        from hermes_jobs.runtime.home_copy import HomeCopy, is_read_only

        if not is_read_only(self.settings.paths):
            raise refusal
        self._note(f"{refusal.message} This command reads a copy of it.")
        self._copy = HomeCopy(self.settings.paths)
        settings = replace(self.settings, paths=self._copy.paths)
        return Application(
            settings, self.environ, notify=self._note, progress=show_building, read_only=refusal
        )

    def _note(self, text: str) -> None:
        from hermes_jobs.kernel.turns.titles import printable

        click.echo(printable(self.redact(text)), err=True)

    def find_session(self, text: str) -> SessionView:
        """The session that an id, a unique prefix, a title or `last` means. Raises `Rejected`."""
        views = self.application.views
        return views.session(views.find_session(text))

    def find_turn(self, text: str) -> TurnView:
        """The turn that an id, a unique prefix or `last` means. Raises `Rejected`."""
        views = self.application.views
        return views.turn(views.find_turn(text))

    def redact(self, text: str) -> str:
        """The text without any secret of this process."""
        if "settings" in self.__dict__:
            return self.settings.secrets.redact(text)
        from hermes_jobs.settings.secrets import hide_url_passwords

        return hide_url_passwords(text)

    def close(self) -> None:
        """Release what was opened."""
        if "application" in self.__dict__:
            self.application.close()
        if self._copy is not None:
            self._copy.close()
