"""Where the memory's entries are, as a worker and a person ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.settings import load


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    (tmp_path / "config.yaml").write_text("memory: {user_chars: 60}\n")
    made = Application(load({}, home=tmp_path), {})
    yield made
    made.close()


def remember(application: Application, *texts: str) -> None:
    file = application.settings.paths.memories / "USER.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n§\n".join(texts))


def is_asked(application: Application) -> bool:
    """Whether the views have been made."""
    return any(application.settings.paths.views.glob("*"))


def test_a_session_whose_prompt_has_room_for_all_needs_no_views(application: Application) -> None:
    remember(application, "Lives in Lisbon.", "Likes tea.")
    found = application.memory_places.of_session("s1")
    assert found.in_prompt("user") == ("Lives in Lisbon.", "Likes tea.")
    assert not is_asked(application)


def test_above_the_limit_uses_decide(application: Application) -> None:
    remember(application, "Lives in Lisbon, in the old town.", "Likes tea with milk in it.", "Reads.")
    found = application.memory_places.of_session("s1")
    assert len(found.recalled) == 1
    assert is_asked(application)
