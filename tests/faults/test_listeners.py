"""What a memory provider and a context engine are to hear they hear at least once, whoever dies or works."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.context import minding
from tests.e2e.invariants import facts_of
from tests.faults.crew import Crew
from tests.faults.dying import KILLED, Sends
from tests.home import PATIENCE, Home
from tests.memory import noting
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.reviews.talker import is_flush, is_summary, talker

PLUGINS = ("noting", "minding")
LISTENING = {
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "8000",
    "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "0",
    "HERMES_JOBS_MEMORY__PROVIDER": "noting",
    "HERMES_JOBS_CONTEXT__ENGINE": "minding",
}


@pytest.fixture
def home(home: Home) -> Home:
    """A home with a memory provider and a context engine that note what they are told."""
    plugins = home.path / "plugins"
    for plugin in (noting, minding):
        package = Path(plugin.__file__ or "").parent
        shutil.copytree(package, plugins / package.name)
    home.path.chmod(0o700)
    home.environ.update(LISTENING)
    return home


def noted(home: Home, plugin: str) -> list[tuple[int, str, list[object]]]:
    """What a plugin has noted: the process, what it was told, and the details."""
    notes = home.path / "plugins" / plugin / "heard.jsonl"
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [(pid, what, details) for pid, what, *details in map(json.loads, lines)]


def told(home: Home, plugin: str, what: str) -> list[list[object]]:
    return [details for _, each, details in noted(home, plugin) if each == what]


@pytest.mark.parametrize(
    ("fact", "line", "hooks"),
    [
        ("TurnCompleted", ("send", "-s", "s1", "and again"), ("sync_turn", "update_from_response")),
        ("ContextCompressed", ("sessions", "compress", "s1"), ("on_session_switch", "on_session_start")),
        ("SessionEnded", ("sessions", "end", "s1"), ("on_session_end", "on_session_end")),
    ],
)
def test_listeners_get_the_events_of_a_process_killed_right_after_its_append(
    home: Home, model_server: ModelServer, fact: str, line: tuple[str, ...], hooks: tuple[str, str]
) -> None:
    model_server.follow(talker)
    talk(home, "hello", "a second question " + "word " * 400)
    known = [told(home, plugin, hook) for plugin, hook in zip(PLUGINS, hooks, strict=True)]
    code = Sends().run(home.environ, home.work, line[1:], fact, "after", command=line[:1])
    assert code == KILLED
    assert told(home, PLUGINS[0], hooks[0]) == known[0], "nobody has heard of it yet"

    facts = talk(home)
    memory, context = (told(home, plugin, hook) for plugin, hook in zip(PLUGINS, hooks, strict=True))
    if fact == "TurnCompleted":
        assert memory == [*known[0], ["and again"]]
        used = [[each.turn, each.usage.prompt_tokens] for each in facts if isinstance(each, e.ModelReplied)]
        assert context[-len(used) :] == used, "one that is made afterwards hears all there was"
    elif fact == "ContextCompressed":
        [into] = [each.into for each in facts if isinstance(each, e.ContextCompressed)]
        assert memory == [[into, False, "compression"]]
        assert context[-1] == [into, "s1"]
    else:
        assert memory == [[]]
        assert context == [["s1", 4]]


def talk(home: Home, *texts: str) -> list[e.Event]:
    """Turns with these texts, and whatever else is due; the log's facts by then."""
    application = Application(load(home.environ), home.environ)
    with InlineWorker(application) as worker:
        for number, text in enumerate(texts):
            worker.engine.submit(e.TurnSubmitted(turn=f"t{number}", session="s1", text=text, source="cli"))
        assert worker.work(lambda: not application.log.steps(), seconds=PATIENCE)
    facts = facts_of(application.log)
    application.close()
    return facts


def asks_its_engine(seen: Seen) -> Action:
    if is_flush(seen) or is_summary(seen):
        return Answer(text="Nothing to save.")
    if seen.rounds == 0:
        return Answer(tool_calls=(AskedCall("context_used", {"unit": "tokens"}),))
    return Answer(text="Answer. " + "blah " * 40)


@pytest.mark.slow
def test_a_context_engine_has_the_same_state_and_tools_in_every_worker(
    home: Home, crew: Crew, model_server: ModelServer
) -> None:
    model_server.follow(asks_its_engine)
    crew.start_one(0)
    session = home.send("question 0")["session"]
    home.send("-s", session, "question 1 " + "word " * 90)
    crew.kill(0)
    crew.start_one(1)
    for number in range(2, 5):
        home.send("-s", session, f"question {number} " + "word " * 90)
    assert home.run("sessions", "end", session).code == 0
    crew.finish()

    facts = facts_of(crew.log)
    started = [each for each in facts if isinstance(each, e.ToolStarted)]
    assert {(each.name, each.effect) for each in started} == {("context_used", "read")}
    assert [each.content for each in facts if isinstance(each, e.ToolFinished)] == used_by(facts)
    compressed = [each.into for each in facts if isinstance(each, e.ContextCompressed)]
    assert compressed, "it decides by what it was told"
    assert told(home, "minding", "on_session_end")[-1][0] == compressed[-1]
    offered = [
        [tool["function"]["name"] for tool in seen.body.get("tools", ())] for seen in model_server.requests
    ]
    assert all("context_used" in names for names in offered if "terminal" in names)
    assert len({pid for pid, *_ in noted(home, "minding")}) == 2, "both workers had to do with it"
    assert {each.upto for each in facts if isinstance(each, e.ListenerTold) and each.message} == set()


def used_by(facts: list[e.Event]) -> list[str]:
    """What the tool has to answer each time, by the log."""
    answers, session, used = [], "", 0
    for fact in facts:
        match fact:
            case e.SessionStarted():
                session, used = fact.session, 0
            case e.ModelReplied():
                used += fact.usage.prompt_tokens
            case e.ToolFinished():
                answers.append(f"{session} has used {used} tokens.")
            case _:
                pass
    return answers
