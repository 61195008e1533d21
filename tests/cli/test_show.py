"""`show`: what an id means, whatever it is the id of."""

from __future__ import annotations

import pytest

from hermes_jobs.features.replay.events import ReplayPlanned, Variant
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from tests.written_home import WrittenHome


@pytest.fixture
def worked(home: WrittenHome) -> WrittenHome:
    """A home with two sessions, and a turn that used a tool."""
    home.submit("saa", "tabc1", "list the files")
    home.prefetch("saa")
    home.reply("saa", "I look.", "terminal")
    home.run_tool("saa", "a.txt")
    home.reply("saa", "There is a.txt.")
    home.record("saa")
    home.submit("sab", "tabc2")
    return home


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ("tabc1", "turns show tabc1"),
        ("tabc2", "turns show tabc2"),
        ("tabc1-1", "turns show tabc1"),
        ("tabc1-1-0~2", "turns show tabc1"),
        ("tabc1-record", "turns show tabc1"),
        ("saa", "sessions show saa"),
        ("saa-title", "sessions show saa"),
        ("session-saa", "sessions show saa"),
        ("session-saa-flush-1", "sessions show saa"),
    ],
)
def test_an_id_is_shown_by_the_command_of_its_kind(worked: WrittenHome, given: str, command: str) -> None:
    shown = worked.run("show", given)
    assert (shown.code, shown.err.splitlines()[0]) == (0, f"hermes-jobs {command}")
    assert shown.out == worked.run(*command.split()).out
    assert worked.run("show", given, "--json").json == worked.run(*command.split(), "--json").json


def test_what_has_no_command_of_its_own_is_shown_by_its_events(worked: WrittenHome) -> None:
    planned = ReplayPlanned(replay="pxyz", turns=(), variants=(Variant(name="replay"),), samples=1)
    write = StreamWrite(stream="replay-pxyz", events=(planned,), expected=0)
    worked.log.append(Append(meta=EventMeta(worker="w1"), recorded_at=worked.recorded_at, writes=(write,)))
    shown = worked.run("show", "pxyz-1-0")
    assert shown.err.splitlines() == ["hermes-jobs log events --stream replay-pxyz"]
    assert "ReplayPlanned" in shown.out


def test_a_beginning_that_fits_several_lists_them(worked: WrittenHome) -> None:
    several = worked.run("show", "sa")
    assert (several.code, several.out) == (2, "")
    assert "saa" in several.err
    assert "sab" in several.err


def test_an_id_of_nothing_is_refused_with_the_lists_of_ids(worked: WrittenHome) -> None:
    unknown = worked.run("show", "nosuch")
    assert (unknown.code, unknown.out) == (2, "")
    assert "Nothing has the id 'nosuch'" in unknown.err
    assert "turns list" in unknown.err
    assert worked.run("show", "last").code == 2
