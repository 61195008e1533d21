"""A part is made again when a setting changes that it, or a part that it was given, depends on."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes_jobs.bootstrap import Application
from hermes_jobs.bootstrap.agent_parts import AgentParts
from hermes_jobs.bootstrap.made_of import fields_of, parts_of
from hermes_jobs.settings import load


@pytest.fixture
def application(tmp_path: Path) -> Application:
    """An application in which every part was made."""
    made = Application(load({"HERMES_JOBS_HOME": str(tmp_path)}), {"PATH": "/usr/bin:/bin"})
    for part in sorted(parts_of(AgentParts)):
        getattr(made, part)
    return made


def kept(application: Application, **changed: object) -> frozenset[str]:
    """The parts that stay under settings with these changes."""
    other = application.under(replace(application.settings, **changed))
    return frozenset(
        part for part in parts_of(AgentParts) if other.__dict__.get(part) is application.__dict__[part]
    )


def test_the_curator_is_made_again_with_the_skills(application: Application) -> None:
    terminal = replace(application.settings.terminal, timeout=7)
    assert not {"skills", "curator", "toolbox"} & kept(application, terminal=terminal)
    assert {"endpoints", "providers", "timezone", "snapshots"} <= kept(application, terminal=terminal)


def test_settings_that_are_equal_change_nothing(application: Application) -> None:
    assert kept(application) == parts_of(AgentParts)


def test_a_part_follows_what_its_module_and_the_settings_own_properties_read(
    application: Application,
) -> None:
    assert {"model", "models", "auxiliary", "secrets"} <= fields_of(AgentParts, "endpoints")
    assert {"schedules", "terminal", "secrets", "skills"} <= fields_of(AgentParts, "curator")
    assert fields_of(AgentParts, "timezone") == {"schedules"}


def test_parts_of_the_process_stay_whatever_changes(application: Application) -> None:
    files = replace(application.settings.files, keep_days=1)
    schedules = replace(application.settings.schedules, timezone="Europe/Lisbon")
    assert not {"snapshots", "timezone", "curator"} & kept(application, files=files, schedules=schedules)
    other = application.under(replace(application.settings, files=files, schedules=schedules))
    assert (other.log, other.views, other.memory) == (application.log, application.views, application.memory)


def test_a_name_that_is_used_in_a_nested_function_counts() -> None:
    class Owner:
        settings: object

        @cached_property
        def part(self) -> object:
            return lambda: self.settings.web  # type: ignore[attr-defined]

        @cached_property
        def other(self) -> object:
            return self.part

    assert fields_of(Owner, "other") == {"web"}
