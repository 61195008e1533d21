"""The scripted people: what an attentive model saves of them is what has to be kept, and nothing else."""

from __future__ import annotations

from functools import partial

import pytest

from hermes_jobs.features.memory.rules.memory import STREAM, TARGETS, Limits, Memory, evolve
from hermes_jobs.features.memory.rules.writes import Origin, Write
from tests.benchmarks.remembering.learning import (
    MEMORY_MODES,
    AskedQuestion,
    PersonOutcome,
    PlayedPerson,
    recall_at,
    rows_of,
)
from tests.benchmarks.remembering.people import ExpectedFact, ForbiddenText, ScriptedPerson, is_held, people

ROOM = Limits(memory=100_000, user=100_000)
EVERYBODY = {each.name: each for each in people()}
FACT = ExpectedFact(
    name="milk",
    kind="change of mind",
    words=("soy",),
    stale=("oat",),
    question="Which milk?",
    answer=("soy",),
)


def saved(person: ScriptedPerson) -> list[str]:
    """The entries after all that an attentive model saves."""
    memory = Memory()
    for said in person.texts:
        if not said.saves:
            continue
        done = Write(said.saves, Origin("turn"), ROOM)(partial(_loaded, memory))
        for each in done.writes:
            for fact in each.events:
                memory = evolve(memory, fact)  # type: ignore[arg-type]  # of the memory's stream
    return [entry for target in TARGETS for entry in memory.entries(target)]


def _loaded(memory: Memory, stream: str) -> Memory:
    assert stream == STREAM
    return memory


@pytest.mark.parametrize("name", EVERYBODY)
def test_an_attentive_model_keeps_every_fact_and_nothing_stale(name: str) -> None:
    person = EVERYBODY[name]
    entries = saved(person)

    assert [each.name for each in person.facts if not is_held(entries, each.words)] == []
    assert [each.name for each in person.facts if is_held(entries, each.stale)] == []
    assert [each.name for each in person.never if is_held(entries, each.words)] == []


@pytest.mark.parametrize("name", EVERYBODY)
def test_forbidden_and_stale_facts_occur_in_the_talk(name: str) -> None:
    person = EVERYBODY[name]
    said = [each.says for each in person.texts]

    told = [each.name for each in person.never if each.kind != "misread" and not is_held(said, each.words)]
    assert told == []
    assert [each.day for each in person.sessions] == sorted({each.day for each in person.sessions})


def test_no_two_texts_are_equal() -> None:
    texts = [said.says for person in EVERYBODY.values() for said in person.texts]
    assert not [(a, b) for a in texts for b in texts if a != b and a in b]
    assert len(texts) == len(set(texts))


def test_a_row_counts_facts_mistakes_and_tokens_beyond_the_baseline() -> None:
    secret, noise = ForbiddenText("key", "secret", ("sk-",)), ForbiddenText("rain", "noise", ("rain",))
    without = PersonOutcome("maya", (), (FACT,), (), (), (AskedQuestion(FACT, False, False, None, 100),))
    kept = PersonOutcome(
        "maya", (FACT,), (), (FACT,), (secret, noise), (AskedQuestion(FACT, True, True, 2, 130),)
    )

    first, second = rows_of(
        [PlayedPerson(MEMORY_MODES[0], (without,), 1, 10), PlayedPerson(MEMORY_MODES[3], (kept,), 2, 20)]
    )

    assert (first.kept, first.missed, first.given, first.tokens) == (0, 1, 0, 0)
    assert (second.kept, second.stale, second.leaked, second.wrong) == (1, 1, 1, 1)
    assert (second.given, second.answered, second.tokens, second.used) == (1, 1, 30, 20)
    assert [recall_at(PlayedPerson(MEMORY_MODES[3], (kept,), 0, 0), k) for k in (1, 3)] == [0, 1]
