"""Questions: what is found where not all of their words stand anywhere, and what counts least."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports.conversation_search import Scope
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.views.views import Views
from hermes_jobs.text.search.question import as_question
from tests.views.test_search import Archive


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive(tmp_path)
    yield archive
    archive.close()


def searched(archive: Archive, session: str, query: str, found: str) -> str:
    """A turn whose model searches the past for that, and finds that."""
    turn = archive.say(f"look for {query}", session)
    call = ToolCall("c1", "session_search", f'{{"query": "{query}"}}')
    archive.answer(turn, "I look.", call, session=session)
    started = e.ToolStarted(
        turn=turn,
        step=f"{turn}-1",
        call=f"{turn}-1-0",
        name="session_search",
        arguments=call.arguments,
        attempt=1,
        effect="read",
    )
    write = StreamWrite(stream=f"session-{session}", events=(started,), expected=None)
    archive.log.append(
        Append(meta=EventMeta(worker="w"), recorded_at="2026-11-21T12:00:09.000000Z", writes=(write,))
    )
    archive.result(f"{turn}-1-0", found, session=session)
    return turn


# --- relaxed ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When did Caroline decide to adopt a dog?", "Caroline: we are adopting next spring, I decided"),
        ("what is my sister's favourite dish", "My sister loves lasagne."),
        ("Wo habe ich den Wohnungsschlüssel hingelegt?", "Die Wohnungsschlüssel liegen im Flur."),
        ("où sont mes lunettes bleues", "J'ai posé la lunette bleue dans la cuisine."),
        ("我的护照在哪里", "护照放在蓝色抽屉"),
        ("パスポートはどこに置きましたか", "パスポートは青い引き出し"),
        ("내 여권 어디에 있어", "여권은 파란 서랍"),
        ("which deployments failed", "the deployment went wrong"),
    ],
)
def test_a_question_finds_its_answer_and_says_that_it_was_relaxed(
    question: str, text: str, archive: Archive
) -> None:
    for number in range(30):
        archive.say(f"something else was said here, and that was number {number}", f"other{number}")
    answer = archive.say(text, "s1")
    first = archive.hits(question)[0]
    assert (first.turn, first.relaxed) == (answer, True)


def test_passages_with_every_word_come_first_without_relaxation(archive: Archive) -> None:
    all_words = archive.say("the proxy of the build server is behind the firewall " * 9, "s1")
    some = archive.say("proxy firewall", "s2")
    hits = archive.hits("build server proxy firewall")
    assert [(hit.turn, hit.relaxed) for hit in hits] == [(all_words, False), (some, True)]


def test_few_words_that_stand_together_somewhere_are_not_relaxed(archive: Archive) -> None:
    both = archive.say("docker compose", "s1")
    archive.say("docker", "s2")
    assert archive.found("docker compose") == [both]


@pytest.mark.parametrize(
    "query",
    [
        *("docker AND absent", "docker NOT docker", '"docker proxy"', "absent OR missing"),
        *("abs*", '"docker proxy" compose'),
    ],
)
def test_a_query_with_operators_is_never_relaxed(query: str, archive: Archive) -> None:
    archive.say("docker compose beside a proxy")
    assert archive.hits(query) == ()


def test_a_phrase_in_a_question_has_to_be_there(archive: Archive) -> None:
    archive.say("the bread of this town", "s1")
    said = archive.say("we baked sour dough", "s2")
    assert archive.found('which bread did we bake, "sour dough" perhaps') == [said]


def test_a_sentence_with_an_unknown_phrase_finds_passages_about_the_rest(archive: Archive) -> None:
    said = archive.say("Fahim began to read Orange on Tuesday", "s1")
    archive.say("something else", "s2")
    (hit,) = archive.hits('when did Fahim start reading "the orange book" last year')
    assert (hit.turn, hit.relaxed) == (said, True)


def test_a_rare_word_counts_more_than_common_ones_however_old_it_is(archive: Archive) -> None:
    rare = archive.say("zanzibar", "s0")
    for number in range(60):
        archive.say(f"where did we go on our trip, day {number}", f"s{number + 1}")
    assert archive.found("where did we go when we flew to zanzibar on our trip last year")[0] == rare


def test_the_newer_of_equals_comes_first(archive: Archive) -> None:
    older = archive.say("the kayak is red", "s1")
    newer = archive.say("the kayak is red", "s2")
    assert archive.found("colour of kayaks")[:2] == [newer, older]


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("Which volcano of Iceland did we fly over?", False),
        ("What colour has our kayak?", True),
        ("red kayak", True),
        (f"Write about trees, clouds, trains, rivers, shoes and lamps, {'and again, ' * 30}", False),
        (f"A red kayak: write about it as long as you like, {'and so on, ' * 30}", True),
    ],
)
def test_a_share_of_a_texts_rarity_can_be_asked_for(text: str, is_told: bool, archive: Archive) -> None:
    for number in range(20):
        archive.say("something else, and so on", f"other{number}")
    said = archive.say("the kayak is red", "s1")
    found = [each.hit.turn for each in archive.past.passages(as_question(text), least=0.25)]
    assert found == ([said] if is_told else [])


@pytest.mark.parametrize(
    ("question", "said", "other"),
    [
        ("When did Dmitri book his flight?", "Dmitri: the flight is at noon", "Dmitri: when did you call?"),
        ("Wo hat Anja den Koffer gekauft?", "Anja: ein neuer Koffer", "Anja: wo hast du den her?"),
        ("陈静养了什么宠物？", "陈静：我的宠物生病了", "陈静：你在说什么？什么时候？"),
    ],
)
def test_the_words_that_any_question_has_count_little(
    question: str, said: str, other: str, archive: Archive
) -> None:
    turn = archive.say(said, "s1")
    archive.say(other, "s2")
    for number in range(20):
        archive.say("something else", f"other{number}")
    for number in range(2):
        archive.say("flight Koffer 宠物, of somebody else", f"another{number}")
    assert archive.found(question)[0] == turn


def test_a_question_about_the_present_ranks_the_newest_first(archive: Archive) -> None:
    for number in range(20):
        archive.say("something else", f"other{number}")
    older = archive.say("The wedding will be in May", "s1")
    newer = archive.say("We have to move the wedding to June, after all that planning", "s2")
    assert archive.found("in which month is our wedding")[:2] == [older, newer]
    assert archive.found("in which month is our wedding now")[:2] == [newer, older]


def test_neighbouring_messages_count(archive: Archive) -> None:
    for number in range(20):
        archive.say(f"number {number}: the boat leaves at nine, as always", f"other{number}")
    archive.say("We talked about our holiday in Lisbon, and about ferries", "s1")
    said = archive.say("the boat leaves at nine", "s1")
    turns = [hit.turn for hit in archive.hits("when did the boat leave on our lisbon holidays")]
    assert said in turns[:2]


def test_a_question_keeps_to_its_scope(archive: Archive) -> None:
    turn = archive.say("the kayak is red", "s1")
    archive.answer(turn, "A red kayak, noted.", session="s1")
    archive.say("kayaks", "s2", kind="review")
    found = archive.hits("colour of my kayak please", Scope(roles=("assistant",)))
    assert {hit.role for hit in found} == {"assistant"}
    assert "s2" not in {hit.session for hit in archive.hits("colour of my kayak please")}
    assert archive.hits("colour of my kayak please", Scope(outside="s1")) == ()


# --- searches of the past -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("frobnicator", "The frobnicator is " + "somewhere in the long list of things " * 9),
        ("where did we put the frobnicator", "The frobnicator is in the cellar."),
        ("护照", "护照放在蓝色抽屉里面"),
    ],
)
def test_ten_searches_for_a_thing_do_not_outrank_it(query: str, text: str, archive: Archive) -> None:
    said = archive.say(text, "s0")
    for number in range(10):
        searched(archive, f"s{number + 1}", query, f"1 conversation about “{query}”: {text}")
    assert archive.found(query)[0] == said
    passages = archive.past.passages(query, limit=100)
    assert passages[0].hit.turn == said
    tools = [at for at, each in enumerate(passages) if each.hit.role == "tool"]
    users = [at for at, each in enumerate(passages) if each.hit.role == "user"]
    assert users
    assert all(at > max(users) for at in tools)


IN_EACH_SCRIPT = {
    "frobnicator cellar": "The frobnicator is in the cellar.",
    "Übergröße Keller": "Die Übergröße steht im Keller.",
    "библиотека подвал": "Наша библиотека переехала в подвал.",
    "βιβλιοθήκη υπόγειο": "Η βιβλιοθήκη είναι στο υπόγειο.",
    "ספרייה מרתף": "הספרייה נמצאת ליד מרתף, ספרייה ישנה.",
    "مكتبة الطابق": "مكتبة كبيرة في الطابق الثاني",
    "पुस्तकालय तहखाना": "पुस्तकालय का तहखाना बंद है",
    "লাইব্রেরি ঘর": "লাইব্রেরি আর একটা ঘর",
    "நூலகம் அறை": "நூலகம் ஒரு அறை",
    "ห้องสมุด": "ห้องสมุดอยู่ชั้นใต้ดิน",
    "图书馆 地下室": "图书馆在地下室里面",
    "図書館 地下": "図書館は地下にあります",
    "도서관 지하실": "도서관은 지하실에 있습니다",
    "📚 🏠": "📚 in the 🏠",
}


def test_exact_words_stay_first_in_each_script_after_ten_searches_for_them(archive: Archive) -> None:
    said = {query: archive.say(text, f"s{at}") for at, (query, text) in enumerate(IN_EACH_SCRIPT.items())}
    for query in IN_EACH_SCRIPT:
        archive.say(f"{query.split()[0]} was mentioned beside much else", "beside")
    first = {query: archive.found(query)[0] for query in said}
    for number in range(10):
        for at, (query, text) in enumerate(IN_EACH_SCRIPT.items()):
            searched(archive, f"q{number}x{at}", query, f"1 conversation about “{query}”: {text}")
    assert len(IN_EACH_SCRIPT) == 14
    assert first == said
    assert {query: archive.found(query)[0] for query in said} == said


# --- passages -----------------------------------------------------------------------------------


def append_prefetched(archive: Archive, session: str, turn: str) -> None:
    """The turn's text is heard."""
    write = StreamWrite(
        stream=f"session-{session}",
        events=(e.ContextPrefetched(turn=turn, model="m", max_iterations=3),),
        expected=None,
    )
    archive.log.append(
        Append(meta=EventMeta(worker="w"), recorded_at="2026-11-21T12:00:09.000000Z", writes=(write,))
    )


def talk(archive: Archive, session: str, *said: str) -> None:
    """Texts and answers in turn."""
    for text, answer in zip(said[::2], said[1::2], strict=True):
        turn = archive.say(text, session)
        append_prefetched(archive, session, turn)
        archive.answer(turn, answer, session=session)


def test_the_ten_best_messages_stand_among_the_first_ten_hits_of_a_question(archive: Archive) -> None:
    for number in range(14):
        archive.say(f"the marmot sleeps in burrow number {number}", "talkative")
    rest = " and then a good deal more was said about entirely different matters" * 3
    single = [archive.say(f"a marmot was seen here{rest}", f"s{number}") for number in range(4)]
    first, *_ = archive.hits("where does the marmot usually sleep at night")
    hits = archive.hits("where does the marmot usually sleep at night", limit=14)
    best = archive.past.passages("where does the marmot usually sleep at night", limit=10)
    assert first.lineage == "talkative"
    assert {each.hit.position for each in best} == {hit.position for hit in hits[:10]}
    assert set(single) <= {hit.turn for hit in hits}


def test_a_prefix_that_begins_no_word_finds_nothing(archive: Archive) -> None:
    archive.say("some words that were said", "s1")
    assert archive.hits("zzq*") == ()


def test_a_questions_hit_brings_the_answer_that_followed_it(archive: Archive) -> None:
    talk(archive, "s1", "which museum opens on mondays?", "The maritime one.")
    (passage,) = archive.past.passages("museum mondays")
    assert passage.text == "which museum opens on mondays?"
    assert passage.after is not None
    assert passage.after.text == "The maritime one."


def test_an_answer_counts_with_the_question_before_it(archive: Archive) -> None:
    talk(archive, "s1", "how long is the ferry to Lisbon?", "That takes nine hours.")
    talk(archive, "s1", "thanks, and the oven?", "That takes nine hours.")
    hits = archive.hits("how many hours are we on the ferry to lisbon")
    answers = [hit.position for hit in hits if hit.role == "assistant"]
    assert len(answers) == 2
    assert answers[0] < answers[1]


def test_a_question_and_its_answer_that_are_both_found_are_two_passages(archive: Archive) -> None:
    talk(archive, "s1", "where is the kiln?", "The kiln is in the shed.")
    talk(archive, "s2", "and what is in the shed?", "Nothing.")
    passages = archive.past.passages("was the kiln or the wheel in our shed?", limit=2)
    assert {each.text for each in passages} == {"The kiln is in the shed.", "where is the kiln?"}
    assert all(each.before is None and each.after is None for each in passages)


def test_a_hit_that_would_be_cut_beside_another_is_listed_alone(archive: Archive) -> None:
    long = f"{'so much else to tell you about first ' * 20}, and the kiln is in the shed"
    talk(archive, "s1", long, "The kiln in the shed, noted.")
    passages = archive.past.passages("kiln shed")
    assert [each.hit.role for each in passages] == ["assistant", "user"]
    assert passages[1].text.endswith("the kiln is in the shed")
    assert all(each.before is None and each.after is None for each in passages)


def test_a_question_finds_the_end_of_a_very_long_message(archive: Archive) -> None:
    archive.say("a shorter text about nothing", "s1")
    long = archive.say(f"{'so much else to tell you about first ' * 1_000}the kiln is in the shed", "s2")
    (passage,) = archive.past.passages("in which of our sheds did we put that kiln?", limit=1)
    assert passage.hit.turn == long
    assert ">>>kiln<<< is in the >>>shed<<<" in passage.hit.snippet
    assert passage.text.endswith("the kiln is in the shed")


def test_passages_show_nothing_twice(archive: Archive) -> None:
    talk(archive, "s1", "a needle?", "a needle!", "and the needle?", "that needle too")
    talk(archive, "s2", "another needle", "hm")
    shown = [
        position
        for each in archive.past.passages("needle")
        for position in (
            each.hit.position,
            *(near.position for near in (each.before, each.after) if near is not None),
        )
    ]
    assert len(shown) == len(set(shown)) == 6


def test_the_second_index_is_the_same_however_it_was_built(archive: Archive, tmp_path: Path) -> None:
    for number in range(50):
        talk(archive, f"s{number % 3}", f"the kayak number {number}", "Noted, " + "ok " * number)
        archive.views.catch_up()
    query = "which kayaks did we number"
    before = [(hit.position, hit.relaxed) for hit in archive.hits(query)]
    fresh = Views(archive.log, tmp_path / "again")
    assert [(hit.position, hit.relaxed) for hit in Conversations(fresh).search(query, limit=1_000)] == before
    fresh.close()
