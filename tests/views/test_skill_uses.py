"""How often skills were read for somebody's turn, and how those turns ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.features.skills.tables import SkillUse, select_skill_uses
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.views.views import Views
from tests.views.histories import append, new_log


@pytest.fixture
def views(tmp_path: Path) -> Iterator[Views]:
    log = new_log(tmp_path)
    facts: list[tuple[str, e.SessionEvent]] = []

    def turn(name: str, *calls: e.SessionEvent, kind: e.SessionKind = "conversation") -> None:
        stream = f"session-{name}"
        opening = e.Opening(kind=kind)
        submitted = e.TurnSubmitted(turn=name, text="x", source="cli", session=name, opening=opening)
        facts.extend((stream, fact) for fact in (submitted, *calls))

    turn("a", *viewed("a-0", "tidy"), *viewed("a-1", "tidy"), e.TurnCompleted(turn="a", answer="x"))
    turn("b", *viewed("b-0", "tidy"), e.TurnFailed(turn="b", kind="auth", message="x"))
    turn("c", *viewed("c-0", "tidy"), *viewed("c-1", "pdf"), e.TurnCancelled(turn="c", by="user"))
    turn("d", *viewed("d-0", "pdf"))
    turn("e", *viewed("e-0", "gone", ok=False), *viewed("e-1", "{", raw=True))
    turn("f", *viewed("f-0", "tidy"), e.TurnCompleted(turn="f", answer="x"), kind="review")
    append(log, facts)
    views = Views(log, tmp_path / "views")
    yield views
    views.close()
    log.close()


def viewed(call: str, skill: str, *, ok: bool = True, raw: bool = False) -> tuple[e.SessionEvent, ...]:
    turn = call.split("-", maxsplit=1)[0]
    arguments = skill if raw else f'{{"name": " {skill} "}}'
    started = e.ToolStarted(
        turn=turn, step=turn, call=call, name="skill_view", arguments=arguments, attempt=1, effect="read"
    )
    return (started, started, e.ToolFinished(turn=turn, call=call, ok=ok, content="x"))


def test_each_turn_that_read_a_skill_counts_once_by_how_it_ended(views: Views) -> None:
    uses = views.read(select_skill_uses)
    assert {name: counts(use) for name, use in uses.items()} == {
        "tidy": (3, 1, 1, 1, 0),
        "pdf": (2, 0, 0, 1, 1),
    }
    assert uses["tidy"].last_used_at is not None


def counts(use: SkillUse) -> tuple[int, ...]:
    return use.uses, use.completed, use.failed, use.cancelled, use.open


def test_a_rebuild_counts_the_same(views: Views) -> None:
    before = views.read(select_skill_uses)
    views.rebuild()
    assert views.read(select_skill_uses) == before
