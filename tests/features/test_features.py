"""Features declare themselves: what they declare is there, and nobody reaches into another's folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import click
import grimp
import pytest

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.feature import Feature, features
from hermes_jobs.kernel.log.factory import sqlite_url
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.streams.stream_kind import StreamKind
from hermes_jobs.kernel.streams.streams import about_sessions
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from tests.eventlog.test_opaque import fill
from tests.processes import ROOT

FOLDER = "hermes_jobs.features"
OPEN = {"api", "events"}
"""The modules of a feature that others may import."""
NOT_YET = {
    "acp": "gateway",
    "compression": "search",
    "consolidation": "memory reviews",
    "delegation": "skills",
    "deliveries": "gateway schedules",
    "forgetting": "memory schedules",
    "gateway": "deliveries",
    "mcp": "api gateway memory schedules search",
    "memory": "forgetting recall replay search",
    "push": "deliveries",
    "recall": "memory search",
    "replay": "memory skills snapshots",
    "reviews": "consolidation memory replay skills",
    "schedules": "deliveries usage",
    "serve": "mcp triggers usage",
    "skills": "memory replay reviews snapshots",
    "telegram": "gateway",
    "usage": "consolidation memory schedules",
}
"""The features of which each still imports other modules."""


@pytest.mark.parametrize("feature", features(), ids=lambda feature: feature.package.rpartition(".")[2])
def test_what_a_feature_declares_is_there(feature: Feature):
    if feature.events:
        assert all(issubclass(kind, Event) for kind in get_args(feature.load(feature.events)))
    if feature.streams:
        assert all(isinstance(kind, StreamKind) for kind in feature.load(feature.streams))
    if feature.tables:
        sources = ViewSources(lambda call: None, lambda positions: {}, lambda digest: None)
        projections: tuple[Projection, ...] = feature.load(feature.tables)(sources)
        assert all(set(projection.event_types) <= set(EVENT_TYPES.values()) for projection in projections)
    for function in (
        *(feature.reaction, feature.turn_end, feature.steps),
        *(feature.tools, feature.prompt, feature.built),
    ):
        assert not function or isinstance(feature.load(function), Callable)  # type: ignore[arg-type]
    for command in feature.commands.values():
        assert isinstance(feature.load(command.target), click.Command)


IDS_ALONE = {
    "ScheduleFired": "a session in which a schedule continues cannot be deleted",
    "ScheduleChecking": "the same",
    "TriggerFired": "an id, without a text of the session",
    "TriggerStarted": "the same",
    "ConversationOpened": "the same",
    "VerificationRequested": "of an experiment, whose replays are about the session",
}
"""Events that name a session in streams that stay when it is deleted, and why."""


def test_what_tells_of_a_session_is_deleted_with_it():
    """A stream with such an event is `about` the session, or the event says nothing of it."""
    covered = {each.event.__name__ for each in about_sessions()}
    told = {
        kind.__name__
        for feature in features()
        if feature.events
        for kind in get_args(feature.load(feature.events)) or (feature.load(feature.events),)
        if {"session", "sessions", "turns"} & set(kind.__struct_fields__)
    }
    assert told - covered == set(IDS_ALONE)


def test_a_feature_uses_another_one_only_through_its_api_or_events():
    """What does not yet is listed: a pair that is no longer needed goes, and no new one comes."""
    graph = grimp.build_graph("hermes_jobs")
    inside = [module for module in graph.modules if module.startswith(f"{FOLDER}.")]
    reached = {
        (place(module)[0], place(other)[0])
        for module in inside
        for other in graph.find_modules_directly_imported_by(module)
        if other.startswith(f"{FOLDER}.")
        and place(other)[0] != place(module)[0]
        and place(other)[1].split(".")[0] not in OPEN
    }

    assert reached == {(one, other) for one, others in NOT_YET.items() for other in others.split()}


REMOVABLE = {
    "telegram": ("features.gateway.cli",),
    "tracing": (),
    "ensembles": (),
    "web": (),
    "acp": (),
    "questions": (),
    "holding": (),
}
"""Features that nothing needs, and the modules that name one where it is asked for by its name."""


@pytest.mark.parametrize("name", REMOVABLE)
def test_nothing_imports_a_feature_that_can_be_taken_away(name: str):
    graph = grimp.build_graph("hermes_jobs", "workers", "schedules", exclude_type_checking_imports=True)
    folder = f"{FOLDER}.{name}"
    importers = {
        importer.removeprefix("hermes_jobs.")
        for module in (folder, *graph.find_descendants(folder))
        for importer in graph.find_modules_that_directly_import(module)
        if importer != folder and not importer.startswith(f"{folder}.")
    }
    assert importers == set(REMOVABLE[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", REMOVABLE)
def test_an_installation_without_a_feature_works(name: str, tmp_path: Path):
    """Given a copy of the packages without its folder and its line, and a home with a stream of another one
    that is not installed: the command line works."""
    for package in ("hermes_jobs", "workers", "schedules"):
        shutil.copytree(ROOT / package, tmp_path / package)
    shutil.rmtree(tmp_path / "hermes_jobs" / "features" / name)
    listed = tmp_path / "hermes_jobs" / "app.py"
    listed.write_text(listed.read_text().replace(f'    "{name}",\n', ""))
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    fill(sqlite_url(home / "events.db"))

    def run(*arguments: str) -> str:
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HERMES_JOBS_HOME": str(home)}
        command = [sys.executable, "-m", "hermes_jobs", *arguments]
        ended = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120
        )
        assert ended.returncode == 0, (arguments, ended.stderr)
        return ended.stdout

    sent = json.loads(run("send", "--json", "hello"))
    checks = {check["check"]: check["message"] for check in json.loads(run("doctor", "--json"))["checks"]}

    assert sent["status"] == "completed"
    assert checks["features"] == "1 stream of 'bookmark': of a feature that this installation does not have"
    assert ("traces" in checks) == (name != "tracing")
    assert json.loads(run("events", "verify", "--json"))["findings"] == []


def place(module: str) -> tuple[str, str]:
    """The feature of a module in a feature's folder, and the module's name there."""
    feature, _, name = module.removeprefix(f"{FOLDER}.").partition(".")
    return feature, name
