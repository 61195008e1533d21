"""`-c` continues in the folder where it is said; what names the folder of a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.screen import Screen
from tests.home import Home
from tests.model_server import ModelServer


@pytest.fixture
def other(home: Home, tmp_path: Path) -> str:
    """A session in another folder, `other`, that is newer than one in the folder of the home's commands."""
    home.send("Here")
    (tmp_path / "other").mkdir()
    return str(home.send("--workdir", str(tmp_path / "other"), "There")["session"])


def test_the_newest_session_of_this_folder_is_continued(home: Home, other: str, tmp_path: Path) -> None:
    here = home.send("-c", "More")["session"]
    assert here != other
    assert home.send("-c", "--workdir", "../other", "More")["session"] == other
    assert home.send("-c", "And more")["session"] == here
    assert home.send("-c", "--anywhere", "Again")["session"] == here
    home.work = tmp_path / "other"
    assert home.send("-c", "And here")["session"] == other
    listed = home.run("sessions", "list", "--json").json
    assert {each["session"]: each["workdir"] for each in listed} == {
        here: str(tmp_path / "work"),
        other: str(tmp_path / "other"),
    }


def test_where_there_is_none_the_newest_elsewhere_is_named(home: Home, other: str, tmp_path: Path) -> None:
    home.work = tmp_path
    refused = home.run("send", "-c", "More")
    assert (refused.code, refused.out) == (2, "")
    assert "There is no session in ~ to continue.\n" in refused.err
    assert f"The newest elsewhere: {other} (There), in ~/other, " in refused.err
    assert "--anywhere" in refused.err
    assert home.send("-c", "--anywhere", "More")["session"] == other


def test_an_undone_turn_stays_in_its_folder(home: Home, other: str, tmp_path: Path) -> None:
    fork = home.run("sessions", "fork", other, "--json").json
    assert fork["workdir"] == str(tmp_path / "other")
    assert home.send("-c", "More")["session"] != fork["session"]


def test_a_scheduled_run_is_not_continued(home: Home) -> None:
    here = home.send("Here")["session"]
    home.run("schedule", "add", "--yes", "--workdir", ".", "--name", "digest", "Say hello every day at 9")
    ran = home.run("schedule", "run", "digest", "--wait")
    assert ran.code == 0, ran
    assert home.send("-c", "More")["session"] == here


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--workdir", "nowhere"), "there is no folder 'nowhere'"),
        (("--workdir", "file"), "there is no folder 'file'"),
        (("--workdir", ""), "there is no folder ''"),
        (("--workdir", ".", "-s", "s"), "a session keeps its folder"),
        (("--workdir", ".", "-c", "--anywhere"), "--workdir and --anywhere exclude each other"),
        (("--anywhere",), "--anywhere goes with --continue"),
        (("-c", "-s", "s"), "exclude each other"),
    ],
)
def test_a_folder_that_cannot_be_meant_is_a_usage_error(
    home: Home, arguments: tuple[str, ...], told: str
) -> None:
    (home.work / "file").touch()
    for command in (("send", "Text"), ("chat",)):
        ran = home.run(*command, *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert told in ran.err
    assert not home.path.exists()


def test_the_folder_is_shown_on_a_terminal(home: Home, model_server: ModelServer, other: str) -> None:
    with Screen(home, "send", "-c", "--anywhere", "More") as screen:
        assert screen.end() == 0
        assert f"· Session {other} (There) in ~/other" in screen.text
    with Screen(home, "send", "Hello") as screen:
        assert screen.end() == 0
        assert "· New session in ~/work" in screen.text
    with Screen(home, "sessions", "list") as screen:
        assert screen.end() == 0
        assert "~/other" in screen.text
    assert "Folder       ~/other" in home.run("sessions", "show", other).out
