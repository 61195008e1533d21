"""Fields of forms: what is typed into them, and what does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events import FieldKind, InputChoice, InputField
from hermes_jobs.kernel.turns.forms import checked, filled_in, from_texts, shown, typed

COLOURS = (InputChoice(value="red", title="Deep red"), InputChoice(value="blue"))


def field(kind: FieldKind, **more: Any) -> InputField:
    return InputField(name="x", kind=kind, **more)


@pytest.mark.parametrize(
    ("asked", "text", "value"),
    [
        (field("text"), " Ada ", "Ada"),
        (field("integer"), "-3", -3),
        (field("number"), "2.5", 2.5),
        (field("boolean"), "Yes", True),
        (field("boolean"), "n", False),
        (field("choice", choices=COLOURS), "RED", "red"),
        (field("choice", choices=COLOURS), "deep red", "red"),
        (field("choice", choices=COLOURS), "2", "blue"),
        (field("choice", choices=(InputChoice(value="2"), InputChoice(value="1"))), "2", "2"),
        (field("choices", choices=COLOURS), "blue, 1", ["blue", "red"]),
        (field("choices", choices=COLOURS), "", []),
        (field("text", format="email"), "a@b.example", "a@b.example"),
        (field("text", format="uri"), "https://b.example/x", "https://b.example/x"),
        (field("text", format="date"), "2026-02-28", "2026-02-28"),
        (field("text", format="date-time"), "2026-02-28T10:00:00Z", "2026-02-28T10:00:00Z"),
    ],
)
def test_input_is_parsed_by_the_type_of_its_field(asked: InputField, text: str, value: object) -> None:
    assert typed(asked, text) == value


@pytest.mark.parametrize(
    ("asked", "text", "why"),
    [
        (field("integer"), "many", "has to be a whole number, not 'many'"),
        (field("integer"), "2.5", "has to be a whole number"),
        (field("number"), "nan", "has to be a number"),
        (field("number", most=10.0), "11", "may be at most 10"),
        (field("integer", least=3.0), "2", "has to be at least 3"),
        (field("boolean"), "perhaps", "is answered with yes or no"),
        (field("choice", choices=COLOURS), "green", "has to be one of red, blue, not 'green'"),
        (field("choice", choices=COLOURS), "3", "has to be one of"),
        (field("choices", choices=COLOURS, least=2.0), "1", "has to be at least 2 choices"),
        (field("text", most=3.0), "abcd", "may be at most 3 characters"),
        (field("text", format="email"), "a@b", "has to be an e-mail address"),
        (field("text", format="uri"), "example", "has to be an address"),
        (field("text", format="date"), "2026-02-30", "has to be written like 2026-03-14"),
        (
            field("text"),
            "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "looks like a key or password",
        ),
        (field("text"), "password: hunter2hunter2", "looks like a key or password"),
        (field("text"), "a" * 10_001, "may have 10,000 characters"),
    ],
)
def test_invalid_input_is_refused_with_the_field(asked: InputField, text: str, why: str) -> None:
    with pytest.raises(Rejected, match="The field x") as refused:
        typed(asked, text)
    assert why in refused.value.message


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "not a JSON object"),
        ("{", "not a JSON object"),
        ('{"y": 1}', "There is no field 'y'"),
        ("{}", "The field x is missing"),
        ('{"x": true}', "has to be a whole number, not true"),
        ('{"x": "3"}', "has to be a whole number"),
    ],
)
def test_a_json_answer_is_held_against_the_form(content: str, why: str) -> None:
    with pytest.raises(Rejected) as refused:
        checked([field("integer", required=True)], content)
    assert why in refused.value.message


def test_fields_that_were_not_given_have_their_default() -> None:
    fields = [
        InputField(name="n", kind="integer", default="4", required=True),
        InputField(name="b", kind="boolean"),
    ]
    assert from_texts(fields, {}) == '{"n":4}'
    assert from_texts(fields, {"n": "5", "b": "no"}) == '{"n":5,"b":false}'
    assert filled_in(fields, {"b": True}) == '{"n":4,"b":true}'
    with pytest.raises(Rejected, match="no field 'm'"):
        from_texts(fields, {"m": "1"})


def test_values_are_shown_with_their_titles() -> None:
    assert shown(field("choices", choices=COLOURS), ["red", "blue"]) == "Deep red, blue"
    assert shown(field("boolean"), True) == "yes"
