"""The skills tools as a model calls them: arguments, order, answers, and what a review sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as e
from hermes_jobs.features.skills.presenter import SkillPresenter
from hermes_jobs.features.skills.tools import skill_tools
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.toolbox import Toolbox
from tests.skills.hosts import Host, skill_text

from .support import Switch, context_in


class Desk:
    """A host and the tools on its skills."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.tools = Toolbox(skill_tools(SkillPresenter(host.shelf)), enabled=("skills",))

    def ask(self, tool: str, /, *, author: e.Author = "turn", **arguments: object) -> ToolOutcome:
        """Run a call to the end, as the engine does."""
        asked = ToolCall("x", tool, json.dumps(arguments))
        context = replace(context_in("/"), author=author)
        outcome = self.tools.run(asked, context, None, Switch())
        if outcome.change is None:
            return outcome
        try:
            answer = self.host.engine.change(outcome.change, "test").answer
        except Rejected as refused:
            return ToolOutcome(content=f"Error: {refused.message}", ok=False)
        self.host.home.sync()
        return ToolOutcome(content=answer)


@pytest.fixture
def desk(tmp_path: Path):
    log = open_log(sqlite_url(tmp_path / "events.db"))
    yield Desk(Host(log, tmp_path / "home"))
    log.close()


def test_a_skill_is_created_read_improved_and_deleted(desk):
    created = desk.ask(
        "skill_manage", action="create", name="tidy", content=skill_text("tidy"), category="home"
    )
    assert created.content.startswith("Saved: the skill tidy: created.")
    assert desk.ask("skills_list").content == "home:\n- tidy: What it is for."
    desk.ask(
        "skill_manage", action="write_file", name="tidy", file_path="references/a.md", file_content="About A."
    )
    desk.ask("skill_manage", action="patch", name="tidy", old_string="Do it.", new_string="Do it well.")
    assert "Do it well." in desk.ask("skill_view", name="tidy").content
    assert desk.ask("skill_view", name="tidy", file_path="references/a.md").content == "About A."
    assert desk.ask("skill_manage", action="remove_file", name="tidy", file_path="references/a.md").ok
    assert desk.ask("skill_manage", action="delete", name="tidy").ok
    assert desk.host.files() == {}


def test_a_write_names_its_author_and_its_call(desk):
    desk.ask("skill_manage", author="review", action="create", name="tidy", content=skill_text("tidy"))
    (fact,) = desk.host.facts("tidy")
    assert (fact.author, fact.evidence) == ("review", e.Evidence(session="s1", turn="t1", call="t1-1-0"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"action": "create", "name": "x"}, "`create` needs `content`"),
        ({"action": "patch", "name": "x", "old_string": "a"}, "`patch` needs `new_string`"),
        ({"action": "write_file", "name": "x", "content": "a"}, "`write_file` needs `file_path`"),
        ({"action": "write_file", "name": "x", "file_path": "a"}, "`write_file` needs `content`"),
        ({"action": "remove_file", "name": "x"}, "`remove_file` needs `file_path`"),
        ({"action": "rename", "name": "x"}, "`action`"),
        ({"action": "delete"}, "`name` is missing"),
        ({"action": "delete", "name": "x", "path": "y"}, "unknown argument `path`"),
    ],
)
def test_missing_arguments_are_named(desk, arguments, complaint):
    outcome = desk.ask("skill_manage", **arguments)
    assert not outcome.ok
    assert complaint in outcome.content


def test_unknown_names_are_answered_with_the_known_ones(desk):
    desk.host.create("tidy")
    assert "The nearest: tidy" in desk.ask("skill_view", name="tidi").content
    assert "There are: general." in desk.ask("skills_list", category="x").content
    assert "no skill 'nope'" in desk.ask("skill_manage", action="delete", name="nope").content


def test_calls_on_one_skill_keep_their_order_and_others_run_beside_them(desk):
    def call(tool: str, /, **arguments: str) -> ToolCall:
        return ToolCall(tool, tool, json.dumps(arguments))

    calls = [
        call("skill_manage", action="delete", name="tidy"),
        call("skill_view", name="tidy"),
        call("skill_manage", action="delete", name="other"),
        call("skills_list"),
        call("skill_view", name="third"),
    ]
    planned = desk.tools.plan("t", calls, "/")
    assert [each.after for each in planned] == [(), ("t-0",), (), ("t-0", "t-2"), ()]
    assert [each.effect for each in planned] == ["idempotent", "read", "idempotent", "read", "read"]


def test_a_review_sees_the_skills_of_every_toolset(desk):
    text = "---\nname: web\ndescription: x\nmetadata:\n  hermes:\n    requires_toolsets: [web]\n---\nDo it.\n"
    desk.host.put("web/SKILL.md", text)
    assert desk.ask("skills_list").content == "There are no skills yet."
    assert "- web: x" in desk.ask("skills_list", author="review").content


def test_the_toolset_can_be_switched_off(desk):
    assert [each.name for each in desk.tools.specs(None)] == ["skill_manage", "skill_view", "skills_list"]
    assert desk.tools.specs(("files",)) == ()
    assert desk.tools.toolsets_on(None) == ("skills",)


@pytest.mark.parametrize("name", ["", "  "])
@pytest.mark.parametrize("action", ["create", "patch", "delete"])
def test_an_empty_name_is_refused(desk, action, name):
    given = {"content": skill_text("x"), "old_string": "a", "new_string": "b"}
    answer = desk.ask("skill_manage", action=action, name=name, **given)
    assert (answer.ok, answer.content) == (False, "Error: `name` is empty: give the skill's name.")
    assert (
        desk.ask("skill_view", name=name).content
        == "Error: The skill's name is empty. Give the name of a skill."
    )


def test_texts_for_the_model_name_tools_and_no_commands(desk):
    desk.host.create("tidy")
    for arguments in ({"name": "tidi"}, {"name": "tidy", "file_path": "a"}):
        assert "hermes-jobs " not in desk.ask("skill_view", **arguments).content
    assert desk.ask("skill_view", name="tidi").content.endswith("See skills_list.")
