"""`kill -9` while the agent writes skills: the log, the files and the view agree afterwards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.features.skills.content import content_of
from hermes_jobs.features.skills.tables import select_skill_uses
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish, installed
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.skills.hosts import skill_text


def writes_a_skill(seen: Seen) -> Action:
    """One round: a skill named like the text, a file in it, and a look at it."""
    name = seen.last_user_text
    if seen.rounds:
        return Answer(text=f"Done: {name}")
    manage = {"name": name, "category": "tests"}
    return Answer(
        tool_calls=(
            AskedCall("skill_manage", {**manage, "action": "create", "content": skill_text(name)}),
            AskedCall(
                "skill_manage",
                {"name": name, "action": "write_file", "file_path": "scripts/a.sh", "content": "#!/bin/sh\n"},
            ),
            AskedCall("skill_view", {"name": name}),
        )
    )


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_skills_survive_a_kill_at_every_append_of_the_turn_that_writes_them(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(writes_a_skill)
    sends = Sends()
    with installed(home) as application:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            code = sends.run(home.environ, home.work, [f"{moment}-{at}"], at, moment)
            finish(application)
            assert_files_agree(application)
        assert code == 0
        assert at > 10, "a turn has more appends than that"
        assert_all_is_done_once(application.log, [])
        assert_views_agree(application.log, home.path / "views")
        assert_each_call_wrote_once(application)
        accepted = {f.text for f in facts_of(application.log) if isinstance(f, e.TurnSubmitted)}
        uses = application.views.read(select_skill_uses)
        assert {name: (use.uses, use.completed) for name, use in uses.items()} == dict.fromkeys(
            accepted, (1, 1)
        )


def assert_files_agree(application: Application) -> None:
    """The home's files are what the log has, without anybody settling them before this looks."""
    root = application.settings.paths.skills
    lies = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and path.name[0] != "."}
    volumes, problems = application.skills.read_entries()
    wanted = {
        volume.folder / path: content_of(file)
        for volume in volumes
        if volume.skill is not None
        for path, file in volume.skill.files.items()
    }
    assert lies == wanted
    assert problems == ()


def assert_each_call_wrote_once(application: Application) -> None:
    written = [fact for fact in facts_of(application.log) if isinstance(fact, skills_events.SkillWritten)]
    calls = Counter(
        evidence.call for fact in written if (evidence := getattr(fact, "evidence", None)) is not None
    )
    assert len(calls) == len(written)
    assert all(times == 1 for times in calls.values())


@pytest.mark.slow
@pytest.mark.parametrize("renames", [1, 2])
def test_a_kill_while_files_are_written_is_put_right_by_the_next_use(
    home: Home, model_server: ModelServer, renames: int
) -> None:
    model_server.follow(writes_a_skill)
    with home.launch("tests.faults.dying_files", str(renames), "send", "tidy") as running:
        assert running.end().code == KILLED
    with installed(home) as application:
        finish(application)
        application.skills.sync()
        assert_files_agree(application)
        assert_each_call_wrote_once(application)
        [volume] = [each for each in application.skills.read_entries()[0] if each.skill is not None]
        assert (volume.name, volume.paths) == ("tidy", ("scripts/a.sh",))


@pytest.mark.slow
def test_two_homes_on_one_log_lay_out_the_same_skills(
    home: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.follow(writes_a_skill)
    (tmp_path / "two").mkdir()
    other = Home(tmp_path / "two", {**home.environ, "HERMES_JOBS_HOME": str(tmp_path / "two/home")})
    home.send("here")
    other.send("there")
    dropped = home.path / "skills/dropped/SKILL.md"
    dropped.parent.mkdir()
    dropped.write_text(skill_text("dropped"))
    for each in (home, other):
        catch_up(each)
        listed = each.run("skills", "list", "--json").json
        names = [skill["name"] for skill in listed if skill["source"] != "bundled"]
        assert names == ["dropped", "here", "there"]
    assert files(home) == files(other)
    assert home.run("skills", "undo", "there").code == 0
    catch_up(other)
    assert files(home) == files(other)
    assert "tests/there/SKILL.md" in files(other)
    assert "tests/there/scripts/a.sh" not in files(other)


def catch_up(home: Home) -> None:
    """As before every turn: edits of files are recorded, and files follow the log."""
    with installed(home) as application:
        application.sync_files()


def files(home: Home) -> dict[str, bytes]:
    root = home.path / "skills"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
