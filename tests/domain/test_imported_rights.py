"""A session that came from elsewhere has lost what it let run without asking."""

from __future__ import annotations

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.approval_rules import ApprovalRules, accept_rules, evolve, propose_allowing
from hermes_jobs.kernel.turns.evolve import evolve as evolve_session
from hermes_jobs.kernel.turns.rights import brings_along, rights_of
from hermes_jobs.kernel.turns.session import Session

RM = e.CallPattern(tool="terminal", pattern="rm -r *")
SENT = e.TurnSubmitted(
    turn="t1",
    text="Go on",
    source="cli",
    session="s1",
    mode="full",
    approve=(RM,),
    settings={"terminal.policy": "allow"},
    opening=e.Opening(mode="full"),
)
WAITING = e.TurnSubmitted(turn="t2", text="And then", source="cli", session="s1", mode="plan")


def session(*events: e.Event) -> Session:
    state = Session(stream="session-s1")
    for event in events:
        state = evolve_session(state, event)  # type: ignore[arg-type]  # these are events of sessions
    return state


def test_the_mode_the_approvals_and_the_settings_are_taken_back() -> None:
    before = session(SENT, WAITING)
    assert (before.mode, before.current is not None) == ("full", True)
    after = session(SENT, WAITING, e.RightsWithdrawn(session="s1", by="import"))
    assert (after.mode, after.approved) == ("ask", ())
    assert after.current is not None
    assert (after.current.mode, after.current.approve, dict(after.current.settings)) == ("ask", (), {})
    assert [turn.mode for turn in after.waiting] == ["plan"]


def test_events_say_what_they_allow() -> None:
    given = e.ApprovalGiven(turn="t1", call="c1", by="user", scope="session", calls=RM)
    assert list(rights_of(SENT)) == ["mode full", "approved beforehand: rm -r *"]
    assert list(rights_of(given)) == ["approved for the session: rm -r *"]
    assert list(rights_of(e.ModeChanged(session="s1", mode="full", by="user"))) == ["mode full"]
    assert not list(rights_of(WAITING))
    assert not brings_along(WAITING)
    assert brings_along(e.ApprovalGiven(turn="t1", call="c1", by="user"))


def test_rules_that_allow_are_proposed_and_accepted_one_by_one() -> None:
    rules = ApprovalRules()
    rulings: tuple[e.Ruling, ...] = ("allow", "deny", "ask", "allow")
    for number, ruling in enumerate(rulings, 1):
        rules = evolve(rules, e.ApprovalRuleAdded(number=number, ruling=ruling, calls=RM, by="user"))
    for event in propose_allowing(rules, by="import"):
        rules = evolve(rules, event)
    assert [rule.number for rule in rules.rules] == [2, 3]
    assert [rule.number for rule in rules.proposed] == [1, 4]
    [write] = accept_rules([4, 2], by="user")(lambda _stream: rules).writes
    assert write.events == (e.ApprovalRuleAccepted(number=4, by="user"),)
    rules = evolve(evolve(rules, write.events[0]), e.ApprovalRuleRemoved(number=1, by="user"))
    assert ([rule.number for rule in rules.rules], rules.proposed) == ([2, 3, 4], ())
