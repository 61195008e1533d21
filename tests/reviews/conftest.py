"""A home whose model has a small window, at a scripted server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.settings import load
from tests.model_server import ModelServer

NO_SECRETS: Mapping[str, str] = {}
Make = Callable[..., Application]


@pytest.fixture
def make_installation(tmp_path: Path, model_server: ModelServer) -> Iterator[Make]:
    """Makes installations of one home; keywords are environment variables without their prefix.

    `secrets` are variables as they are.
    """
    work = tmp_path / "work"
    work.mkdir()
    with ExitStack() as stack:

        def make(secrets: Mapping[str, str] = NO_SECRETS, **variables: object) -> Application:
            environ = {
                "PATH": os.environ["PATH"],
                "HERMES_JOBS_HOME": str(tmp_path / "home"),
                "OPENAI_BASE_URL": model_server.base_url,
                "OPENAI_API_KEY": "sk-nobody-may-ever-see-this-0123456789",
                "HERMES_JOBS_MODEL": "scripted",
                "HERMES_JOBS_AGENT__WORKDIR": str(work),
                **{f"HERMES_JOBS_{name}": str(value) for name, value in variables.items()},
                **secrets,
            }
            return stack.enter_context(closing(Application(load(environ), environ)))

        yield make
