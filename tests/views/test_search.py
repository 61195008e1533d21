"""Searching a small log: what is found, in which order, and that nothing that is typed breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.features.search.tables.candidates import alternatives
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports.conversation_search import Scope, SearchHit
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.decision import LargeResult
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.views.views import Views
from hermes_jobs.text.search import All, AnyOf, Matcher, Term, Without, fold, parse
from hermes_jobs.text.search.hints import no_results_hint, relaxed_hint
from hermes_jobs.text.search.query import Expression
from tests.examples import examples
from tests.tables import nightly, slow
from tests.views.histories import append, new_log

MANY = 1_000


class Archive:
    """A log into which texts are written as they come, and the views of it."""

    def __init__(self, folder: Path) -> None:
        self.log: SqlEventLog = new_log(folder)
        self.views = Views(self.log, folder / "views")
        self.past = Conversations(self.views)
        self._turns = 0

    def say(
        self, text: str, session: str = "s1", *, kind: e.SessionKind = "conversation", source: str = "cli"
    ) -> str:
        """A user's text; the turn's id."""
        self._turns += 1
        turn = f"t{self._turns}"
        opening = None if self.log.head(stream_of(session)) else e.Opening(kind=kind)
        said = e.TurnSubmitted(turn=turn, text=text, source=source, session=session, opening=opening)
        append(self.log, [(stream_of(session), said)])
        return turn

    def delegate(self, turn: str, session: str, *children: str) -> list[str]:
        """Sub-agents that a turn begins, each of which is told of the needle; their turns."""
        refs = tuple(e.ChildRef(session=child, turn=f"{child}t", goal="needle") for child in children)
        begun = e.ChildrenStarted(turn=turn, call=f"{turn}-1-0", children=refs)
        append(self.log, [(stream_of(session), begun)])
        for ref in refs:
            said = e.TurnSubmitted(
                turn=ref.turn,
                text="needle",
                source=f"parent:{session}",
                session=ref.session,
                opening=e.Opening(kind="child"),
            )
            append(self.log, [(stream_of(ref.session), said)])
        return [ref.turn for ref in refs]

    def answer(
        self, turn: str, text: str, *calls: ToolCall, session: str = "s1", finish: str = "stop"
    ) -> None:
        """A model's reply, with calls."""
        plan = tuple(e.PlannedCall(call=f"{turn}-1-{at}", effect="read") for at in range(len(calls)))
        replied = e.ModelReplied(
            turn=turn,
            step=f"{turn}-1",
            content=text,
            model="m",
            finish_reason=finish,
            tool_calls=calls,
            plan=plan,
        )
        append(self.log, [(stream_of(session), replied)])

    def result(self, call: str, text: str, whole: str | None = None, session: str = "s1") -> None:
        """A tool's result; `whole` where it was too large for a message."""
        spilled = None if whole is None else f"results/{call}.txt"
        finished = e.ToolFinished(
            turn=call.split("-", 1)[0], call=call, ok=True, content=text, spilled_to=spilled
        )
        kept = () if whole is None else (LargeResult(call=call, content=whole),)
        write = StreamWrite(stream=stream_of(session), events=(finished,), expected=None)
        at = f"2026-11-21T12:00:00.{self.log.last_position() + 1:06d}Z"
        self.log.append(Append(meta=EventMeta(worker="w"), recorded_at=at, writes=(write,), results=kept))

    def found(self, query: str, scope: Scope | None = None, limit: int = MANY) -> list[str]:
        """The turns of the hits, best first."""
        return [hit.turn for hit in self.hits(query, scope, limit)]

    def hits(self, query: str, scope: Scope | None = None, limit: int = MANY) -> tuple[SearchHit, ...]:
        return self.past.search(query, scope=scope or Scope(), limit=limit)

    def close(self) -> None:
        self.views.close()
        self.log.close()


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive(tmp_path)
    yield archive
    archive.close()


# --- what is found ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "text", "other"),
    [
        ("proxy", "the Proxy is down", "the proxies are down"),
        ("prox*", "the proxies are down", "the prior is down"),
        ("proxy down", "down goes the proxy", "the proxy is up"),
        ('"proxy down"', "the proxy down there", "down goes the proxy"),
        ("proxy NOT down", "the proxy is up", "the proxy is down"),
        ("proxy OR cache", "the cache", "the queue"),
        ("src/app/main.py", "see src/app/main.py:12", "see main.py in src/app"),
        ("anna.b@example.com", "mail anna.b@example.com", "mail anna.c@example.com"),
        ("https://example.com/a?b=c", "at https://example.com/a?b=c now", "at https://example.com/b"),
        ("3.11.2", "python 3.11.2", "python 3.11.4, 2"),
        ("C++", "in C++ it is", "in C it is"),
        ("C#", "in C#.", "in C++, c and #"),
        ("C++17", "since C++17", "since C++20, 17 years"),
        ("repo#12", "see repo#12", "see repo#123 and 12"),
        ("it's", "it’s true", "it is his"),
        ("what?", "what now", "when"),
        ("--dry-run", "pass --dry-run", "run it dry"),
        ("Grösse", "die GRÖSSE", "die Größe"),
        ("ubung", "die Übung", "die Ubungen"),
        ("e\u0301te\u0301", "l'été", "l'hiver"),
        ("模", "大模型", "大象"),
        ("模型", "大模型好", "模 型"),
        ("大模型", "一个大模型好", "大 模型"),
        ("大模型好用", "这个大模型好用吗", "大模型，好用"),
        ("GPT模型", "使用GPT模型吗", "使用GPT的模型"),
        ("gpt", "使用GPT模型吗", "使用模型吗"),
        ("検索", "全文検索です", "全文を探す"),
        ("검색", "검색을 하다", "검 색"),
        ('"검색 기능"', "새 검색 기능을", "기능 검색"),
        ('"the 검색 기능 works"', "and the 검색 기능 works", "works the 기능 and 검색"),
        ("สวัสดี", "คำว่าสวัสดีครับ", "ครับ"),
        ("🚀", "off we go🚀!", "off we go"),
        ("❤️", "we ❤ it", "we like it"),
        ("👩\u200d💻", "a 👩\u200d💻 at work", "a 👩 and 💻"),
        ("ｆｕｌｌ", "full width", "fool width"),
        ("模 AND 型 NOT 号", "模和型", "型号模"),
        ("模型 OR proxy", "the proxy", "型 模"),
        ("模型 proxy", "proxy 模型", "proxy 模"),
        ("proxy NOT 模型", "proxy 模", "proxy 模型"),
    ],
)
def test_a_query_finds_its_words_and_nothing_else(
    query: str, text: str, other: str, archive: Archive
) -> None:
    named = archive.say(text)
    archive.say(other)
    assert archive.found(query) == [named]


def test_names_and_arguments_of_tools_are_searched_without_the_escapes_of_json(archive: Archive) -> None:
    turn = archive.say("do it")
    archive.answer(
        turn, "", ToolCall("c1", "write_file", '{"path": "a/b.txt", "content": "one\\ntwo \\u6a21\\u578b"}')
    )
    archive.result(f"{turn}-1-0", "written")
    assert [hit.role for hit in archive.hits("two")] == ["assistant"]
    assert [hit.role for hit in archive.hits("模型")] == ["assistant"]
    assert [hit.role for hit in archive.hits("a/b.txt")] == ["assistant"]
    assert sorted(hit.role for hit in archive.hits("write_file")) == ["assistant", "tool"]
    snippet = archive.hits("a/b.txt")[0].snippet
    assert ">>>a/b.txt<<<" in snippet
    assert snippet.startswith("[") or " [" in snippet, "what nobody said stands in brackets"


def test_arguments_that_are_no_json_are_searched_as_they_are(archive: Archive) -> None:
    turn = archive.say("do it")
    archive.answer(turn, "", ToolCall("c1", "terminal", '{"command": "ls needle'))
    assert archive.found("needle") == [turn]


def test_calls_that_were_cut_and_never_made_are_not_found(archive: Archive) -> None:
    turn = archive.say("do it")
    archive.answer(turn, "I begin", ToolCall("c1", "terminal", '{"command": "needle'), finish="length")
    assert archive.found("needle") == []
    assert archive.found("begin") == [turn]


def test_a_large_result_is_found_by_its_whole_text(archive: Archive) -> None:
    turn = archive.say("list")
    archive.answer(turn, "", ToolCall("c1", "terminal", "{}"))
    archive.result(
        f"{turn}-1-0", "It begins: row 1", whole="row 1\n" * 500 + "the needle\n" + "row 2\n" * 500
    )
    (hit,) = archive.hits("needle")
    assert (hit.turn, hit.role) == (turn, "tool")
    assert "the >>>needle<<<" in hit.snippet
    archive.views.rebuild()
    assert archive.found("needle") == [turn]


def test_a_text_that_waits_is_found_and_one_that_is_said_again_is_found_once(archive: Archive) -> None:
    turn = archive.say("a needle")
    assert archive.found("needle") == [turn]
    for _ in range(2):
        append(archive.log, [("session-s1", e.ContextPrefetched(turn=turn, model="m", max_iterations=3))])
    assert archive.found("needle") == [turn]


def test_those_above_and_below_a_session_are_left_out_with_it_and_its_siblings_are_not(
    archive: Archive,
) -> None:
    root = archive.say("needle", "root")
    first = archive.delegate(root, "root", "first", "second")
    leaf = archive.delegate(first[0], "first", "leaf")
    other = archive.say("needle", "other")
    where = {name: Scope(hidden=True, outside=name) for name in ("root", "first", "second", "leaf")}
    found = {name: set(archive.found("needle", scope)) for name, scope in where.items()}
    assert found == {
        "root": {other},
        "first": {other, first[1]},
        "second": {other, *first[:1], *leaf},
        "leaf": {other, first[1]},
    }
    assert [past.session for past in archive.past.recent(scope=Scope(outside="first"))] == ["other"]


# --- where it is looked for ---------------------------------------------------------------------


def test_a_search_keeps_to_its_scope(archive: Archive) -> None:
    first = archive.say("needle", "s1")
    archive.answer(first, "a needle", session="s1")
    second = archive.say("needle", "s2", source="telegram")
    assert set(archive.found("needle", Scope(roles=("assistant",)))) == {first}
    assert archive.found("needle", Scope(roles=("user", "tool"))) == [second, first]
    assert archive.found("needle", Scope(source="telegram")) == [second]
    assert archive.found("needle", Scope(source="tele")) == []
    assert archive.found("needle", Scope(outside="s2")) == [first, first]
    noon, days = "2026-11-21T12:00:00.{:06d}Z", "2026-11-{:02d}T00:00:00.000000Z"
    assert archive.found("needle", Scope(after=noon.format(3))) == [second]
    assert archive.found("needle", Scope(before=noon.format(2))) == [first]
    assert archive.found("needle", Scope(after=days.format(22))) == []
    assert archive.found("needle", Scope(before=days.format(21))) == []
    assert len(archive.found("needle", Scope(after=days.format(21), before=days.format(22)))) == 3


def test_reviews_and_sub_agents_are_hidden_and_scheduled_ones_come_last(archive: Archive) -> None:
    plain = archive.say("one needle among many other words that are said here", "s1")
    scheduled = archive.say("needle needle", "s2", kind="scheduled")
    hidden = [archive.say("needle", "s3", kind="review"), archive.say("needle", "s4", kind="subagent")]
    assert archive.found("needle") == [plain, scheduled]
    everything = archive.found("needle", Scope(hidden=True))
    assert everything[-1] == scheduled
    assert set(everything) == {plain, scheduled, *hidden}


def test_hits_of_a_lineage_stand_together_and_every_lineage_has_one_first(archive: Archive) -> None:
    chatty = [archive.say("needle needle", "s1") for _ in range(5)]
    brief = archive.say("a needle in some other words", "s2")
    sessions = [hit.session for hit in archive.hits("needle")]
    assert sessions == ["s1"] * 5 + ["s2"]
    few = archive.hits("needle", limit=2)
    assert [hit.session for hit in few] == ["s1", "s2"]
    assert few[0].turn in chatty
    assert few[1].turn == brief


def test_better_fits_come_first_and_newer_ones_among_equals(archive: Archive) -> None:
    once = archive.say("needle " + "and words " * 40, "s1")
    older = archive.say("a needle", "s2")
    newer = archive.say("a needle", "s3")
    thrice = archive.say("needle, needle, needle", "s4")
    assert archive.found("needle") == [thrice, newer, older, once]


def test_a_rare_word_is_found_beside_a_common_one_however_old_it_is(archive: Archive) -> None:
    rare = archive.say("a needle", "s0")
    append(
        archive.log,
        [
            ("session-s9", e.TurnSubmitted(turn=f"u{number}", text="common", source="cli", session="s9"))
            for number in range(500)
        ],
    )
    assert archive.found("common OR needle")[0] == rare


def test_alternatives_are_searched_apart_up_to_a_limit() -> None:
    expression = parse("(a OR b) (c OR d) NOT e")
    assert expression is not None
    assert len(alternatives(expression)) == 4
    many = parse(" ".join(f"(a{number} OR b{number})" for number in range(9)))
    assert many is not None
    assert alternatives(many) == (many,)


def test_a_hit_has_its_place(archive: Archive) -> None:
    turn = archive.say("find the needle")
    append(archive.log, [("session-s1", e.SessionTitled(session="s1", title="Hay"))])
    (hit,) = archive.hits("needle")
    assert (hit.session, hit.title, hit.label, hit.kind, hit.source) == (
        "s1",
        "Hay",
        "Hay",
        "conversation",
        "cli",
    )
    assert (hit.turn, hit.role, hit.position) == (turn, "user", 1)
    assert hit.snippet == "find the >>>needle<<<"


def test_the_latest_conversations_are_listed_without_a_query(archive: Archive) -> None:
    archive.say("one", "s1")
    archive.say("two", "s2", kind="review")
    archive.say("three", "s3", source="telegram")
    archive.say("four", "s1")
    recent = archive.past.recent(limit=9)
    assert [(past.session, past.preview, past.num_messages) for past in recent] == [
        ("s1", "one", 2),
        ("s3", "three", 1),
    ]
    assert [past.session for past in archive.past.recent(scope=Scope(hidden=True), limit=2)] == ["s1", "s3"]
    assert [past.session for past in archive.past.recent(scope=Scope(outside="s1"))] == ["s3"]
    assert [past.session for past in archive.past.recent(scope=Scope(source="telegram"))] == ["s3"]
    assert archive.past.searched() == 4


def test_an_empty_log_has_nothing(archive: Archive) -> None:
    assert archive.hits("needle") == ()
    assert archive.past.recent() == ()
    assert archive.past.searched() == 0


# --- whatever is typed ------------------------------------------------------------------------

WORDS = (
    *(
        "alpha",
        "beta",
        "al",
        "Größe",
        "c++",
        "c#",
        "it's",
        "src/app.py",
        "a@b.org",
        "3.11",
        "x_y",
        "#12",
        "-x",
    ),
    *(
        "模型",
        "模",
        "型号",
        "架构模型",
        "검색",
        "기능",
        "GPT模型",
        "使用",
        "🚀",
        "👍🏽",
        "❤️",
        "🚀go",
        "ab",
        "abc",
    ),
    *("e\u0301t\u00e9", "ｆｕｌｌ", "—", "สวัสดี"),
)
GAPS = (" ", "  ", "\n", ", ", "", "-", " 的 ")


def some_text(random: Random) -> str:
    return "".join(random.choice(WORDS) + random.choice(GAPS) for _ in range(random.randint(1, 6)))


def some_query(random: Random) -> str:
    parts: list[str] = []
    for _ in range(random.randint(1, 4)):
        word = random.choice(WORDS)
        form = random.random()
        if form < 0.15:
            word = f'"{word}{random.choice(GAPS)}{random.choice(WORDS)}"'
        elif form < 0.3:
            word = f"{word[: random.randint(1, len(word))]}*"
        parts += [word, random.choice(["", "", "", "AND", "OR", "NOT", "AND NOT"])]
    return " ".join(parts)


def holds(expression: Expression, folded: str) -> bool:
    """What an expression means, said by reading the text."""
    match expression:
        case Term():
            return Matcher((expression,)).holds(0, folded)
        case All(parts):
            return all(holds(part, folded) for part in parts)
        case AnyOf(parts):
            return any(holds(part, folded) for part in parts)
        case Without(wanted, unwanted):
            return holds(wanted, folded) and not any(holds(part, folded) for part in unwanted)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(12))
def test_the_index_finds_what_a_scan_of_every_text_finds(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        archive = Archive(Path(folder))
        texts = {
            archive.say(text, f"s{number // 10}"): fold(text)
            for number in range(40)
            if (text := some_text(random))
        }
        for _ in range(60):
            query = some_query(random)
            expression = parse(query)
            expected = {turn for turn, text in texts.items() if expression and holds(expression, text)}
            hits = archive.hits(query)
            assert {hit.turn for hit in hits if not hit.relaxed} == expected, query
            order = [each.hit.relaxed for each in archive.past.passages(query, limit=MANY)]
            assert order == sorted(order), query
        archive.close()


def test_a_text_is_found_behind_many_that_only_the_index_takes_for_one(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_jobs.features.search.tables.candidates.RANKED", 5)
    wanted = archive.say("GPT模型")
    for _ in range(20):
        archive.say("GPT数据, 模型")
    assert archive.found("GPT模型 NOT zzyzx") == [wanted]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(12))
def test_the_description_of_a_search_is_true(seed: int) -> None:
    """Also where searches of the past, which repeat the words, and scheduled sessions stand behind."""
    random = Random(seed)
    with TemporaryDirectory() as folder:
        archive = Archive(Path(folder))
        texts: dict[str, str] = {}
        for number in range(30):
            kind: e.SessionKind = "scheduled" if number % 5 == 4 else "conversation"
            text = some_text(random)
            turn = archive.say(text, f"s{number // 5}{kind}", kind=kind)
            texts[turn] = fold(text)
            if number % 3 == 0:
                asked = some_text(random)
                call = ToolCall(id="c", name="session_search", arguments=asked)
                archive.answer(turn, "", call, session=f"s{number // 5}{kind}")
                texts[f"{turn} searched"] = fold(f"[session_search {asked}]")
        for _ in range(40):
            query = some_query(random)
            expression = parse(query)
            if expression is None:
                continue
            holding = [text for text in texts.values() if holds(expression, text)]
            hits = archive.hits(query, limit=3)
            exact = sum(not hit.relaxed for hit in hits)
            said = relaxed_hint(query, exact) if hits else no_results_hint(query, len(texts), (), ())
            assert not (said.startswith("No message holds") and holding), query
            assert exact <= len(holding), query
            found = archive.past.passages(query, limit=MANY)
            assert sum(not each.hit.relaxed for each in found) == len(holding), query
        archive.close()


NASTY = (
    *"\"“”()*:-_/@#+'’`^~{}[]<>,;.!?\\|&%$=\t\n\x00\r ",
    *(
        "AND",
        "OR",
        "NOT",
        "NEAR(",
        "and",
        "tokens:",
        "entries",
        "rowid",
        "a",
        "needle",
        "naïve",
        "ß",
        "C++",
        "3.11",
    ),
    *(
        "模",
        "模型",
        "검색",
        "カタ",
        "ไทย",
        "🚀",
        "❤️",
        "👩\u200d💻",
        "e\u0301",
        "\ud800",
        "\udcff",
        "\u202e",
        "\ue000",
    ),
    *("ﬁ", "İ", "\U0010ffff", "\u0000", "﷽", "𝕏", "ǆ", "\u00ad", "Ω", "ж", "א", "ع", "ह", "\uffff", "½", "②"),
)


@pytest.mark.parametrize("number", [*slow(2_000), *nightly(10_000)])
def test_thousands_of_random_queries_raise_nothing(archive: Archive, number: int) -> None:
    archive.say("a needle in 模型 검색 🚀 naïve C++ 3.11")
    random = Random(20261121)
    for _ in range(number):
        gap = random.choice(["", " ", "  "])
        query = gap.join(random.choices(NASTY, k=random.randint(0, 16)))
        scope = Scope(roles=random.choice([(), ("user",)]), source=random.choice([None, query, "cli"]))
        archive.hits(query, scope, limit=3)


@given(st.text(max_size=80))
@settings(max_examples=examples(150))
def test_any_text_at_all_can_be_searched_for(query: str) -> None:
    with TemporaryDirectory() as folder:
        archive = Archive(Path(folder))
        archive.say("a needle in 模型")
        archive.hits(query)
        archive.close()


@pytest.mark.parametrize(
    "query",
    [
        *(
            "AND needle",
            "needle OR",
            "NOT needle",
            '"needle',
            'needle"',
            "(needle",
            "needle)",
            "((needle",
            "needle AND",
        ),
        *(
            "needle*",
            "*needle",
            "needle ***",
            'needle ""',
            "needle ()",
            "needle -",
            "needle AND AND",
            "^needle",
            "+needle",
        ),
        *(
            "needle OR OR",
            "needle NOT",
            "needle NOT ---",
            "needle:",
            "'needle'",
            "`needle`",
            "<needle>",
            "needle?",
            "“needle",
        ),
        *(
            "needle\x00",
            "needle \ud800",
            "\u202eneedle",
            "needle~",
            "{needle}",
            "[needle]",
            "needle,",
            "…needle",
            "NEEDLE",
        ),
    ],
)
def test_syntax_that_went_wrong_still_finds_the_word(query: str, archive: Archive) -> None:
    turn = archive.say("a needle in the hay")
    assert archive.found(query) == [turn]


def test_a_text_as_a_query_finds_itself(archive: Archive) -> None:
    text = "Traceback (most recent call last): KeyError: 'x-y' in src/app.py:12 — naïve? it's C++ 模型!"
    turn = archive.say(text)
    archive.say("something else")
    assert archive.found(text) == [turn]
    assert archive.found(f"{text} " * 100) == [turn]
