"""Events and names as text: what is stored, and what comes back."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Corrupt, NewerSchema
from hermes_jobs.kernel.events import Event, SessionTitled
from hermes_jobs.kernel.log.codec import Codec, chain_hash, escaped, to_json, unescaped
from tests.processes import ROOT

CODEC = Codec()
any_text = st.text(st.characters(codec=None, exclude_categories=[]))


def test_fields_that_this_build_does_not_know_are_ignored() -> None:
    data = '{"session":"s","title":"t","colour":{"red":1}}'
    assert CODEC.decode("SessionTitled", data, 1) == SessionTitled(session="s", title="t")


def test_a_type_that_this_build_does_not_know_is_a_newer_ones() -> None:
    with pytest.raises(NewerSchema, match="Unheard"):
        CODEC.decode("Unheard", "{}", 1)


def test_a_newer_form_of_a_known_type_is_a_newer_builds() -> None:
    with pytest.raises(NewerSchema, match="SessionTitled in form 2"):
        CODEC.decode("SessionTitled", '{"session":"s","title":"t"}', 2)


@pytest.mark.parametrize("data", ["", "{", "[]", '{"session":"s"}', '{"session":"s","title":7}'])
def test_text_that_does_not_hold_the_type_is_corrupt(data: str) -> None:
    with pytest.raises(Corrupt, match="A stored SessionTitled"):
        CODEC.decode("SessionTitled", data, 1)


def test_a_class_that_only_bears_the_name_of_a_declared_type_is_refused() -> None:
    impostor = type("SessionTitled", (Event,), {}, frozen=True)
    with pytest.raises(Corrupt, match="not a declared event type"):
        CODEC.encode(impostor())


@given(any_text)
def test_whatever_a_text_holds_it_is_stored_as_text_and_read_back_as_returned(title: str) -> None:
    encoded = CODEC.encode(SessionTitled(session="s", title=title))
    assert "\0" not in encoded.data
    assert encoded.data.encode()
    assert CODEC.decode(encoded.type, encoded.data, encoded.schema) == encoded.event


@given(any_text)
def test_text_that_is_valid_is_stored_unchanged(title: str) -> None:
    event = SessionTitled(session="s", title=title.encode("utf-8", "ignore").decode())
    assert CODEC.encode(event).event == event


@given(st.text())
def test_a_name_comes_back_from_its_stored_form(name: str) -> None:
    assert unescaped(escaped(name)) == name
    assert "\0" not in escaped(name)


@given(st.text(), st.text())
def test_a_name_begins_as_its_beginning_is_stored(beginning: str, rest: str) -> None:
    assert escaped(beginning + rest).startswith(escaped(beginning))


def test_halves_of_a_character_are_joined_and_others_replaced() -> None:
    assert to_json({"\udc00": ["\ud83d\ude00", "a\ud83d"]}) == '{"\ufffd":["😀","a\ufffd"]}'


def test_the_hash_of_an_event_never_changes_between_releases() -> None:
    assert chain_hash("", "session-1", "1", "ü") == (
        "863630d88afa4a4edb02190edee43a3477af49cc9e4fd709bcec51805090c1b0"
    )


@given(st.lists(st.text()), st.lists(st.text()))
def test_different_texts_never_give_the_bytes_of_one_hash(some: list[str], others: list[str]) -> None:
    assert (chain_hash(*("", *some)) == chain_hash(*("", *others))) == (some == others)


@pytest.mark.slow
def test_threads_that_meet_a_type_at_the_same_moment_do_not_crash_the_process() -> None:
    """Without taking turns at making decoders, about one in three such processes ends with SIGSEGV."""
    command = [sys.executable, "-m", "tests.eventlog.threads_decoding"]
    for _ in range(3):
        assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
