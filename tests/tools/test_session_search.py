"""`session_search`: what is found in earlier conversations, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import tzinfo
from pathlib import Path
from threading import Event, Thread
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.features.search.tools import EXCERPT_CHARS, SessionSearch
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import Cancel, ModelError, ModelRequest, Reply, ToolContext, ToolOutcome
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.views.views import Views
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.tools.summaries import TOKENS, WORDS, SummaryModel
from hermes_jobs.tools.toolbox import Toolbox
from tests.model_script import Action, Answer, Hold, Refuse, Seen
from tests.model_server import ModelServer
from tests.tools.support import Switch
from tests.views.histories import append, new_log


class FixedPrice:
    """A cent a response."""

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        return 0.01


class Desk:
    """Some conversations and the tool on them."""

    def __init__(self, folder: Path) -> None:
        self.log: SqlEventLog = new_log(folder)
        self.views = Views(self.log, folder / "views")
        self.summariser: SummaryModel | None = None
        self.zone: tzinfo | None = None
        self.expand = False

    def talk(
        self, session: str, *said: str, kind: e.SessionKind = "conversation", title: str | None = None
    ) -> None:
        """Turns of one text and one answer each."""
        facts: list[tuple[str, e.SessionEvent]] = []
        for number, (text, answer) in enumerate(zip(said[::2], said[1::2], strict=True)):
            turn = f"t{session}{number}"
            opening = None if number else e.Opening(kind=kind)
            facts += [
                (
                    stream_of(session),
                    e.TurnSubmitted(turn=turn, text=text, source="cli", session=session, opening=opening),
                ),
                (stream_of(session), e.ContextPrefetched(turn=turn, model="m", max_iterations=3)),
                (
                    stream_of(session),
                    e.ModelReplied(
                        turn=turn, step=f"{turn}-1", content=answer, model="m", finish_reason="stop"
                    ),
                ),
            ]
        if title is not None:
            facts.append((stream_of(session), e.SessionTitled(session=session, title=title)))
        append(self.log, facts)

    def ask(
        self, cancel: Cancel | None = None, /, *, seconds: float = 60.0, **arguments: object
    ) -> ToolOutcome:
        """Call the tool from the session `now`."""
        search = SessionSearch(
            Conversations(self.views),
            lambda: self.summariser,
            zone=self.zone,
            seconds=seconds,
            expand=self.expand,
        )
        caller = ToolContext(session="now", turn="t1", call="t1-1-0", workdir="/", attended=True)
        call = ToolCall("x", "session_search", json.dumps(arguments))
        return Toolbox(search.tools, enabled=("search",)).run(call, caller, None, cancel or Switch())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    desk.talk("now", "where is the needle?", "I look for the needle.")
    yield desk
    desk.views.close()
    desk.log.close()


@pytest.fixture
def haystack(desk: Desk) -> Desk:
    """Three conversations about a needle, and one about something else."""
    desk.talk("s1", "a needle?", "A needle is in the first haystack.", title="Hay one")
    desk.talk("s2", "another needle needle", "It is in the second haystack.", title="Hay two")
    desk.talk("s3", "needle needle needle", "It is in the third haystack.", title="Hay three")
    desk.talk("s4", "what is for dinner?", "Soup.")
    return desk


@pytest.fixture
def served(haystack: Desk, model_server: ModelServer) -> Iterator[Desk]:
    """The same with a model that summarises, over HTTP."""
    model = OpenAIModel(api_key="k", base_url=model_server.base_url)
    model.warm()
    haystack.summariser = SummaryModel(model, "small", FixedPrice())
    yield haystack
    model_server.release()
    model.close()


def told(seen: Seen) -> Action:
    """A summary that names the haystack."""
    which = next(word for word in ("first", "second", "third") if f"{word} haystack" in seen.last_user_text)
    return Answer(text=f"Found in the {which}.")


# --- without a query --------------------------------------------------------------------------


def test_without_a_query_the_latest_other_conversations_are_listed_and_no_model_is_asked(
    served: Desk, model_server: ModelServer
) -> None:
    served.talk("r1", "review this", "Done.", kind="review")
    content = served.ask(limit=2).content
    assert content.index("s4 “what is for dinner?”") < content.index("s3 “Hay three”")
    assert "s1" not in content
    assert "r1" not in content
    assert "now" not in content
    assert "r1" in served.ask(limit=1, include_hidden=True).content
    assert model_server.requests == []


def test_without_any_other_conversation_the_list_says_so(desk: Desk) -> None:
    assert desk.ask().content == "There are no earlier conversations."
    assert "ended" not in desk.ask(query="   ").content


# --- summaries ------------------------------------------------------------------------------


def test_every_conversation_is_summarised_for_the_query_and_every_response_is_booked(
    served: Desk, model_server: ModelServer
) -> None:
    model_server.follow(told)
    outcome = served.ask(query="needle")
    assert outcome.ok
    assert [part in outcome.content for part in ("Found in the first.", "second.", "third.")] == [True] * 3
    assert "Session s3 “Hay three” (cli, 2026-11-21)" in outcome.content
    assert "now" not in outcome.content
    assert len(model_server.requests) == 3
    for seen in model_server.requests:
        assert seen.body["temperature"] == 0.1
        assert seen.body["max_tokens"] == TOKENS
        assert "Looked for: needle" in seen.last_user_text
        assert ">>>needle<<<" in seen.last_user_text
        assert "dinner" not in seen.last_user_text
    for fact in outcome.events:
        assert isinstance(fact, e.ResponseBooked)
        assert (fact.turn, fact.step, fact.purpose) == ("t1", "t1-1-0", "session_search")
        assert (fact.model, fact.cost_usd) == ("small", 0.01)
        assert fact.usage.prompt_tokens > 100
    assert len(outcome.events) == 3


def test_summaries_are_asked_for_side_by_side(served: Desk, model_server: ModelServer) -> None:
    model_server.follow(lambda seen: Hold(answer=Answer(text="Held.")))
    answered = Event()
    outcomes: list[ToolOutcome] = []

    def ask() -> None:
        outcomes.append(served.ask(query="needle"))
        answered.set()

    asking = Thread(target=ask)
    asking.start()
    model_server.wait_until(lambda: len(model_server.requests) == 3)
    assert not answered.is_set()
    model_server.release()
    asking.join()
    assert outcomes[0].content.count("Held.") == 3


@pytest.mark.parametrize(("limit", "sessions"), [(1, 1), (2, 2), (5, 5), (50, 5)])
def test_at_most_the_requested_number_and_five_conversations_are_returned(
    limit: int, sessions: int, served: Desk, model_server: ModelServer
) -> None:
    for number in range(5, 9):
        served.talk(f"s{number}", "needle", "It is in the first haystack.")
    model_server.follow(lambda seen: Answer(text="Found."))
    assert served.ask(query="needle", limit=limit).content.count("Found.") == sessions
    assert len(model_server.requests) == sessions


def test_a_long_summary_is_cut_and_an_empty_one_is_ignored(served: Desk, model_server: ModelServer) -> None:
    model_server.follow([Answer(text="word " * 500)])
    content = served.ask(query="needle", limit=1).content
    assert content.count("word") == WORDS
    model_server.follow([Answer(text=" ")])
    outcome = served.ask(query="needle", limit=1)
    assert "Not summarised (the model gave an empty answer)" in outcome.content
    assert len(outcome.events) == 1


def test_a_model_that_takes_no_temperature_is_asked_without(served: Desk, model_server: ModelServer) -> None:
    refusal = "Unsupported value: 'temperature' does not support 0.1 with this model."
    model_server.follow([Refuse(status=400, message=refusal), Answer(text="Found.")])
    assert "Found." in served.ask(query="needle", limit=1).content
    assert "temperature" not in model_server.requests[1].body


def test_a_long_conversation_is_cut_to_where_the_matches_are(served: Desk, model_server: ModelServer) -> None:
    filler = "many words that are not looked for " * 3_000
    served.talk("s9", "a pin?", filler, "the pin", f"The pin is here. {filler}", "and?", filler)
    model_server.follow([Answer(text="Found.")])
    served.ask(query="pin", limit=1)
    sent = model_server.requests[0].last_user_text
    assert "The pin is here." in sent
    assert "earlier messages are left out" in sent
    assert "later messages are left out" in sent
    assert EXCERPT_CHARS - 10_000 < len(sent) < EXCERPT_CHARS + 1_000


# --- without summaries ------------------------------------------------------------------------


def test_without_a_model_the_matches_are_quoted_as_such(haystack: Desk) -> None:
    outcome = haystack.ask(query="needle", limit=2)
    assert outcome.ok
    assert outcome.events == ()
    assert outcome.content.count("Not summarised (no model is set for it)") == 2
    assert outcome.content.count("user: needle needle needle") == 1


def test_passages_without_a_summary_are_quoted(served: Desk, model_server: ModelServer) -> None:
    def second_fails(seen: Seen) -> Action:
        return Refuse(status=500, message="out of order") if "second" in seen.last_user_text else told(seen)

    model_server.follow(second_fails)
    outcome = served.ask(query="needle")
    assert "Found in the first." in outcome.content
    assert "Not summarised (" in outcome.content
    assert "out of order" in outcome.content
    assert outcome.content.count("another needle needle") == 1
    assert len(outcome.events) == 2


def test_a_late_summary_is_replaced_by_a_quote_and_its_request_is_ended(
    served: Desk, model_server: ModelServer
) -> None:
    model_server.follow(lambda seen: Hold())
    outcome = served.ask(query="needle", seconds=0.05)
    assert outcome.ok
    assert outcome.content.count("Not summarised (it came too late)") == 3
    model_server.wait_until(lambda: model_server.disconnects == len(model_server.requests))


class TwoSpeeds:
    """A model that answers at once, or never, as the request says."""

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        if "second haystack" not in str(request.messages):
            return Reply(content="Found.", usage=Usage(10, 5), model="quick")
        stopped = Event()
        cancel.on_cancel(stopped.set)
        assert stopped.wait(60)
        raise ModelError("cancelled", "stopped", usage=Usage(7, 0))


def test_late_summaries_do_not_affect_punctual_ones(haystack: Desk) -> None:
    haystack.summariser = SummaryModel(TwoSpeeds(), "small", FixedPrice())
    outcome = haystack.ask(query="needle", seconds=1.0)
    assert outcome.content.count("Found.") == 2
    assert outcome.content.count("Not summarised (it came too late)") == 1
    booked = [fact for fact in outcome.events if isinstance(fact, e.ResponseBooked)]
    assert sorted((fact.model, fact.usage.input_tokens) for fact in booked) == [
        ("quick", 10),
        ("quick", 10),
        ("small", 7),
    ]


def test_a_cancelled_search_ends_at_once_and_books_its_usage(haystack: Desk) -> None:
    haystack.summariser = SummaryModel(TwoSpeeds(), "small", FixedPrice())
    cancel = Switch()
    cancel.fire()
    outcome = SessionSearch(Conversations(haystack.views), lambda: haystack.summariser).session_search(
        ToolContext(session="now", turn="t1", call="t1-1-0", workdir="/", attended=True),
        cancel,
        query="needle",
    )
    assert outcome.interrupted
    assert all(isinstance(fact, e.ResponseBooked) for fact in outcome.events)


# --- other words ----------------------------------------------------------------------------------


def other_words(seen: Seen) -> Action:
    """Other words, and else a summary."""
    if "other words" in seen.body["messages"][0]["content"]:
        return Answer(text="soup, stew")
    return Answer(text="They had it.")


def test_other_words_are_asked_for_only_as_an_option_and_booked_by_their_purpose(
    served: Desk, model_server: ModelServer
) -> None:
    model_server.follow(other_words)
    assert "No message holds" in served.ask(query="broth tonight").content
    assert model_server.requests == []
    served.expand = True
    outcome = served.ask(query="broth tonight")
    assert "Session s4" in outcome.content
    purposes = [fact.purpose for fact in outcome.events if isinstance(fact, e.ResponseBooked)]
    assert purposes == ["search_expand", "session_search"]


def test_hits_with_all_words_are_not_relaxed(served: Desk, model_server: ModelServer) -> None:
    model_server.follow(other_words)
    served.expand = True
    outcome = served.ask(query="needle")
    assert {fact.purpose for fact in outcome.events if isinstance(fact, e.ResponseBooked)} == {
        "session_search"
    }


def test_a_model_without_other_words_costs_the_search_nothing(
    served: Desk, model_server: ModelServer
) -> None:
    model_server.follow(lambda seen: Refuse(status=500))
    served.expand = True
    assert "No message holds" in served.ask(query="broth tonight").content


# --- filters and wrong words ----------------------------------------------------------------------


def test_filters_narrow_the_search(haystack: Desk) -> None:
    assert "s3" not in haystack.ask(query="third", role_filter="user").content
    assert "s3" in haystack.ask(query="third", role_filter="tool, Assistant").content
    assert "No message holds" in haystack.ask(query="needle", after="2026-11-23").content
    assert (
        "s3" in haystack.ask(query="needle", after="2026-11-20", before="2026-11-23T10:00:00+02:00").content
    )
    assert "No message holds" in haystack.ask(query="needle", source="telegram").content


@pytest.mark.parametrize(("zone", "found"), [("Pacific/Kiritimati", True), ("Pacific/Niue", False)])
def test_a_day_begins_in_the_configured_zone(haystack: Desk, zone: str, found: bool) -> None:
    haystack.zone = ZoneInfo(zone)
    assert ("s3" in haystack.ask(query="third", after="2026-11-22").content) == found


def test_an_empty_result_has_its_query_and_how_to_widen_it(haystack: Desk) -> None:
    content = haystack.ask(query="absent elsewhere", role_filter="user").content
    assert "all of “absent”, “elsewhere”" in content
    assert "role_filter: user" in content
    assert "leave out role_filter" in content
    assert "include_hidden" in content
    assert "nothing to search for" in haystack.ask(query="!?").content


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"role_filter": "bob"}, "no role `bob`; the roles are: user, assistant, tool"),
        ({"after": "yesterday"}, "`after` must be a day or a moment"),
        ({"before": "2026-13-01"}, "`before` must be a day or a moment"),
        ({"limit": 0}, "limit"),
        ({"limits": 1}, "did you mean `limit`"),
    ],
)
def test_wrong_arguments_are_answered_with_the_right_ones(
    arguments: dict[str, Any], complaint: str, haystack: Desk
) -> None:
    outcome = haystack.ask(query="needle", **arguments)
    assert not outcome.ok
    assert complaint in outcome.content
