"""One long scenario at every provider's strict server, and sessions that move between all of them.

Nothing the agent sends may be refused: a rule that is broken and then worked around is a failure here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.fork import fork
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import AssistantMessage
from tests.model_script import Action, Answer, AskedCall, Hold, Refuse, Rule, Script, Seen, chooser
from tests.providers.anthropic import AdaptiveClaude, Anthropic, BindingClaude
from tests.providers.families import DeepSeek, Gemini, Local, Mistral, Moonshot, OpenAI, OpenRouter
from tests.providers.person import Person
from tests.providers.responses import Responses
from tests.providers.rules import ChatRules
from tests.tables import nightly, sampled

Family = ChatRules | Anthropic
FAMILIES: list[type[Family]] = [
    OpenAI,
    Responses,
    DeepSeek,
    Gemini,
    OpenRouter,
    Moonshot,
    Mistral,
    Local,
    Anthropic,
]
WORDS = "好的 🎉 été: done"
CONFIG = "memory: {nudge_interval: 0}\nskills: {creation_nudge_interval: 0}\n"


def call(name: str, **arguments: Any) -> AskedCall:
    return AskedCall(name=name, arguments=arguments)


LOOK = Answer(
    text="I look. 看",
    tool_calls=(
        call("terminal", command="echo 一 && printf 🙂"),
        call("read_file", path="nowhere.txt"),
        call("todo", items=[{"id": "1", "text": "look", "status": "completed"}]),
    ),
)
SUMMARY = "## Active Task\nLooking.\n## Goal\nTo have looked.\n## Completed Actions\n1. terminal: looked.\n"
SCRIPT = Script(
    rules=(
        Rule("look", (LOOK, Answer(tool_calls=(call("terminal", command="true"),)), Answer(text=WORDS))),
        Rule("You have used all", (Answer(text="Closing."),)),
        Rule("loop", tuple(Answer(tool_calls=(call("terminal", command=f"echo {n}"),)) for n in range(40))),
        Rule(
            "remember",
            (Answer(tool_calls=(call("memory", action="add", content="Likes tea."),)), Answer(text="Ok.")),
        ),
    ),
    default=Answer(text="Yes."),
)


def reply(seen: Seen) -> Action:
    """As a model that does what it is told: the summariser's prompt gets a summary."""
    prompt = str(seen.body.get("instructions") or seen.messages[0])
    return Answer(text=SUMMARY) if "Remaining Work" in prompt else _BY_RULES(seen)


_BY_RULES = chooser(SCRIPT)


class Place:
    """A provider's strict server, and the settings that lead to it."""

    def __init__(self, rules: Family) -> None:
        self.rules = rules
        self.server = rules.server(reply).start()

    @property
    def environ(self) -> dict[str, str]:
        return self.rules.environ(self.server.base_url)


A_FEW = [OpenAI, Responses, Anthropic, *nightly(DeepSeek, Gemini, OpenRouter, Moonshot, Mistral, Local)]
"""One for each protocol."""


@pytest.fixture(
    params=sampled([*FAMILIES, AdaptiveClaude, BindingClaude], 4), ids=lambda rules: rules.__name__.lower()
)
def place(request: Any) -> Iterator[Place]:
    made = Place(request.param())
    yield made
    made.server.close()
    assert made.rules.refusals == []


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path, CONFIG)


def test_tools_side_by_side_one_that_fails_and_texts_in_many_scripts(place: Place, person: Person) -> None:
    with person.at(place.environ) as visit:
        session = visit.send("Please look")
        visit.send("look again", session)
        visit.send("And thanks", session)
        assert visit.answers(session) == [WORDS, WORDS, "Yes."]
        assert [each.ok for each in visit.events(e.ToolFinished)].count(False) == 2
        replies = visit.events(e.ModelReplied)
        assert len(replies) == 7
        assert all(each.usage.output_tokens for each in replies)
        assert all(each.notes == () for each in replies)
    with person.at(place.environ) as visit:  # as another process, which has folded nothing yet
        visit.send("look once more", session)
        assert visit.answers(session)[-1] == WORDS


def test_a_cancel_in_the_middle_a_retry_and_a_fork(place: Place, person: Person) -> None:
    def on_delta(piece: Any) -> None:
        turn = visit.session("s1").current
        if turn is not None and not visit.events(e.TurnCancelRequested):
            visit.worker.engine.execute("session-s1", c.CancelTurn(turn=turn.id, by="test"))

    with person.at(place.environ) as visit:
        visit.send("look first", "s1")
    place.server.follow(Script(sequence=(Hold(first="It begins and "),)))
    with person.at(place.environ, on_delta) as visit:
        visit.send("Something long", "s1")
        assert len(visit.events(e.TurnCancelled)) == 1
        refused = Refuse(status=500, message="Overloaded for a moment", headers={"retry-after": "0"})
        place.server.follow(Script(sequence=(refused,), rules=SCRIPT.rules, default=SCRIPT.default))
        visit.send("look after it", "s1")
        assert visit.answers("s1") == [WORDS, WORDS]
        fork(visit.worker.engine, "s1", "s2")
        visit.send("look in the fork", "s2")
        assert visit.answers("s2") == [WORDS]


def test_members_of_an_ensemble_on_a_conversation_with_tool_calls(place: Place, person: Person) -> None:
    model = place.environ["HERMES_JOBS_MODEL"]
    panel = msgspec.json.encode({"panel": {"members": [model, model], "aggregator": model}}).decode()
    with person.at({**place.environ, "HERMES_JOBS_MODELS__ENSEMBLES": panel}) as visit:
        session = visit.send("Please look")
        visit.send("And thanks", session, model="panel")
        visit.send("Thanks again", session, model="panel")
        visit.send("look once more", session)
        assert visit.answers(session) == [WORDS, "Yes.", "Yes.", WORDS]
        assert [each.content for each in visit.events(e.ReferenceReplied)] == ["Yes."] * 4
        assert visit.events(e.ReferenceFailed) == []
        assert all(each.usage.output_tokens for each in visit.events(e.ReferenceReplied))


@pytest.mark.slow
@pytest.mark.parametrize("place", A_FEW, indirect=True)
def test_a_loop_of_forty_calls_and_a_closing_answer_without_tools(place: Place, tmp_path: Path) -> None:
    person = Person(tmp_path, CONFIG + "agent: {max_iterations: 40}\ncompression: {enabled: false}\n")
    with person.at(place.environ) as visit:
        session = visit.send("loop")
        assert visit.answers(session) == ["Closing."]
        assert visit.events(e.TurnCompleted)[0].stopped_by == "max_iterations"
        visit.send("look then", session)
        assert visit.answers(session)[-1] == WORDS


def test_a_review_and_a_compression_of_a_conversation_with_tools(place: Place, tmp_path: Path) -> None:
    small = "model: {context_length: 24000}\ncompression: {protect_last_n: 2, target_ratio: 0.1}\n"
    person = Person(tmp_path, small + "memory: {nudge_interval: 2}\n")
    with person.at(place.environ) as visit:
        session = visit.send("look one" + " at a long text" * 300)
        for text in ("look two", "remember tea", "look three"):
            visit.send(text + " at a long text" * 300, session)
        assert visit.events(e.ReviewCompleted)
        visit.execute(session, c.RequestCompression(reason="manual"))
        assert visit.events(e.ContextCompressed), visit.events(e.CompressionFailed)
        visit.send("look at last", session)
        assert visit.answers(session)[-1] == WORDS


@pytest.mark.slow
@pytest.mark.parametrize("place", A_FEW, indirect=True)
def test_a_worker_that_dies_in_a_call_and_one_that_takes_over(place: Place, person: Person) -> None:
    with person.at(place.environ) as visit:
        session = visit.send("look first")
    place.server.follow(lambda seen: Hold() if seen.rounds == 1 else LOOK)
    before = len(place.server.requests)
    with person.home.start("send", "-s", session, "look and die", **place.environ) as running:
        place.server.wait_until(lambda: len(place.server.requests) == before + 2)
        running.process.kill()
        running.process.wait()
    place.server.follow(reply)
    with person.at(place.environ) as visit:
        visit.worker.drain()
        assert visit.answers(session) == [WORDS, WORDS]
        assert visit.events(e.StepAbandoned)


EVERY_MOVE = [each for pair in combinations(FAMILIES, 2) for each in pair] + FAMILIES[:1]


def test_a_way_has_every_move() -> None:
    assert sorted(map(str, pairwise(EVERY_MOVE))) == sorted(map(str, permutations(FAMILIES, 2)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", [pytest.param(EVERY_MOVE, marks=pytest.mark.nightly), [*FAMILIES, *FAMILIES[:1]]]
)
def test_a_session_that_moves_from_provider_to_provider_and_back(
    way: list[type[Family]], person: Person
) -> None:
    places = {rules: Place(rules()) for rules in FAMILIES}
    session = "s1"
    num_turns = 0
    for rules in way:
        with person.at(places[rules].environ) as visit:
            visit.send("look", session, model=rules.model)
            num_turns += 1
            assert visit.answers(session) == [WORDS] * num_turns, visit.events(e.TurnCompleted)
    for place in places.values():
        place.server.close()
        assert place.rules.refusals == []
    said = visit.session(session).messages
    kept = {each.payload.dialect for each in said if isinstance(each, AssistantMessage) and each.payload}
    assert kept == {"deepseek", "gemini", "openrouter", "moonshot", "responses", "chat", "anthropic"}


@pytest.mark.slow
def test_where_only_an_address_and_a_model_are_known_the_endpoint_teaches_the_rest(person: Person) -> None:
    places = [Place(rules()) for rules in FAMILIES]
    for num_turns, place in enumerate([*places, *places], start=1):
        environ = {**place.environ, "HERMES_JOBS_MODEL__PROVIDER": "auto"}
        with person.at(environ) as visit:
            visit.send("look", "s1", model=place.rules.model)
            assert visit.answers("s1") == [WORDS] * num_turns
    for place in places:
        place.server.close()
        assert len(place.rules.refusals) <= 4, place.rules.refusals
