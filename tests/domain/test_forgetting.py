"""Which parts of events are texts, and what events are without them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.forgetting.patterns import Pattern, exact_texts, literal
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.provenance import forms_of
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.streams.forgetting import DELETED, deleted, excluding_stored, family_of
from hermes_jobs.kernel.streams.texts import in_json, scrubbed, text_fields, texts_of
from hermes_jobs.kernel.turns.messages import AssistantMessage, Payload, ToolCall
from tests.eventlog.stored import EXAMPLES, stored_structs
from tests.tables import each_row

FILE = Path(__file__).parent.parent / "golden" / "texts.json"
CODEC = Codec()
NAMED = {
    *("Check", "Exclusion", "Finding", "Inclusion", "InputField"),
    *("LearningDecided", "McpPrompt", "McpPromptArgument", "McpTool", "McpToolLeftOut"),
    *("Plan", "RecalledItem", "SkillApproved", "SkillCreated", "SkillDeleted"),
    *("SkillDenied", "SkillEdited", "SkillFileRemoved", "SkillFileWritten", "SkillInstalled"),
    *("SkillPatched", "SkillProposed", "ToolCall", "ToolMessage", "ToolStarted"),
    *("Variant",),
}
"""What has a field `name`: the name of a thing for programs, or declared a text, as that of `Plan`."""


def texts() -> dict[str, list[str]]:
    """The fields that hold texts, by the type of the event."""
    return {name: sorted(text_fields(kind)) for name, kind in EVENT_TYPES.items() if text_fields(kind)}


def test_the_fields_that_hold_texts_are_listed() -> None:
    assert texts() == json.loads(FILE.read_text(encoding="utf-8")), (
        "A field with text is new. Is it an id, a kind or a name? Declare it so: `Annotated[str, NAME]` "
        "(hermes_jobs/kernel/streams/field_kinds.py). Does it hold what people or models say? "
        f"`python -m tests.eventlog.golden` adds it to {FILE.name}."
    )


def test_a_field_called_name_is_decided_about() -> None:
    """`redact` takes a name for an id, and leaves it: what a person wrote has another name, or is listed."""
    found = {kind.__name__ for kind in stored_structs() if "name" in kind.__struct_fields__}
    assert found == NAMED, (
        "Call a field that holds what a person wrote otherwise, or declare it: `Annotated[str, TEXT]` "
        "(hermes_jobs/kernel/streams/field_kinds.py); then add its type here."
    )


@each_row(EXAMPLES)
def test_a_deleted_event_holds_none_of_its_texts_and_is_still_read(event: e.Event) -> None:
    gone = scrubbed(event, deleted)
    assert set(texts_of(gone)) <= {DELETED, "", *_in_base64(event)}
    encoded = CODEC.encode(gone)
    assert CODEC.decode(encoded.type, encoded.data, encoded.schema) == gone
    assert scrubbed(gone, deleted) == gone
    kept = {field.name for field in msgspec.structs.fields(event)} - set(text_fields(type(event)))
    assert all(getattr(gone, name) == getattr(event, name) for name in kept)


def _in_base64(event: e.Event) -> set[str]:
    """Files that are not text stay as they are."""
    if isinstance(event, skills_events.SkillFileWritten) and event.base64:
        return {event.content}
    if isinstance(event, skills_events.SkillCreated):
        return {file.content for file in event.files.values() if file.base64}
    return set()


@each_row(EXAMPLES)
def test_a_pattern_that_is_nowhere_changes_nothing(event: e.Event) -> None:
    assert scrubbed(event, Pattern(literal("zanzibar"))) is event


def test_arguments_stay_json_and_a_changed_payload_goes() -> None:
    call = ToolCall("call_1", "memory", '{"content": "Lives in \\"Zanzibar\\"", "pins": [1234, true]}')
    replied = e.ModelReplied(
        turn="t1",
        step="t1-1",
        content="",
        model="m",
        finish_reason="stop",
        tool_calls=(call,),
        payload=Payload("chat", "m", "host", '{"reasoning": "zanzibar"}'),
    )
    after = scrubbed(replied, Pattern(literal("zanzibar")))
    assert json.loads(after.tool_calls[0].arguments) == {
        "content": 'Lives in "[redacted]"',
        "pins": [1234, True],
    }
    assert after.payload is None
    numbers = scrubbed(replied, Pattern(re.compile(r"\d{4}")))
    assert json.loads(numbers.tool_calls[0].arguments)["pins"] == ["[redacted]", True]
    assert numbers.payload == replied.payload


def test_messages_of_a_compressed_history_are_texts_too() -> None:
    compressed = e.ContextCompressed(
        turn=None,
        step="c1",
        into="s2",
        removed=1,
        summary="Zanzibar.",
        messages=(AssistantMessage(content="In Zanzibar."),),
        number=1,
        tokens_before=2,
        tokens_after=1,
    )
    after = scrubbed(compressed, Pattern(literal("zanzibar")))
    assert (after.summary, after.messages[0].content) == ("[redacted].", "In [redacted].")


@pytest.mark.parametrize(
    ("wanted", "stored"),
    [
        ("Müller", "MÜLLER"),
        ("Müller", "Mu\u0308ller"),
        ("Müller", '{"name": "M\\u00fcller"}'),
        ('say "no"', '{"said": "say \\"no\\""}'),
        ('say "no"', json.dumps(json.dumps({"said": 'say "no"'}))),
        ("two\nlines", '"two\\nlines"'),
    ],
)
def test_a_text_is_found_in_every_stored_form(wanted: str, stored: str) -> None:
    pattern = Pattern(literal(wanted))
    assert pattern.found(stored)
    assert not pattern.found(pattern(stored))


@given(st.text(min_size=1, max_size=5), st.text(max_size=40))
def test_after_a_replacement_nothing_matches_and_a_second_one_changes_nothing(wanted: str, text: str) -> None:
    try:
        pattern = Pattern(literal(wanted))
    except Rejected:
        return
    after = pattern(text)
    assert pattern(after) == after


def test_a_mark_is_chosen_that_the_pattern_does_not_match() -> None:
    assert Pattern(literal("red"))("a red door") == "a [...] door"


@pytest.mark.parametrize("pattern", ["", "a*", "^", "(?s)."])
def test_a_pattern_that_matches_everything_is_refused(pattern: str) -> None:
    with pytest.raises(Rejected):
        Pattern(re.compile(pattern))


def test_whole_texts_are_not_found_within_words_or_in_other_letters() -> None:
    pattern = Pattern(exact_texts(["Tea", "Green tea"]), "[forgotten]")
    assert pattern("Green tea. Tea! A Team, and tea.") == "[forgotten]. [forgotten]! A Team, and tea."


@given(st.lists(st.text("ab1", max_size=4), unique=True, max_size=6))
def test_entries_that_differ_still_differ_when_they_are_redacted(stored: list[str]) -> None:
    apart = excluding_stored(Pattern(re.compile("[ab]+")), stored)
    assert len({apart(each) for each in stored}) == len(stored)
    assert all("a" not in apart(each).replace("[redacted]", "") for each in stored)


def test_json_that_nothing_matches_stays_byte_by_byte() -> None:
    assert in_json('{"a" :1 }', lambda text: text) == '{"a" :1 }'


def test_the_history_of_an_entry_is_found_in_both_directions() -> None:
    added = memory_events.MemoryAdded(target="user", content="In Rome", author="turn")
    other = memory_events.MemoryAdded(target="user", content="Likes tea", author="turn")
    replaced = memory_events.MemoryReplaced(
        target="user", old="In Rome", content="In Rome with Ana", author="user"
    )
    removed = memory_events.MemoryRemoved(target="user", old="In Rome with Ana", author="user")
    facts: list[memory_events.MemoryEvent] = [added, other, replaced, removed]
    for number in (1, 3, 4):
        assert forms_of(number, facts) == ("In Rome with Ana", "In Rome")
    assert forms_of(2, facts) == ("Likes tea",)


def started(
    session: str, parent: str | None = None, kind: e.SessionKind = "conversation"
) -> e.SessionStarted:
    return e.SessionStarted(
        session=session, kind=kind, source="cli", model="m", system_prompt="", parent=parent, at=1
    )


def test_reviews_go_with_a_session_and_forks_only_if_wanted() -> None:
    facts = [
        ("session-a", started("a")),
        ("session-a", started("a2", parent="a")),
        ("session-r", started("r", parent="a2", kind="review")),
        ("session-f", started("f", parent="a")),
        ("session-fr", started("fr", parent="f", kind="review")),
        ("session-z", started("z")),
    ]
    alone = family_of("session-a", facts, with_forks=False)
    assert alone.streams == {"session-a", "session-r"}
    assert alone.forks == {"session-f"}
    both = family_of("session-a", facts, with_forks=True)
    assert both.streams == {"session-a", "session-r", "session-f", "session-fr"}
    assert not both.forks
