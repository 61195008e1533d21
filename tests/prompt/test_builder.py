from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.ports import ToolSpec
from hermes_jobs.kernel.events import Opening, TurnSubmitted
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.prompt.builder import GUIDANCE, IDENTITY, SessionPrompt, guidance_for, normalize
from tests.manual_clock import ManualClock

MOMENT = datetime(2026, 3, 5, 23, 59).astimezone().timestamp()


TOOLS = {"terminal": ("terminal",), "files": ("read_file", "write_file"), "memory": ("memory",), "none": ()}


def tools(toolsets: Sequence[str] | None) -> tuple[ToolSpec, ...]:
    names = (name for each in (("terminal",) if toolsets is None else toolsets) for name in TOOLS[each])
    return tuple(ToolSpec(name, "", {}) for name in names)


def builder(home: Path, clock: ManualClock | None = None, **more: object) -> SessionPrompt:
    return SessionPrompt(
        soul=home / "SOUL.md",
        default_model="some-model",
        workdir=None,
        clock=clock or ManualClock(MOMENT),
        tools=tools,
        **more,  # type: ignore[arg-type]
    )


def session(source: str = "cli", **opening: object) -> Session:
    submitted = TurnSubmitted(
        turn="t1",
        text="Hello",
        source=source,
        session="s1",
        opening=Opening(**opening),  # type: ignore[arg-type]
    )
    return fold(Session(stream="session-s1"), [submitted])


def test_the_day_is_one_of_the_configured_zone(tmp_path: Path) -> None:
    new_year = ManualClock(datetime(2026, 1, 1, 2, tzinfo=UTC).timestamp())
    days = [
        builder(tmp_path, new_year, zone=zone).start(session()).system_prompt
        for zone in (UTC, ZoneInfo("America/New_York"))
    ]
    assert "Today is Thursday, 01 January 2026." in days[0]
    assert "Today is Wednesday, 31 December 2025." in days[1]


def test_the_sections_are_in_their_order(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Use tabs.\n", "utf-8")
    (tmp_path / "SOUL.md").write_text("You are Ada.  \n\n", "utf-8")
    made = builder(tmp_path, blocks=(lambda of: f"Memory of {of.id}.", lambda of: "", lambda of: "Skills."))
    started = made.start(session(system="The caller's words.", workdir=str(project)))
    order = [
        "You are Ada.",
        "The caller's words.",
        "Memory of s1.",
        "Skills.",
        f"Working folder: {project}",
        "Use tabs.",
        "Act instead of describing",
        "Today is Thursday, 05 March 2026.",
        "shown in a terminal",
    ]
    places = [started.system_prompt.index(each) for each in order]
    assert places == sorted(places)
    assert not re.search(r"[ \t]\n|\n\n\n", started.system_prompt)
    assert started.system_prompt.endswith("light Markdown.\n")


def test_the_same_day_gives_the_same_bytes(tmp_path: Path) -> None:
    morning = builder(tmp_path, ManualClock(MOMENT - 20 * 3600)).start(session())
    assert morning == builder(tmp_path).start(session())
    assert morning.system_prompt.startswith(IDENTITY.split("\n", maxsplit=1)[0])
    assert (morning.model, morning.toolsets) == ("some-model", None)


def test_guidance_is_given_only_for_tools_that_are_on(tmp_path: Path) -> None:
    def prompt(*toolsets: str) -> str:
        return builder(tmp_path).start(session(toolsets=toolsets)).system_prompt

    assert "do not depend on each other" in prompt("files")
    assert "# Saving to memory" not in prompt("files")
    assert "interrupted" in prompt("terminal")
    assert "recurring patterns" in prompt("memory")
    assert "interrupted" not in prompt("memory")
    assert "tool" not in prompt("none")
    assert guidance_for([]) == ""
    assert all(each.text in guidance_for(["terminal", "memory", "skill_manage"]) for each in GUIDANCE)


def test_a_platform_that_is_not_known_has_no_hint(tmp_path: Path) -> None:
    assert "terminal" not in builder(tmp_path).start(session(source="api", toolsets=("none",))).system_prompt


def test_a_scheduled_prompt_says_it_is_unattended_and_how_to_stay_silent(tmp_path: Path) -> None:
    prompt = builder(tmp_path).start(session(source="schedule:p1", kind="scheduled")).system_prompt
    assert "nobody can answer" in prompt
    assert "answer exactly [SILENT]" in prompt


def test_an_unreadable_soul_is_reported(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_bytes(b"\xff\xfe")
    with pytest.raises(Rejected, match=r"SOUL\.md cannot be read"):
        builder(tmp_path).start(session())


@given(st.text())
def test_a_normalised_text_has_no_trailing_blanks_and_one_end(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert once.endswith("\n")
    assert not once.endswith("\n\n")
    assert not re.search(r"[ \t]$", once, re.MULTILINE)
    assert "\r" not in once
