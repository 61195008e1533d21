"""`hermes-jobs memory curate`, and the curator by the clock."""

from __future__ import annotations

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.memory.rules.writes import Operation, Origin, Write
from hermes_jobs.runtime.housekeeping import maintain_home_if_due
from hermes_jobs.settings import load
from tests.written_home import WrittenHome

TEA, SAME = "Drinks oat milk in her tea", "drinks oat milk in her tea."
TUESDAY, THURSDAY = "The gym at Aireside is on Tuesdays", "The gym at Aireside is on Thursdays"


def remember(home: WrittenHome, *texts: str) -> None:
    for text in texts:
        assert home.run("memory", "add", text).code == 0


def entries(home: WrittenHome) -> list[str]:
    found: list[str] = home.run("memory", "show", "--json").json["memory"]["entries"]
    return found


def test_proposals_are_listed_and_nothing_changes_before_they_are_applied(home: WrittenHome) -> None:
    remember(home, TEA, SAME, TUESDAY, THURSDAY)
    listed = home.run("memory", "curate", "--json").json
    assert [(each["number"], each["rule"], each["entry"]) for each in listed] == [
        (1, "same", TEA),
        (2, "contradicted", TUESDAY),
    ]
    assert "memory curate --apply, or --only N" in home.run("memory", "curate").err
    assert entries(home) == [TEA, SAME, TUESDAY, THURSDAY]


def test_contradicted_entries_go_only_by_number_and_one_command_undoes_all(
    home: WrittenHome,
) -> None:
    remember(home, TEA, SAME, TUESDAY, THURSDAY)
    assert home.run("memory", "curate", "--apply").err.startswith("Done: 1 change to the memory.")
    assert entries(home) == [SAME, TUESDAY, THURSDAY]
    assert f"- {TEA} (it says the same as “{SAME}”)" in home.run("memory", "log").out
    home.run("memory", "curate", "--only", "1")
    assert entries(home) == [SAME, THURSDAY]

    assert home.run("memory", "curate", "--undo").err == "1 change of the curator undone.\n"
    assert sorted(entries(home)) == sorted([SAME, THURSDAY, TUESDAY])
    home.run("memory", "curate", "--undo")
    assert sorted(entries(home)) == sorted([SAME, THURSDAY, TUESDAY, TEA])
    assert home.run("memory", "curate", "--undo").code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "1"), "There is no proposal 1."),
        (("--only", "0"), "0 is not in the range"),
        (("--apply", "--undo"), "exclude each other"),
    ],
)
def test_wrong_calls_are_answered_with_a_sentence(
    home: WrittenHome, arguments: tuple[str, ...], said: str
) -> None:
    done = home.run("memory", "curate", *arguments)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(("policy", "left"), [("ask", [TEA, SAME]), ("apply", [SAME])])
def test_the_clock_applies_safe_changes_by_policy(home: WrittenHome, policy: str, left: list[str]) -> None:
    environ = {**home.environ, "HERMES_JOBS_MEMORY__CURATE": policy}
    application = Application(load(environ), environ)
    operations = [Operation(action="add", target="memory", content=text) for text in (TEA, SAME)]
    application.memory.change(Write(operations, Origin("turn"), application.memory_limits), "test")

    maintain_home_if_due(application)

    assert list(application.memory.sync().memory) == left
    application.close()
