"""Old forms of events become today's, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_jobs.errors import Corrupt
from hermes_jobs.kernel.events import SessionTitled
from hermes_jobs.kernel.log.codec import UPCASTS, Codec, UpcastTable, current_schema, upcast


def from_name_to_title(fields: dict[str, Any]) -> dict[str, Any]:
    return {"session": fields["session"], "title": fields["name"]}


def with_a_capital(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "title": fields["title"].capitalize()}


TABLE: UpcastTable = {("SessionTitled", 1): from_name_to_title, ("SessionTitled", 2): with_a_capital}
CODEC = Codec(upcasts=TABLE)


def test_without_upcasts_every_type_is_in_its_first_form() -> None:
    assert current_schema("SessionTitled", {}) == 1
    assert current_schema("TurnSubmitted", TABLE) == 1


def test_the_oldest_form_goes_through_every_step() -> None:
    data = '{"session":"s","name":"old"}'
    assert CODEC.decode("SessionTitled", data, 1) == SessionTitled(session="s", title="Old")


def test_a_later_form_goes_through_the_rest() -> None:
    data = '{"session":"s","title":"old"}'
    assert CODEC.decode("SessionTitled", data, 2) == SessionTitled(session="s", title="Old")
    assert CODEC.decode("SessionTitled", data, 3) == SessionTitled(session="s", title="old")


def test_events_are_stored_in_the_newest_form() -> None:
    assert CODEC.encode(SessionTitled(session="s", title="t")).schema == 3


def test_a_table_that_leaves_out_a_step_is_found_out() -> None:
    with pytest.raises(KeyError):
        upcast("SessionTitled", 1, {}, {("SessionTitled", 2): with_a_capital})
    with pytest.raises(Corrupt, match="SessionTitled"):
        Codec(upcasts={("SessionTitled", 2): with_a_capital}).decode("SessionTitled", "{}", 1)


def test_the_table_has_every_step_of_each_type() -> None:
    for kind, _ in UPCASTS:
        assert all((kind, number) in UPCASTS for number in range(1, current_schema(kind)))
