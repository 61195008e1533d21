"""What holds for every history: rows are a function of the log, in whatever pieces it was read."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import NO_USAGE
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.references import BEFORE, HEAD
from hermes_jobs.kernel.turns.session import Session, lineage_of
from hermes_jobs.kernel.turns.synthetic_messages import (
    ACKNOWLEDGED,
    ASK_AGAIN,
    CONCLUDE,
    CONTINUE,
    CONTINUING,
    ENDED_UNANSWERED,
    NO_ANSWER,
    STEERING_PREFIX,
)
from hermes_jobs.kernel.turns.synthetic_messages import STOPPED_WITHOUT_WORDS as STOPPED
from hermes_jobs.kernel.views import store
from hermes_jobs.kernel.views.views import Views
from tests.examples import examples
from tests.views.histories import History, append, new_log, random_history

HEARD = 10  # the column of `messages`
SEEDS = st.integers(0, 2**32)


def rows_of(views: Path) -> dict[str, list[tuple]]:
    """All rows of the current generation, by table; of the search index every token in its place."""
    file = views / (views / "current").read_text().strip()
    connection = sqlite3.connect(file)
    connection.execute("CREATE VIRTUAL TABLE temp.tokens USING fts5vocab (main, entries, instance)")
    try:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        tables = ["tokens", *(name for (name,) in names if not name.startswith("entries"))]
        return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}
    finally:
        connection.close()


@given(seed=SEEDS)
@settings(max_examples=examples(40))
def test_rows_taken_in_piece_by_piece_equal_rebuilt_ones(seed: int) -> None:
    random = Random(seed)
    facts = random_history(random, 120).facts
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        log = new_log(Path(folder))
        views = Views(log, Path(folder) / "views")
        while facts:
            patch.setattr(store, "BATCH", random.randint(1, 9))
            some = random.randint(1, 40)
            append(log, facts[:some])
            facts = facts[some:]
            views.catch_up()
        incremental = rows_of(Path(folder) / "views")
        views.rebuild()
        assert rows_of(Path(folder) / "views") == incremental
        views.close()
        log.close()


@given(seed=SEEDS)
@example(seed=32812)  # a person continues with a sub-agent whose end was told
@settings(max_examples=examples(40))
def test_rows_equal_the_folded_state(seed: int) -> None:
    history = random_history(Random(seed), 150)
    with TemporaryDirectory() as folder:
        log = new_log(Path(folder))
        append(log, history.facts)
        views = Views(log, Path(folder) / "views")
        for name, session in history.sessions.items():
            if session.version:
                statuses_agree(views, history, session)
                conversation_agrees(views, Path(folder) / "views", session, name)
        books_agree(views, history)
        trees_agree(views, history)
        views.close()
        log.close()


def trees_agree(views: Views, history: History) -> None:
    """Every child stands below the turn that began it, and the tree's sums are those of its turns."""
    children = {
        ref.turn: (lineage_of(stream), fact.turn, ref)
        for stream, fact in history.facts
        if isinstance(fact, e.ChildrenStarted)
        for ref in fact.children
    }
    told = {fact.child: fact.status for _, fact in history.facts if isinstance(fact, e.ChildEnded)}
    for turn, (parent, parent_turn, ref) in children.items():
        place = history.sessions[ref.session].delegation_of(turn)
        shown, session = views.turn(turn), views.session(ref.session)
        assert place is not None
        assert shown.place is not None
        assert session.place == shown.place
        root = place.payers[0]
        assert (shown.place.root, shown.place.root_turn) == (lineage_of(root.stream), root.turn)
        assert (shown.place.parent, shown.place.parent_turn) == (parent, parent_turn)
        assert (shown.place.depth, shown.place.ended) == (place.depth, told.get(ref.session))
        assert (session.kind, session.parent, session.root) == ("child", parent, shown.place.root)
    for turn in {began for _, began, _ in children.values()}:
        tree = views.tree(turn).find(turn)
        assert tree is not None
        assert [each.turn.id for each in tree.children] == [
            child for child, (_, began, _) in children.items() if began == turn
        ]
        below = list(tree.walk())
        assert tree.totals.usage.total_tokens == sum(each.turn.totals.usage.total_tokens for each in below)
        assert tree.num_tool_calls == sum(each.turn.num_tool_calls for each in below)
    by_root = views.read(select_spending, by="root")
    by_model = views.read(select_spending, by="model")
    assert sum(each.requests for each in by_root) == sum(each.requests for each in by_model)
    assert not {each.key for each in by_root} & children.keys()


def statuses_agree(views: Views, history: History, session: Session) -> None:
    for ended_turn, ended in session.ended.items():
        shown = views.turn(ended_turn)
        assert (shown.status, shown.into) == (ended.status, ended.into)
        assert all(step.ended_at for step in shown.steps)
    for waiting in session.waiting:
        assert views.turn(waiting.id).status == "queued"
    if session.current is not None:
        turn = session.current
        shown = views.turn(turn.id)
        waits = asks(session) or turn.waits_until > 0
        began = turn.started and any(step.outcome == "running" for step in shown.steps)
        below = (child.ref.session for child in session.children if child.parent_turn.id == turn.id)
        waits = waits or any(waiting_below(history, child) for child in below)
        assert (shown.status == "waiting") == waits
        assert (
            shown.status == "running"
            if began and not waits
            else shown.status in {"queued", "running", "waiting"}
        )
        at_work = (
            call.id
            for call in turn.calls
            if call.waits_for_children or ((call.running or call.has_task) and not call.waits_for_person)
        )
        members = (each.id for each in turn.references if each.running)
        running = [*at_work, *members] + [turn.step_id] * turn.running
        assert sorted(step.id for step in shown.steps if step.outcome == "running") == sorted(running)
    shown_session = views.session(session.id)
    assert (shown_session.title, shown_session.num_turns) == (
        session.title,
        len(session.ended) + len(session.waiting) + (session.current is not None),
    )


def asks(session: Session) -> bool:
    turn = session.current
    return turn is not None and any(call.waits_for_person for call in turn.calls)


def waiting_below(history: History, name: str) -> bool:
    """Whether the sub-agent of that session, or one below it, waits for a person."""
    session = history.sessions[name]
    return asks(session) or any(waiting_below(history, child.ref.session) for child in session.children)


def conversation_agrees(views: Views, folder: Path, session: Session, name: str) -> None:
    heard = {row[0] for row in rows_of(folder)["messages"] if row[HEARD] is not None}
    said = [message for message in views.messages(name) if message.position in heard and message.content]
    user = [
        message.content.removeprefix(STEERING_PREFIX)
        for message in session.messages
        if isinstance(message, UserMessage)
        and message.content not in {ASK_AGAIN, CONTINUE, *CONCLUDE.values()}
        and not message.content.startswith(HEAD)
    ]
    assistant = [
        message.content
        for message in session.messages
        if isinstance(message, AssistantMessage)
        and message.content
        not in {"", NO_ANSWER, ACKNOWLEDGED, ENDED_UNANSWERED, *STOPPED.values(), CONTINUING, BEFORE}
    ]
    assert "\n\n".join(m.content for m in said if m.role == "user") == "\n\n".join(user)
    assert [m.content for m in said if m.role == "assistant"] == assistant
    tools = sorted(m.content for m in session.messages if isinstance(m, ToolMessage))
    open_round = [call.result for call in session.current.calls if call.result] if session.current else []
    assert sorted(m.content for m in said if m.role == "tool") == sorted([*tools, *open_round])
    assert all(m.name and m.arguments for m in said if m.role == "tool")


def books_agree(views: Views, history: History) -> None:
    """An ended turn's sums are those of its `UsageRecorded`."""
    ended = {turn for session in history.sessions.values() for turn in session.ended}
    booked: dict[str, list[e.UsageRecorded]] = {}
    for _, fact in history.facts:
        if isinstance(fact, e.UsageRecorded):
            booked.setdefault(fact.turn, []).append(fact)
    for turn in ended & booked.keys():
        shown, records = views.turn(turn), booked[turn]
        assert shown.totals.usage.input_tokens == sum(each.input_tokens for each in records)
        assert shown.totals.usage.output_tokens == sum(each.output_tokens for each in records)
        assert shown.totals.num_model_calls == sum(each.num_model_calls for each in records)
        assert shown.num_tool_calls == sum(each.num_tool_calls for each in records)
        known = all(each.cost_usd is not None for each in records)
        assert shown.totals.cost_usd == (sum(each.cost_usd or 0.0 for each in records) if known else None)
    assert all(
        step.totals.usage == NO_USAGE
        for each in ended
        for step in views.turn(each).steps
        if step.kind == "tool_call"
    )
