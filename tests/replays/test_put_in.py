"""What a verification puts into a request stands there as it would stand in a session's prompt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.memory.entry_recall import HEADING
from hermes_jobs.features.memory.events import MemoryAdded, MemoryTarget
from hermes_jobs.features.memory.prompt_section import prompt_section, with_entry, without_entry
from hermes_jobs.features.memory.rules.entries import Recorded, entries_with_history, placed
from hermes_jobs.features.memory.rules.memory import TARGETS, Limits, history, is_shown
from hermes_jobs.features.replay.events import Exclusion, Inclusion
from hermes_jobs.features.replay.saved_items import leave_out, put_in, without_recalled
from hermes_jobs.features.skills.presenter import INDEX
from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.prompt.fences import with_recall

LIMITS = Limits(memory=10_000, user=10_000)
MAIN = "---\nname: tea\ndescription: How tea is made.\n---\nBoil water.\n"
entries = st.text("abcdefgh .,", min_size=1, max_size=30).map(str.strip).filter(bool)


def section(*known: tuple[MemoryTarget, str]) -> str:
    facts = [MemoryAdded(target=target, content=text, author="user") for target, text in known]
    memory = history(facts)[-1]
    recorded = [Recorded(at, fact, "") for at, fact in enumerate(facts, start=1)]
    return prompt_section(placed(entries_with_history(memory, recorded), LIMITS), LIMITS)


def prompt_of(*known: tuple[MemoryTarget, str]) -> str:
    parts = ["You are an agent.", section(*known), "# How you work\nAct."]
    return "\n\n".join(filter(None, parts))


@given(st.lists(st.tuples(st.sampled_from(TARGETS), entries), unique_by=lambda each: each[1]), entries)
def test_an_entry_is_inserted_in_its_target_and_can_be_removed(
    known: list[tuple[MemoryTarget, str]], entry: str
) -> None:
    prompt = prompt_of(*known)
    for target in TARGETS:
        found = with_entry(prompt, target, entry)
        assert is_shown(entry, found)
        assert with_entry(found, target, entry) == found
        for _, text in known:
            assert is_shown(text, found)
        if any(each == target for each, _ in known) and not is_shown(entry, prompt):
            assert without_entry(found, entry) == prompt


def test_an_entry_replaces_the_one_it_replaced() -> None:
    prompt = prompt_of(("user", "Likes tea."), ("user", "Has a dog."))
    found = with_entry(prompt, "user", "Likes coffee.", "Likes tea.")
    assert is_shown("Likes coffee.", found)
    assert is_shown("Has a dog.", found)
    assert "tea" not in found


def request(prompt: str) -> ModelRequest:
    return ModelRequest(model="m", system_prompt=prompt, messages=(UserMessage("Tea?"),))


def test_a_skill_is_indexed_and_its_text_is_only_in_turns_of_the_review() -> None:
    item = Inclusion(kind="skill", name="tea", text=MAIN, versions=(1,))
    for prompt in (
        "You are an agent.",
        f"You are an agent.\n\n{INDEX}\n\ngeneral:\n- tea: Old.\n- dog: Walks.",
    ):
        unrelated = put_in(request(prompt), item, unrelated=True).system_prompt
        read = put_in(request(prompt), item, unrelated=False).system_prompt
        assert unrelated.count("- tea: How tea is made.") == 1
        assert "Old." not in unrelated
        assert ("Boil water." in unrelated, "Boil water." in read) == (False, True)
        assert ("- dog: Walks." in unrelated) == ("dog" in prompt)
        left = leave_out(request(unrelated), Exclusion(kind="skill", name="tea")).system_prompt
        assert "tea" not in left


def test_recalled_text_is_removed_with_its_empty_fence() -> None:
    tea, dog = "- 2026-11-20: Likes tea.", "- 2026-11-21: Has a dog."
    said = UserMessage("What do I like?")
    with_both = with_recall(said, f"{HEADING}\n{tea}\n{dog}")
    with_dog = with_recall(said, f"{HEADING}\n{dog}")
    assert without_recalled(with_both, "Likes tea.") == with_dog
    assert without_recalled(with_dog, "Has a dog.") == said
    assert without_recalled(with_both, "Likes") == with_both
    passages = with_recall(said, f"{HEADING}\n{dog}\n\nFrom earlier sessions:\n- the weather")
    assert without_recalled(passages, "Has a dog.") == with_recall(
        said, "From earlier sessions:\n- the weather"
    )
    assert without_recalled(said, "Likes tea.") == said
