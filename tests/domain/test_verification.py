"""Verifications: what answers with and without a thing come to, and what a person decides of it."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.memory import Memory
from hermes_jobs.features.memory.rules.provenance import Undo
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.replay.rules import verification
from hermes_jobs.features.replay.rules.experiment import (
    Cell,
    Experiment,
    evolve,
    next_steps,
    shows_first,
    stream_of,
)
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.features.skills.rules import skill as skills
from hermes_jobs.kernel.events import HelperCallFailed
from hermes_jobs.kernel.streams.decision import DecisionResult, StreamEvents
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import ToolCall

NAME = "verify-v1"
STREAM = stream_of(NAME)
REQUESTED = replay_events.VerificationRequested(
    experiment=NAME, review="v1", session="s1", at=9, mode="cheap"
)
ITEM = replay_events.Inclusion(kind="memory", name="7", text="Likes tea.", versions=(7,))
SKILL = replay_events.Inclusion(kind="skill", name="brew", text="…", versions=(1, 2))
TURNS = (
    replay_events.ReplayedTurn(
        turn="t1", stream="session-s1", calls=(replay_events.RecordedCall("t1-1", 4),)
    ),
    replay_events.ReplayedTurn(
        turn="t2", stream="session-s2", calls=(replay_events.RecordedCall("t2-1", 4),), unrelated=True
    ),
)
TOOL = ToolCall("c", "terminal", '{"command": "ls"}')


def planned(
    *items: replay_events.Inclusion,
    judge: bool = False,
    turns: tuple[replay_events.ReplayedTurn, ...] = TURNS,
    samples: int = 1,
) -> Experiment:
    """A verification of these things that is planned."""
    variants = (
        replay_events.Variant(name="without"),
        *(replay_events.Variant(name=item.name, including=(item,)) for item in items or (ITEM,)),
    )
    defined = replay_events.ExperimentDefined(
        experiment=NAME,
        query="review v1",
        seed=7,
        judge=replay_events.Judge(model="j", rubric="r") if judge else None,
    )
    plan = replay_events.ReplayPlanned(replay=NAME, turns=turns, variants=variants, samples=samples)
    return after(Experiment(stream=STREAM), REQUESTED, defined, plan)


def after(experiment: Experiment, *events: Any) -> Experiment:
    return reduce(evolve, events, experiment)


def ended(at: str, content: str = "Yes.", **fields: Any) -> replay_events.ReplayCallEnded:
    usage = Usage(10, fields.pop("tokens", 5))
    filled = {"finish_reason": "stop", "usage": usage, **fields}
    return replay_events.ReplayCallEnded(step=f"{NAME}-{at}", attempt=1, content=content, model="m", **filled)


def failed(at: str, kind: str) -> HelperCallFailed:
    return HelperCallFailed(step=f"{NAME}-{at}", attempt=1, kind=kind, message="no", model="m")


def applied(experiment: Experiment, decision: Any, **others: Any) -> tuple[Experiment, DecisionResult]:
    states = {experiment.stream: experiment, **others}
    result = decision(states.__getitem__)
    own = [event for write in result.writes if write.stream == experiment.stream for event in write.events]
    return after(experiment, *own), result


WITHOUT = (ended("v1t1s1c1"), ended("v1t2s1c1"))


@pytest.mark.parametrize(
    ("with_it", "standing", "why"),
    [
        ((ended("v2t1s1c1"), ended("v2t2s1c1")), "kept", "it did no harm in 2 turns"),
        ((ended("v2t1s1c1", tool_calls=(TOOL,)), ended("v2t2s1c1")), "kept", "it did no harm"),
        ((ended("v2t1s1c1"), ended("v2t2s1c1", tool_calls=(TOOL,))), "harmful", "other tool calls"),
        ((ended("v2t1s1c1"), ended("v2t2s1c1", tokens=211)), "harmful", "twice as long"),
        ((ended("v2t1s1c1", tokens=900), ended("v2t2s1c1", tokens=210)), "kept", "no harm"),
        ((ended("v2t1s1c1", content=" "), ended("v2t2s1c1")), "harmful", "empty or cut off"),
        ((ended("v2t1s1c1", finish_reason="length"), ended("v2t2s1c1")), "harmful", "cut off"),
        ((failed("v2t1s1c1", "context_overflow"), ended("v2t2s1c1")), "harmful", "context_overflow: no"),
        ((failed("v2t1s1c1", "server"), ended("v2t2s1c1")), "open", "1 of 2 comparisons came to nothing"),
        ((failed("v2t1s1c1", "server"), failed("v2t2s1c1", "server")), "open", "2 of 2 comparisons"),
    ],
)
def test_a_thing_is_kept_unless_answers_with_it_are_worse(with_it: Any, standing: str, why: str) -> None:
    experiment = after(planned(), *WITHOUT, *with_it)
    [finding] = verification.findings(experiment)
    assert (finding.kind, finding.name, finding.standing) == ("memory", "7", standing)
    assert why in finding.why
    assert finding.pairs == 2


def test_an_answer_that_only_the_thing_makes_possible_helps() -> None:
    experiment = after(
        planned(), ended("v1t1s1c1", content=""), WITHOUT[1], ended("v2t1s1c1"), ended("v2t2s1c1")
    )
    [finding] = verification.findings(experiment)
    assert (finding.standing, finding.better, finding.why) == ("kept", 1, "better with it in 1 of 2 turns")


def verdict(cell: Cell, better: bool) -> replay_events.ReplayCallEnded:
    """What the judge says of that cell."""
    first = "1" if shows_first(7, cell) == better else "2"
    at = f"v{cell.variant + 1}t{cell.turn + 1}s{cell.sample + 1}c0"
    return ended(at, content=f'{{"better": "{first}"}}')


@pytest.mark.parametrize(("better", "standing"), [(True, "kept"), (False, "harmful")])
def test_the_judge_decides_where_the_rules_say_nothing(better: bool, standing: str) -> None:
    cells = (ended("v2t1s1c1"), ended("v2t2s1c1"))
    judged = (verdict(Cell(1, 0, 0), better), verdict(Cell(1, 1, 0), better))
    [finding] = verification.findings(after(planned(judge=True), *WITHOUT, *cells, *judged))
    assert finding.standing == standing
    assert finding.better + finding.worse == 2


def test_a_judge_that_prefers_a_place_leaves_it_provisional_with_the_reason() -> None:
    said = ended("", content='{"better": 1}')
    cells = [(variant, turn, sample) for variant in (1, 2) for turn in (1, 2) for sample in range(1, 6)]
    answers = [ended(f"v{variant}t{turn}s{sample}c1") for variant, turn, sample in cells]
    judged = [
        replace(said, step=f"{NAME}-v2t{turn}s{sample}c0") for variant, turn, sample in cells if variant == 2
    ]
    [found] = verification.findings(after(planned(judge=True, samples=5), *answers, *judged))
    assert (found.standing, found.unknown) == ("open", 10)
    assert "the judge preferred the answer that it saw first in 10 of 10 judgements" in found.why


def test_a_judge_that_answers_nonsense_leaves_it_provisional_with_the_reason() -> None:
    cells = (ended("v2t1s1c1"), ended("v2t2s1c1"))
    nonsense = (ended("v2t1s1c0", content="Both!"), ended("v2t2s1c0", content="{}"))
    experiment = after(planned(judge=True), *WITHOUT, *cells, *nonsense)
    [finding] = verification.findings(experiment)
    assert (finding.standing, finding.unknown) == ("open", 2)
    assert "what the judge answered cannot be read" in finding.why


def test_without_money_it_stays_provisional_and_is_concluded_again_once_there_is_some() -> None:
    stopped = after(planned(), replay_events.ReplayStopped(kind="budget", message="The budget is used up."))
    assert [step.kind for step in next_steps(stopped)] == ["verification.conclude"]
    concluded, _ = applied(stopped, verification.conclude(STREAM))
    assert [(each.standing, each.why) for each in concluded.findings] == [("open", "The budget is used up.")]
    assert concluded.is_done
    resumed = after(concluded, replay_events.ReplayResumed(by="user", budget_usd=1.0))
    assert {step.kind for step in next_steps(resumed)} == {"replay.call"}
    done = after(resumed, *WITHOUT, ended("v2t1s1c1"), ended("v2t2s1c1"))
    assert [step.kind for step in next_steps(done)] == ["verification.conclude"]
    again, _ = applied(done, verification.conclude(STREAM))
    assert [each.standing for each in again.findings] == ["kept"]
    assert next_steps(again) == ()


def test_it_is_planned_then_asked_then_concluded_each_once() -> None:
    requested = after(Experiment(stream=STREAM), REQUESTED)
    assert [step.id for step in next_steps(requested)] == [f"{NAME}-plan"]
    experiment = planned()
    assert applied(experiment, verification.give_up(STREAM, (ITEM,), "no"))[1].writes == ()
    ready = after(experiment, *WITHOUT, ended("v2t1s1c1"), ended("v2t2s1c1"))
    concluded, _ = applied(ready, verification.conclude(STREAM))
    assert applied(concluded, verification.conclude(STREAM))[1].writes == ()


def test_items_without_replayable_turns_stay_provisional_with_the_reason() -> None:
    requested = after(Experiment(stream=STREAM), REQUESTED)
    given_up, _ = applied(requested, verification.give_up(STREAM, (ITEM, SKILL), "gone"))
    assert [(each.name, each.standing, each.why) for each in given_up.findings] == [
        ("7", "open", "gone"),
        ("brew", "open", "gone"),
    ]
    assert given_up.is_done


def concluded_with_harm() -> Experiment:
    ready = after(planned(), *WITHOUT, ended("v2t1s1c1", content=""), ended("v2t2s1c1"))
    return applied(ready, verification.conclude(STREAM))[0]


def test_a_person_keeps_a_thing_or_takes_it_back_once() -> None:
    experiment = concluded_with_harm()
    kept, result = applied(experiment, verification.decide(STREAM, "memory", "7", "user"))
    assert kept.decided == {("memory", "7"): True}
    assert [write.stream for write in result.writes] == [STREAM]
    with pytest.raises(Rejected, match="is kept for good already"):
        applied(kept, verification.decide(STREAM, "memory", "7", "user"))
    with pytest.raises(Rejected, match="Nothing was found of skill:none"):
        applied(experiment, verification.decide(STREAM, "skill", "none", "user"))
    added = memory_events.MemoryAdded(target="user", content="Likes tea.", author="review")
    back = verification.decide(STREAM, "memory", "7", "user", Undo(7, added))
    taken, result = applied(experiment, back, memory=Memory(version=7, user=("Likes tea.",)))
    assert taken.decided == {("memory", "7"): False}
    assert result.writes[0] == StreamEvents(
        "memory", (memory_events.MemoryRemoved(target="user", old="Likes tea.", author="user", undoes=7),)
    )


def test_nothing_is_decided_where_it_cannot_be_taken_back() -> None:
    added = memory_events.MemoryAdded(target="user", content="Likes tea.", author="review")
    back = verification.decide(STREAM, "memory", "7", "user", Undo(7, added))
    with pytest.raises(Rejected, match="was changed or removed since"):
        applied(concluded_with_harm(), back, memory=Memory(version=8))


def test_the_writes_of_a_review_to_a_skill_are_taken_back_at_once_and_only_while_they_are_the_last() -> None:
    evidence = memory_events.Evidence(session="v1")
    by_person = skills_events.SkillCreated(name="brew", content="old", author="user")
    patched = skills_events.SkillEdited(
        name="brew", content="new", author="review", evidence=evidence, provisional=True
    )
    written = skills_events.SkillFileWritten(
        name="brew", path="a.md", content="a", author="review", evidence=evidence, provisional=True
    )
    *_, skill = skills.history("skill-brew", (by_person, patched, written))
    assert skill.provisional == "v1"
    back = skills.evolve(skill, skills.undone_since(skill, (2, 3)))
    assert (back.main, set(back.files), back.provisional) == ("old", {"SKILL.md"}, "")
    changed = skills.evolve(skill, skills_events.SkillEdited(name="brew", content="mine", author="hand_edit"))
    assert changed.provisional == ""
    with pytest.raises(Rejected, match="was changed since"):
        skills.undone_since(changed, (2, 3))


answers = st.builds(
    lambda content, tokens, reason, calls: {
        "content": content,
        "tokens": tokens,
        "finish_reason": reason,
        "tool_calls": (TOOL,) if calls else (),
    },
    st.sampled_from(["", "Yes.", "No."]),
    st.integers(0, 2_000),
    st.sampled_from(["stop", "length"]),
    st.booleans(),
)
outcomes = st.one_of(answers, st.sampled_from(["server", "bad_request"]))


def outcome(at: str, said: Any) -> replay_events.ReplayCallEnded | HelperCallFailed:
    return failed(at, said) if isinstance(said, str) else ended(at, **said)


@given(st.lists(outcomes, min_size=4, max_size=4), st.permutations(range(4)))
def test_findings_are_consistent_in_any_order(said: list[Any], order: list[int]) -> None:
    steps = ["v1t1s1c1", "v1t2s1c1", "v2t1s1c1", "v2t2s1c1"]
    ends = [outcome(step, each) for step, each in zip(steps, said, strict=True)]
    [finding] = verification.findings(after(planned(), *ends))
    assert [finding] == list(verification.findings(after(planned(), *(ends[at] for at in order))))
    assert 0 <= finding.better + finding.worse + finding.unknown <= finding.pairs == 2
    assert (finding.standing == "open") == (finding.unknown > 0)
    if finding.standing == "harmful":
        assert finding.worse > finding.better
    assert bool(finding.why)


@given(st.lists(answers, min_size=2, max_size=2))
def test_a_thing_that_changes_no_answer_is_always_kept(said: list[Any]) -> None:
    steps = ["v1t1s1c1", "v1t2s1c1", "v2t1s1c1", "v2t2s1c1"]
    ends = [outcome(step, each) for step, each in zip(steps, [*said, *said], strict=True)]
    [finding] = verification.findings(after(planned(), *ends))
    assert (finding.standing, finding.worse) == ("kept", 0)
