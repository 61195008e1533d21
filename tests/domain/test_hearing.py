"""What a chat message means: a turn in its writer's session, or a command; all that follows in one append."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import pytest

from hermes_jobs.features.deliveries.events import DeliveryRequested, parse_target
from hermes_jobs.features.gateway.rules.commands import COMMANDS, GatewayPolicy, NewIds, handle_message
from hermes_jobs.features.gateway.rules.messages import IncomingMessage
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import DecisionResult
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import fold as fold_stream
from hermes_jobs.kernel.streams.streams import initial_state
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.steps import next_steps

ANNA = "telegram:12"


class Log:
    """Streams in memory, and what was heard in order."""

    def __init__(self, **house: object) -> None:
        self.house = GatewayPolicy(**house)  # type: ignore[arg-type]
        self.streams: dict[str, StreamState] = {}
        self.numbers = count(1)

    def load(self, stream: str) -> StreamState:
        return self.streams.get(stream) or initial_state(stream)

    def hear(self, text: str | None, user: str = ANNA) -> DecisionResult:
        number = next(self.numbers)
        said = IncomingMessage(key=f"telegram:4242:{number}", user=user, target=user, text=text)
        changed = handle_message(said, self.house, NewIds(f"t{number}", f"s{number}"))(self.load)
        assert [key.key for key in changed.keys] == [said.key]
        for write in changed.writes:
            self.streams[write.stream] = fold_stream(self.load(write.stream), write.events)
        return changed

    def answered(self, text: str, user: str = ANNA) -> str:
        """The gateway's own word to a message."""
        (note,) = facts_of(self.hear(text, user), DeliveryRequested)
        assert isinstance(note, DeliveryRequested)
        assert parse_target(note.target).text == user
        assert note.turn is None
        return note.text

    def session(self, name: str) -> Session:
        session = self.load(stream_of(name))
        assert isinstance(session, Session)
        return session

    def do(self, name: str, command: c.SessionCommand) -> None:
        session = self.session(name)
        self.streams[session.stream] = fold(session, decide(command, session))

    def begin(self, name: str) -> None:
        """The session's turn begins."""
        (step,) = next_steps(self.session(name))
        turn = step.id.partition("-")[0]
        started = e.SessionStarted(
            session=name, kind="conversation", source="telegram", model="m", system_prompt="p"
        )
        prefetched = e.ContextPrefetched(turn=turn, model="m", max_iterations=5)
        self.do(name, c.FinishPrefetch(step=step.id, prefetched=prefetched, started=started))


def facts_of(changed: DecisionResult, kind: type[e.Event]) -> list[e.Event]:
    return [fact for write in changed.writes for fact in write.events if isinstance(fact, kind)]


def submitted(changed: DecisionResult) -> e.TurnSubmitted:
    (fact,) = facts_of(changed, e.TurnSubmitted)
    assert isinstance(fact, e.TurnSubmitted)
    return fact


def test_the_first_message_begins_a_conversation_and_its_answer_goes_back() -> None:
    log = Log(workdir="/srv/work")
    changed = log.hear("Hello")
    assert [write.stream for write in changed.writes] == ["session-s1", "person-telegram:12"]
    turn = submitted(changed)
    assert (turn.text, turn.source, turn.session, turn.deliver) == ("Hello", "telegram", "s1", (ANNA,))
    assert turn.attended
    assert turn.opening == e.Opening(workdir="/srv/work")


def test_later_messages_go_to_the_same_conversation() -> None:
    log = Log()
    log.hear("Hello")
    turn = submitted(log.hear("And then?"))
    assert (turn.session, turn.opening) == ("s1", None)
    assert [waiting.id for waiting in log.session("s1").waiting] == ["t2"]


def test_texts_to_a_busy_session_follow_its_policy() -> None:
    log = Log(if_busy="steer")
    log.hear("Hello")
    assert submitted(log.hear("More")).if_busy == "steer"
    refusing = Log(if_busy="reject")
    refusing.hear("Hello")
    assert "busy" in refusing.answered("More")


def test_a_conversation_that_has_ended_is_followed_by_another() -> None:
    log = Log()
    log.hear("Hello")
    log.do("s1", c.CancelTurn(turn="t1", by="user"))
    log.do("s1", c.EndSession())
    assert submitted(log.hear("Again")).session == "s2"
    assert submitted(log.hear("And again")).session == "s2"


def test_new_begins_another_conversation_with_or_without_words() -> None:
    log = Log()
    log.hear("Hello")
    assert "new conversation" in log.answered("/new")
    assert submitted(log.hear("Hello again")).session == "s2"
    turn = submitted(log.hear("/new@hermes_bot What\nnow?"))
    assert (turn.session, turn.text) == ("s4", "What\nnow?")


def test_stop_ends_the_running_turn_and_lists_waiting_texts() -> None:
    log = Log()
    assert log.answered("/stop") == "Nothing is running."
    turn = submitted(log.hear("Hello"))
    following = submitted(log.hear("More"))
    changed = log.hear("/stop")
    assert facts_of(changed, e.TurnCancelled) == [e.TurnCancelled(turn=turn.turn, by=ANNA)]
    assert "1 more message waits" in str(facts_of(changed, DeliveryRequested))
    current = log.session(turn.session).current
    assert current is not None
    assert current.id == following.turn


def test_stop_twice_is_one_cancellation() -> None:
    log = Log()
    log.hear("Hello")
    log.begin("s1")
    (step,) = next_steps(log.session("s1"))
    log.do("s1", c.BeginStep(step=step.id))
    log.hear("/stop")
    assert facts_of(log.hear("/stop"), e.TurnCancelRequested) == []


def test_status_shows_the_running_turn_and_waiting_texts() -> None:
    log = Log()
    assert "no conversation" in log.answered("/status")
    log.hear("Count the files, " + "please " * 40)
    log.hear("More")
    log.hear("Still more")
    told = log.answered("/status")
    assert "I am at: Count the files" in told
    assert "2 more messages wait" in told
    assert len(told) < 250


def test_rate_says_whether_the_last_answer_was_good() -> None:
    log = Log()
    assert "no conversation" in log.answered("/rate up")
    session = submitted(log.hear("Hello")).session
    assert "no conversation" in log.answered("/rate up")
    log.begin(session)
    log.do(session, c.CancelTurn(turn="t2", by="user"))
    assert "/rate up" in log.answered("/rate well")
    (rated,) = facts_of(log.hear("/rate down  Too long."), e.TurnRated)
    assert rated == e.TurnRated(turn="t2", rating="down", by=ANNA, note="Too long.")


def test_model_shows_and_changes_the_conversations_model() -> None:
    log = Log()
    assert "no conversation" in log.answered("/model gpt-5")
    session = submitted(log.hear("Hello")).session
    log.begin(session)
    assert "The model is m." in log.answered("/model")
    assert "one word" in log.answered("/model gpt 5")
    assert "gpt-5" in log.answered("/model gpt-5")
    assert log.session(session).model == "gpt-5"


def test_compress_asks_for_a_compression_once_there_is_something_to_compress() -> None:
    log = Log()
    assert "no conversation" in log.answered("/compress")
    session = submitted(log.hear("Hello")).session
    assert "nothing to compress" in log.answered("/compress")
    log.begin(session)
    (asked,) = facts_of(log.hear("/compress the files"), e.CompressionRequested)
    assert isinstance(asked, e.CompressionRequested)
    assert (asked.reason, asked.focus) == ("manual", "the files")
    assert facts_of(log.hear("/compress"), e.CompressionRequested) == []


@pytest.mark.parametrize("text", ["/start", "/help", "/nonsense", "/HELP me", " /help "])
def test_an_unknown_command_is_answered_with_those_that_there_are(text: str) -> None:
    told = Log().answered(text)
    assert all(f"/{name}" in told for name in COMMANDS)


@pytest.mark.parametrize("text", ["/etc/hosts: what is it?", "1/2", "/", "/new-ish idea", "see /new"])
def test_a_slash_alone_makes_no_command(text: str) -> None:
    assert submitted(Log().hear(text)).text == text


def test_a_message_without_text_is_answered_with_a_note() -> None:
    log = Log()
    changed = log.hear(None)
    assert facts_of(changed, e.TurnSubmitted) == []
    assert "cannot read this kind of message" in str(facts_of(changed, DeliveryRequested))


USERS: Mapping[str, tuple[str, ...]] = {"anna": (ANNA, "slack:U1")}


def test_a_persons_conversation_continues_on_another_platform() -> None:
    log = Log(users=USERS)
    assert submitted(log.hear("Hello")).session == "s1"
    assert submitted(log.hear("Here I am", "slack:U1")).session == "s1"
    assert log.streams.keys() == {"session-s1", "person-anna"}


def test_a_conversation_from_before_the_joining_continues() -> None:
    log = Log()
    log.hear("Hello")
    log.house = GatewayPolicy(users=USERS)
    assert submitted(log.hear("And then?")).session == "s1"


def test_two_people_never_meet_in_a_conversation() -> None:
    log = Log()
    assert submitted(log.hear("Hello")).session == "s1"
    assert submitted(log.hear("Hello", "telegram:13")).session == "s2"
    assert submitted(log.hear("Again")).session == "s1"


def test_the_same_message_means_the_same_delivery() -> None:
    said = IncomingMessage(key="telegram:4242:7", user=ANNA, target=ANNA, text="/status")
    ids = set()
    for _ in range(2):
        log = Log()
        changed = handle_message(said, log.house, NewIds("t", "s"))(log.load)
        ids |= {write.stream for write in changed.writes}
    assert ids == {"delivery-dtelegramx4242x7"}


def test_news_are_sent_when_a_turn_begins_and_not_with_a_command() -> None:
    said = IncomingMessage(key="telegram:4242:7", user=ANNA, target=ANNA, text="Hello")
    log, names = Log(), NewIds("t1", "s1")
    changed = handle_message(said, GatewayPolicy(), names, ("Both are kept.", "Look there."))(log.load)
    (note,) = facts_of(changed, DeliveryRequested)
    assert isinstance(note, DeliveryRequested)
    assert (note.text, note.target) == ("Both are kept.\nLook there.", ANNA)
    asked = IncomingMessage(key="telegram:4242:8", user=ANNA, target=ANNA, text="/help")
    answered = handle_message(asked, GatewayPolicy(), names, ("Both are kept.",))(log.load)
    assert "Both are kept." not in str(facts_of(answered, DeliveryRequested))
