"""What was stored once is read for ever: one file for each type and form, every field of it set.

`TYPE.SCHEMA.json` is a type's newest form. After a release no file is changed: when a field is added,
the file is kept as `TYPE.SCHEMA.before-FIELD.json` and the newest form gets a file of its own:
`python -m tests.eventlog.golden` writes both.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.codec import REPLACED, Codec
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from tests.eventlog.stored import EXAMPLES

FOLDER = Path(__file__).parent.parent / "golden" / "events"
CODEC = Codec()


def path_of(event: e.Event) -> Path:
    encoded = CODEC.encode(event)
    return FOLDER / f"{encoded.type}.{encoded.schema}.json"


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_golden_events_are_read_and_written_unchanged(event: e.Event) -> None:
    stored = path_of(event).read_text(encoding="utf-8")
    kind, schema, _ = path_of(event).name.split(".")
    assert CODEC.decode(kind, stored, int(schema)) == event
    assert CODEC.encode(event).data == stored


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.name)
def test_every_form_that_was_ever_stored_is_read_with_all_that_it_says(path: Path) -> None:
    kind, schema, *_ = path.name.split(".")
    stored = path.read_text(encoding="utf-8")
    event = CODEC.decode(kind, stored, int(schema))
    if kind in REPLACED:
        assert_is_replaced(kind, stored, event)
        return
    assert type(event).__name__ == kind
    if int(schema) == CODEC.encode(event).schema:
        assert says(json.loads(CODEC.encode(event).data), json.loads(stored))


def says(now: object, before: object) -> bool:
    """Whether a stored value says all that an older form of it said; structs in it may have grown."""
    if not isinstance(now, dict) or not isinstance(before, dict):
        return now == before
    return all(name in now and says(now[name], value) for name, value in before.items())


def assert_is_replaced(kind: str, stored: str, event: e.Event) -> None:
    """What the stored form says is in the event that took its place, also if a removal of texts has written
    that event under the old type."""
    assert type(event).__name__ != kind
    now, before = msgspec.to_builtins(event), json.loads(stored)
    assert all(value == before[name] for name, value in now.items() if name in before)
    assert CODEC.decode(kind, CODEC.encode(event).data, 1) == event


def test_every_declared_type_has_its_example() -> None:
    assert {type(event).__name__ for event in EXAMPLES} == set(EVENT_TYPES)
    assert {path_of(event) for event in EXAMPLES} <= set(FOLDER.glob("*.json")), (
        "python -m tests.eventlog.golden writes the form of a new type"
    )


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_example_sets_every_field_to_something_else_than_its_default(event: e.Event) -> None:
    for field in msgspec.structs.fields(event):
        assert getattr(event, field.name) != field.default, (
            f"set {field.name} in the example, then: python -m tests.eventlog.golden"
        )


def test_the_files_are_nothing_but_json() -> None:
    for path in FOLDER.iterdir():
        assert isinstance(json.loads(path.read_text(encoding="utf-8")), dict)
