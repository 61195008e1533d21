"""Rules for approvals as facts, how long an answer to a question holds, and what is told of plan mode."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.approval_rules import (
    STREAM,
    ApprovalRules,
    add_rule,
    parse_call,
    parse_pattern,
    pattern_text,
    remove_rule,
)
from hermes_jobs.kernel.streams.decision import Decision, StreamEvents
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.streams.streams import fold, initial_state
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import fork_of
from hermes_jobs.kernel.turns.synthetic_messages import PLAN_MODE, mode_note, without_notes
from tests.domain.world import World

OFFER = e.CallPattern(tool="terminal", pattern="rm -r build", exact=True, folder="/w")


class Book:
    """The stream of rules, driven by hand."""

    def __init__(self) -> None:
        self.state: Any = initial_state(STREAM)

    def do(self, change: Decision) -> str:
        done = change(lambda _stream: self.state)
        for write in done.writes:
            assert write.stream == STREAM
            self.state = fold(self.state, write.events)
        return done.answer

    @property
    def rules(self) -> list[tuple[int, str, str]]:
        state: ApprovalRules = self.state
        return [(rule.number, rule.ruling, pattern_text(rule.calls)) for rule in state.rules]


def asked(offer: e.CallPattern | None = OFFER) -> tuple[World, str, str]:
    """A session whose turn waits for a person."""
    world = World()
    turn = world.submit()
    world.prefetch()
    step = world.begin()
    call = f"{step.id}-0"
    reply = e.ModelReplied(
        turn=turn,
        step=step.id,
        content="",
        model="m",
        finish_reason="tool_calls",
        tool_calls=(ToolCall("p1", "terminal", "{}"),),
        plan=(e.PlannedCall(call=call, effect="write"),),
    )
    question = e.ApprovalRequested(
        turn=turn, call=call, digest="d", rule="deleting", expires_at=900.0, offer=offer
    )
    world.do(c.FinishModelCall(step=step.id, outcome=reply, approvals=(question,)))
    return world, turn, call


def test_rules_are_numbered_in_order_and_no_number_is_given_twice() -> None:
    book = Book()
    answers = [
        book.do(add_rule("allow", parse_pattern("npm test *"), by="user")),
        book.do(add_rule("deny", parse_pattern("git push *"), by="user")),
        book.do(remove_rule(2, by="user")),
        book.do(add_rule("ask", parse_pattern("edit:*"), by="user")),
    ]
    assert answers == ["1", "2", "", "3"]
    assert book.rules == [(1, "allow", "npm test *"), (3, "ask", "edit:*")]


def test_the_same_rule_is_made_once_and_one_that_is_not_there_cannot_be_removed() -> None:
    book = Book()
    for _ in range(2):
        assert book.do(add_rule("allow", OFFER, by="user")) == "1"
    assert book.state.version == 1
    with pytest.raises(Rejected, match="There is no rule 2"):
        book.do(remove_rule(2, by="user"))


@pytest.mark.parametrize(
    ("text", "tool", "pattern", "exact"),
    [
        ("rm -r build", "terminal", "rm -r build", True),
        (" npm test * ", "terminal", "npm test *", False),
        ("edit:src/*", "edit", "src/*", False),
        ("terminal:foo:bar", "terminal", "foo:bar", True),
        ("https://x.example/a", "terminal", "https://x.example/a", True),
        ("web_fetch:https://x.example/*", "web_fetch", "https://x.example/*", False),
    ],
)
def test_patterns_are_read_and_written_alike(text: str, tool: str, pattern: str, exact: bool) -> None:
    calls = parse_pattern(text)
    assert (calls.tool, calls.pattern, calls.exact) == (tool, pattern, exact)
    assert parse_pattern(f"{calls.tool}:{calls.pattern}") == calls


@pytest.mark.parametrize(
    "text",
    ["npm test * && ls", "ls *; rm x", "echo * > out", "cat * | sh", 'git commit -m "*"', "echo $(cat *)"],
)
def test_a_wildcard_for_several_commands_is_refused_where_it_could_never_match(text: str) -> None:
    with pytest.raises(Rejected, match="can match nothing"):
        parse_pattern(text)
    assert parse_call(text).pattern == text
    assert parse_pattern(text.replace("*", "x")).exact


def test_an_approval_for_the_session_is_kept_by_it_and_by_its_forks() -> None:
    world, turn, call = asked()
    world.do(c.ApproveCall(turn=turn, call=call, by="user", scope="session"))
    (given_,) = world.of(e.ApprovalGiven)
    assert given_ == e.ApprovalGiven(
        turn=turn,
        call=call,
        by="user",
        rule="for this session: rm -r build",
        scope="session",
        calls=OFFER,
    )
    assert world.session.approved == (OFFER,)
    assert fork_of(world.session, "session-s2").approved == (OFFER,)


def test_an_approval_for_always_makes_a_rule_in_the_same_append() -> None:
    world, turn, call = asked()
    before = world.session
    events = world.do(c.ApproveCall(turn=turn, call=call, by="user", scope="always"))
    done = with_reactions(
        [StreamEvents(before.stream, events)],
        lambda stream: before if stream == before.stream else ApprovalRules(),
    )
    _, (stream, written) = [(write.stream, write.events) for write in done.writes]
    assert stream == STREAM
    assert written == (e.ApprovalRuleAdded(number=1, ruling="allow", calls=OFFER, by="user"),)
    assert world.session.approved == ()


def test_a_call_offered_once_is_approved_once() -> None:
    world, turn, call = asked(offer=None)
    for scope in ("session", "always"):
        with pytest.raises(Rejected, match="for this once only"):
            world.do(c.ApproveCall(turn=turn, call=call, by="user", scope=scope))
    world.do(c.ApproveCall(turn=turn, call=call, by="user"))
    assert world.of(e.ApprovalGiven) == [e.ApprovalGiven(turn=turn, call=call, by="user")]


def test_the_reason_of_a_refusal_is_the_result_of_the_call() -> None:
    world, turn, call = asked()
    world.do(c.DenyCall(turn=turn, call=call, by="user", reason="Use the bin."))
    assert world.session.messages[-1].content == (
        "Error: this call was refused by user, who says: Use the bin."
    )


def test_a_call_that_was_approved_beforehand_is_due_at_once() -> None:
    world, _, _ = asked()
    fresh, turn = World(), ""
    turn = fresh.submit()
    fresh.prefetch()
    step = fresh.begin()
    reply = world.of(e.ModelReplied)[0]
    approved = e.ApprovalGiven(turn=turn, call=f"{step.id}-0", by="rule", rule="rule 1: rm *")
    assert isinstance(reply, e.ModelReplied)
    fresh.do(c.FinishModelCall(step=step.id, outcome=reply, approvals=(approved,)))
    (due,) = fresh.due
    assert (due.id, due.not_before) == (f"{step.id}-0", 0.0)


def test_the_mode_is_the_openings_until_it_is_changed() -> None:
    world = World()
    world.do(
        c.SubmitTurn(
            e.TurnSubmitted(turn="t1", session="s1", text="x", source="cli", opening=e.Opening(mode="plan"))
        )
    )
    modes = [world.session.mode]
    world.do(c.ChangeMode(mode="plan", by="user"))
    world.do(c.ChangeMode(mode="full", by="user"))
    assert world.of(e.ModeChanged) == [e.ModeChanged(session="s1", mode="full", by="user")]
    assert [*modes, world.session.mode] == ["plan", "full"]


@pytest.mark.parametrize(
    ("mode", "approve", "unattended"),
    [("plan", (), False), (None, (OFFER,), False), (None, (), True)],
)
@pytest.mark.parametrize("policy", ["collect", "steer"])
def test_a_text_with_permissions_of_its_own_does_not_join_another_turn(
    policy: e.BusyPolicy, mode: e.Mode | None, approve: tuple[e.CallPattern, ...], unattended: bool
) -> None:
    world = World()
    world.submit("first", if_busy="collect", turn="t1")
    world.do(
        c.SubmitTurn(
            e.TurnSubmitted(
                turn="t2",
                session="s1",
                text="second",
                source="cli",
                if_busy=policy,
                mode=mode,
                approve=approve,
                unattended=unattended,
            )
        )
    )
    world.prefetch()
    world.begin()
    assert world.of(e.TurnMerged) == []


@given(noted=st.booleans(), text=st.text())
def test_the_note_of_plan_mode_is_removed_again(noted: bool, text: str) -> None:
    note = mode_note(plans=True, noted=noted)
    assert note == PLAN_MODE
    assert without_notes(f"{text}\n\n{note}") == text
    assert mode_note(plans=False, noted=False) == ""


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=20))
def test_the_rules_in_force_are_those_that_were_made_and_not_removed(
    changes: list[tuple[bool, int]],
) -> None:
    book, expected = Book(), dict[int, str]()
    for adds, number in changes:
        if adds and f"make {number}" not in expected.values():
            expected[int(book.do(add_rule("allow", parse_pattern(f"make {number}"), by="user")))] = (
                f"make {number}"
            )
        elif number in expected:
            book.do(remove_rule(number, by="user"))
            del expected[number]
    assert {number: text for number, _, text in book.rules} == expected
