"""How a typed function becomes a tool."""

from __future__ import annotations

import contextlib
import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from hermes_jobs.kernel.engine.ports import Cancel, ToolContext
from hermes_jobs.tools.tool import InvalidArguments, Tool, tool

from .support import Switch, context_in


class Point(msgspec.Struct, forbid_unknown_fields=True):
    x: int
    label: str | None = None


@tool(toolset="drawing", effect="read")
def draw(  # noqa: PLR0917 - a tool has as many parameters as it has
    context: ToolContext,
    cancel: Cancel,
    title: Annotated[str, "What stands above."],
    size: Annotated[int, Meta(ge=1, description="In pixels.")] = 30,
    style: Literal["thin", "thick"] = "thin",
    points: list[Point] | None = None,
    scale: float = 1.0,
    verbose: bool = False,
) -> str:
    """Draw points.

    They are joined.
    """
    return f"{title} {size} {style} {points} {scale} {verbose} in {context.workdir} {cancel.reason}"


def decoded(**arguments: Any) -> dict[str, Any]:
    return dict(draw.decode(json.dumps(arguments)))


def test_name_description_and_effect_come_from_the_function_and_the_decorator():
    assert (draw.name, draw.toolset, draw.effect) == ("draw", "drawing", "read")
    assert draw.description == "Draw points.\n\nThey are joined."


def test_the_schema_is_one_object_without_references_or_injected_parameters():
    text = json.dumps(draw.parameters)
    assert "$ref" not in text
    assert "$defs" not in text
    assert "anyOf" not in text
    assert draw.parameters["type"] == "object"
    assert draw.parameters["required"] == ["title"]
    assert list(draw.parameters["properties"]) == ["title", "size", "style", "points", "scale", "verbose"]


def test_a_parameter_is_described_by_its_annotation():
    properties = draw.parameters["properties"]
    assert properties["title"] == {"type": "string", "description": "What stands above."}
    assert properties["size"] == {"type": "integer", "minimum": 1, "description": "In pixels.", "default": 30}
    assert properties["points"]["items"]["properties"]["x"] == {"type": "integer"}


def test_left_out_arguments_have_their_defaults():
    assert decoded(title="a") == {
        "title": "a",
        "size": 30,
        "style": "thin",
        "points": None,
        "scale": 1.0,
        "verbose": False,
    }


@pytest.mark.parametrize(("given", "read"), [("30", 30), (30.0, 30), ("7", 7)])
def test_a_number_written_as_text_is_read_as_a_number(given, read):
    assert decoded(title="a", size=given)["size"] == read


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"titel": "a"}', "unknown argument `titel`; did you mean `title`?"),
        ('{"title": "a", "colour": 1}', "unknown argument `colour`. The arguments are: `title`, `size`"),
        ("{}", "the argument `title` is missing"),
        ("", "the argument `title` is missing"),
        ('{"title": ["a", 1]}', 'the argument `title` is wrong: expected str, got array (given: ["a",1])'),
        ('{"title": null}', "the argument `title` is wrong: expected str, got null"),
        (
            '{"title": "a", "style": "bold"}',
            '(given: "bold"); it is one of thick, thin',
        ),
        (
            '{"title": "a", "size": "big"}',
            'the argument `size` is wrong: expected int, got str (given: "big")',
        ),
        ('{"title": "a", "size": 0}', "the argument `size` is wrong: expected int >= 1 (given: 0)"),
        ('{"title": "a", "style": "red"}', "the argument `style` is wrong: invalid enum value 'red'"),
        ('{"title": "a", "points": [{"x": "?"}]}', "the argument `points[0].x` is wrong"),
        ('["title"]', "must be a JSON object, not a list"),
        ('"title"', "must be a JSON object, not a string"),
        ("null", "the argument `title` is missing"),
        ('[{"title": "a"}, {"title": "b"}]', "must be a JSON object, not a list"),
        ("3", "must be a JSON object, not a number"),
        ('{"title": "a"', "not valid JSON"),
        ("{title: 'a'}", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_wrong_arguments_are_answered_with_the_field_and_the_reason(text, complaint):
    with pytest.raises(InvalidArguments) as caught:
        draw.decode(text)
    assert complaint in str(caught.value)


def test_context_and_cancel_are_passed_by_type():
    result = draw.call(draw.decode('{"title": "T"}'), context_in("/w"), Switch())
    assert result == "T 30 thin None 1.0 False in /w None"


def test_a_bound_method_becomes_a_tool_too():
    class Family:
        def greet(self, name: str) -> str:
            """Greet."""
            return f"hello {name}"

    greet = tool(toolset="talk", effect="read")(Family().greet)
    assert list(greet.parameters["properties"]) == ["name"]
    assert greet.call({"name": "Ann"}, context_in("/"), Switch()) == "hello Ann"


class Tree(msgspec.Struct):
    children: list[Tree]


def test_a_parameter_type_that_contains_itself_is_refused_when_the_tool_is_made():
    def plant(tree: Tree) -> str:
        return str(tree)

    with pytest.raises(TypeError, match="contains itself"):
        tool(toolset="garden", effect="write")(plant)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
near_arguments = st.dictionaries(
    st.sampled_from(["title", "size", "style", "points", "scale", "x"]), json_values
)


@given(st.one_of(st.text(), json_values.map(json.dumps), near_arguments.map(json.dumps)))
def test_arguments_of_a_model_are_valid_or_refused(text):
    with contextlib.suppress(InvalidArguments):
        arguments = draw.decode(text)
        assert isinstance(arguments["title"], str)
        assert isinstance(arguments["size"], int)


def test_a_tool_can_be_made_from_a_foreign_schema():
    foreign = Tool(
        name="far",
        description="",
        parameters={"type": "object"},
        toolset="mcp",
        effect="write",
        validate=lambda written: written,
        call=lambda arguments, _context, _cancel: f"got {arguments}",
    )
    assert foreign.decode('{"a": 1}') == {"a": 1}
    assert foreign.spec.parameters == {"type": "object"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"title": 3}', {"title": "3"}),
        ('{"title": ["a"]}', {"title": "a"}),
        ('{"title": 2.5}', {"title": "2.5"}),
        ('{"title": true}', {"title": "true"}),
        ('{"title": "a", "size": "40"}', {"size": 40}),
        ('{"title": "a", "size": 40.0}', {"size": 40}),
        ('{"title": "a", "size": " 40 "}', {"size": 40}),
        ('{"title": "a", "size": null}', {"size": 30}),
        ('{"title": "a", "size": ""}', {"size": 30}),
        ('{"title": "a", "scale": "2.5"}', {"scale": 2.5}),
        ('{"title": "a", "style": "Thick "}', {"style": "thick"}),
        ('{"title": "a", "style": null}', {"style": "thin"}),
        ('{"title": "a", "verbose": "True"}', {"verbose": True}),
        ('{"title": "a", "verbose": 1}', {"verbose": True}),
        ('{"title": "a", "verbose": "no"}', {"verbose": False}),
        ('{"title": "a", "verbose": null}', {"verbose": False}),
        ('{"title": "a", "points": {"x": 1}}', {"points": [Point(1)]}),
        ('{"title": "a", "points": "[{\\"x\\": \\"1\\"}]"}', {"points": [Point(1)]}),
        ('{"title": "a", "points": ["{\\"x\\": 1}"]}', {"points": [Point(1)]}),
        ('{"title": "a", "points": "null"}', {"points": None}),
        ('{"title": "a", "points": [{"x": 1, "label": 7}]}', {"points": [Point(1, "7")]}),
        ('{"title": "a", "colour": null}', {"title": "a"}),
        ('{"arguments": {"title": "a"}}', {"title": "a"}),
        ('{"input": "{\\"title\\": \\"a\\"}"}', {"title": "a"}),
        ('"{\\"title\\": \\"a\\"}"', {"title": "a"}),
        ('[{"title": "a"}]', {"title": "a"}),
        ('{"title": "[1]"}', {"title": "[1]"}),
        ('{"title": ""}', {"title": ""}),
    ],
)
def test_lenient_forms_are_accepted(written: str, meant: dict[str, Any]):
    assert dict(draw.decode(written)).items() >= meant.items()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_argument_is_read_or_refused(value: Any):
    for name in ("title", "size", "style", "points", "scale", "verbose"):
        with contextlib.suppress(InvalidArguments):
            draw.decode(json.dumps({"title": "a", name: value}))
