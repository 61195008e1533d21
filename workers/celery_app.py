"""The application for Celery's own commands: `celery -A workers inspect ping`, `control`, `events`."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn

import click

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.runtime.broker_address import require_broker
from hermes_jobs.settings import load
from workers.app import make_app

if TYPE_CHECKING:
    from celery import Celery


def application_of_home() -> Celery:
    """The application on the broker of this home (HERMES_JOBS_HOME). It starts no worker and no scheduler.

    Raises `SystemExit` with the reason where no broker answers, or the settings are wrong: Celery would print
    any other exception with its traceback.
    """
    try:
        settings = load(os.environ)
        with closing(Application(settings, os.environ)) as application:
            app = make_app(require_broker(settings), prefix=f"{application.log.log_id}.")
    except HermesJobsError as error:
        hint = getattr(error, "hint", "")
        raise SystemExit(f"Error: {error}\nHint: {hint}" if hint else f"Error: {error}") from None
    for name, command in (("Worker", "hermes-jobs run worker"), ("Beat", "hermes-jobs run beat")):
        setattr(app, name, _refuse(command))
    return app


def _refuse(command: str) -> Any:
    def refuse(**_options: object) -> NoReturn:
        raise click.ClickException(f"A process of Celery's own knows no steps. Start it with `{command}`.")

    return refuse
