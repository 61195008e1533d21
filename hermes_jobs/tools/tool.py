"""Tools: a typed function with its JSON schema, validation and effect class."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET

from hermes_jobs.kernel.engine.ports import Cancel, ToolContext, ToolOutcome, ToolSpec, Verdict
from hermes_jobs.kernel.events import CallPattern, Effect, Evidence
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.argument_coercion import choices_at, coerce, decoded_arguments

Arguments: TypeAlias = Mapping[str, Any]
"""A call's arguments after validation: every parameter has a value of its declared type."""

Function: TypeAlias = Callable[..., str | ToolOutcome]
Paths: TypeAlias = Callable[[Arguments], Sequence[str]]
Guard: TypeAlias = Callable[[Arguments, ToolContext], Verdict]
Origin: TypeAlias = Callable[[Arguments, ToolContext], str]
Lasting: TypeAlias = Callable[[Arguments], Sequence[str] | None]
Touches: TypeAlias = Literal["named", "anything"]

RESOURCE = "resource:"
"""Before the name of something that is no file, among the paths of a call."""

ALLOW = Verdict("allow")


class ToolFailed(Exception):
    """The tool failed. The message has the reason, and an alternative for the model."""


class NothingRead(ToolFailed):
    """The tool failed before it had read anything that others wrote, and the message has none of it."""


class ToolRefused(ToolFailed):
    """The call is not allowed or not possible in this session; it had no effect."""


class InvalidArguments(Exception):
    """The call does not fit the tool's schema. The message names the field."""


def shared_resource(name: str) -> Paths:
    """The `writes` of a tool that changes something other than a file: calls of a reply keep their order."""
    return lambda _arguments: (f"{RESOURCE}{name}",)


def evidence_of(context: ToolContext) -> Evidence:
    """The call as the origin of what it writes."""
    return Evidence(
        session=context.session,
        turn=context.turn,
        call=context.call,
        confirmed_by=context.confirmed_by or UNSET,
    )


def _no_paths(_arguments: Arguments) -> Sequence[str]:
    return ()


def _of_this_home(_arguments: Arguments, _context: ToolContext) -> str:
    return ""


def _of_this_turn(_arguments: Arguments) -> Sequence[str] | None:
    return None


def always(_arguments: Arguments) -> Sequence[str]:
    """The `lasting` of a tool whose every call is."""
    return ()


def _always() -> bool:
    return True


def _to_all(_session: Session) -> bool:
    return True


def _harmless(_arguments: Arguments, _context: ToolContext) -> Verdict:
    return ALLOW


class CallRules:
    """Matches users' rules with the calls of a tool; here without regard to arguments."""

    group: str = ""
    """A group of tools that a rule can name instead."""

    def only_reads(self, arguments: Arguments, context: ToolContext) -> bool | None:
        """Whether the call changes nothing; None: by the tool's effect."""
        return None

    def leaves_all_as_it_is(self, arguments: Arguments, context: ToolContext) -> bool | None:
        """Whether the call reads only, and for no longer than it runs; None: by the tool's effect."""
        return self.only_reads(arguments, context)

    def is_named(self, calls: CallPattern, arguments: Arguments, context: ToolContext) -> bool:
        """Whether an ask or deny rule matches the call."""
        return calls.pattern == "*"

    def allowed_by(
        self, patterns: Sequence[CallPattern], arguments: Arguments, context: ToolContext
    ) -> tuple[CallPattern, ...]:
        """The patterns that together allow the call; empty if they do not."""
        return tuple(pattern for pattern in patterns if self.is_named(pattern, arguments, context))[:1]

    def asks_unconfined(self, arguments: Arguments, context: ToolContext) -> str:
        """The question about a call that asks only where no sandbox confines it; empty if there is none."""
        return ""

    def is_always_asked(self, arguments: Arguments, context: ToolContext) -> bool:
        """Whether the call needs approval in every mode: it uses keys, or writes files that run by
        themselves."""
        return False

    def offer(self, tool: str, arguments: Arguments, context: ToolContext) -> CallPattern | None:
        """The pattern that a user can approve with the call, for longer than once."""
        return CallPattern(tool=tool, pattern="*", folder=context.workdir)


ANY_CALL = CallRules()


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool of the model.

    `validate` raises `InvalidArguments`. `call` may raise `ToolFailed` or `Rejected`, whose messages the
    model reads, or any other exception. `reads` and `writes` are the paths of a call, as the model wrote
    them: calls with common paths keep their order. `touches` is `anything` where a call may also use files
    that it does not name. `offered(session)`: whether the session has it. It may change only where its prompt
    does: providers cache both together.

    `outside` is the origin of what others wrote in the call's result, such as an address; empty where nobody
    else did. `lasting(arguments)` is not None for a call that changes what later turns do or believe, by a
    `change`: what of it a person may have said themselves. See `Hold`."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    toolset: str
    effect: Effect
    validate: Callable[[Arguments], Arguments]
    call: Callable[[Arguments, ToolContext, Cancel], str | ToolOutcome]
    available: Callable[[], bool] = _always
    reads: Paths = _no_paths
    writes: Paths = _no_paths
    touches: Touches = "named"
    guard: Guard = _harmless
    rules: CallRules = ANY_CALL
    offered: Callable[[Session], bool] = _to_all
    outside: Origin = _of_this_home
    lasting: Lasting = _of_this_turn

    @cached_property  # one object, which keeps its measured length
    def spec(self) -> ToolSpec:
        """The tool's specification for the model."""
        return ToolSpec(self.name, self.description, dict(self.parameters))

    def decode(self, text: str) -> Arguments:
        """Decode and validate the model's arguments; an empty text means no arguments.

        Raises `InvalidArguments`.
        """
        try:
            values = decoded_arguments(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidArguments(f"the arguments are not valid JSON: {error}") from error
        if not isinstance(values, dict):
            raise InvalidArguments(f"the arguments must be a JSON object, not {_kind(values)}")
        return self.validate(values)


def tool(  # noqa: PLR0913 - what a tool is
    *,
    toolset: str,
    effect: Effect,
    name: str | None = None,
    available: Callable[[], bool] = _always,
    reads: Paths = _no_paths,
    writes: Paths = _no_paths,
    touches: Touches = "named",
    guard: Guard = _harmless,
    rules: CallRules = ANY_CALL,
    offered: Callable[[Session], bool] = _to_all,
    outside: Origin = _of_this_home,
    lasting: Lasting = _of_this_turn,
) -> Callable[[Function], Tool]:
    """Make a tool of a typed function or bound method.

    Its docstring becomes the description, `Annotated[T, "text"]` (or `msgspec.Meta`) the description of a
    parameter. Parameters typed `ToolContext` and `Cancel` are passed in and not part of the schema.
    """

    def make(function: Function) -> Tool:
        tool_name = name or function.__name__
        passed, fields = _parameters(function)
        shape = msgspec.defstruct(tool_name, fields, frozen=True, kw_only=True)

        def call(arguments: Arguments, context: ToolContext, cancel: Cancel) -> str | ToolOutcome:
            injected: dict[object, object] = {ToolContext: context, Cancel: cancel}
            return function(**{parameter: injected[kind] for parameter, kind in passed.items()}, **arguments)

        return Tool(
            name=tool_name,
            description=inspect.cleandoc(function.__doc__ or ""),
            parameters=parameter_schema(shape),
            toolset=toolset,
            effect=effect,
            validate=lambda values: validate(shape, values),
            call=call,
            available=available,
            reads=reads,
            writes=writes,
            touches=touches,
            guard=guard,
            rules=rules,
            offered=offered,
            outside=outside,
            lasting=lasting,
        )

    return make


class Hold(NamedTuple):
    """What becomes of lasting calls. `waits(texts, context)`: the question to a person about one with these
    texts, empty where it is simply done; `instead(call, context, change)`: what is decided in the place of
    `change` where nobody is asked in the turn."""

    waits: Callable[[Sequence[str], ToolContext], str]
    instead: Callable[[ToolCall, ToolContext, Decision], Decision]


def validate(shape: type[msgspec.Struct], values: Arguments) -> Arguments:
    """The arguments as the shape's types, coerced where they differ.

    Raises `InvalidArguments`.
    """
    values = coerce(shape, values)
    fields = _fields_of(shape)
    for name in values:
        if name not in fields:
            names = ", ".join(f"`{field_name}`" for field_name in fields) or "none"
            raise InvalidArguments(
                f"unknown argument `{name}`{did_you_mean(name, fields)} The arguments are: {names}."
            )
    for name, field in fields.items():
        if field.required and name not in values:
            raise InvalidArguments(f"the argument `{name}` is missing")
    try:
        return msgspec.structs.asdict(msgspec.convert(values, described(shape), strict=False))
    except msgspec.ValidationError as error:
        raise InvalidArguments(_explain(str(error), values, shape)) from error


@lru_cache(maxsize=512)
def _fields_of(shape: type[msgspec.Struct]) -> Mapping[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(shape)}


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The text `; did you mean …?` with the nearest of the known names, or a full stop."""
    nearest = difflib.get_close_matches(name.lower(), list(names), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(f'`{candidate}`' for candidate in nearest)}?" if nearest else "."


UNSHOWN = frozenset({
    "title", "additionalProperties", "maxLength", "minLength", "pattern", "maxItems", "minItems",
})  # fmt: skip
"""Keywords of a schema that tell a model nothing that it would do differently. A call that breaks one gets an
error that names it."""


def parameter_schema(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """The shape's JSON Schema as models are shown it: one object without references, and without what is only
    checked when a call arrives (`UNSHOWN`): each request pays for every character.

    Raises `TypeError` for a type that contains itself.
    """
    schema = msgspec.json.schema(shape)
    definitions = schema.pop("$defs", {})
    flat: dict[str, Any] = _flat(schema, definitions, ())
    return {"type": "object", "properties": {}, **flat}


def _flat(node: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_flat(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in inside:
            raise TypeError(f"the parameter type {name} contains itself")
        around = {key: value for key, value in node.items() if key != "$ref"}
        return {**_flat(definitions[name], definitions, (*inside, name)), **around}
    branches = [option for option in node.get("anyOf", ()) if option != {"type": "null"}]
    if len(branches) == 1:
        # A value for "T or null" is left out of the call instead; several providers reject unions.
        around = {key: value for key, value in node.items() if key != "anyOf" and value is not None}
        return _flat({**branches[0], **around}, definitions, inside)
    return {
        key: {name: _flat(item, definitions, inside) for name, item in value.items()}
        if key == "properties"
        else _flat(value, definitions, inside)
        for key, value in node.items()
        if key not in UNSHOWN and not (key in {"default", "required"} and not value)
    }


def _parameters(function: Function) -> tuple[dict[str, type], list[tuple[str, Any, Any]]]:
    """The parameters passed in by type, and the fields of the schema."""
    hints = get_type_hints(function, include_extras=True)
    passed: dict[str, type] = {}
    fields: list[tuple[str, Any, Any]] = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if hint in (ToolContext, Cancel):
            passed[name] = hint
        elif parameter.default is inspect.Parameter.empty:
            fields.append((name, _described(hint), msgspec.NODEFAULT))
        else:
            fields.append((name, _described(hint), parameter.default))
    return passed, fields


def _described(hint: Any) -> Any:
    """The annotation with plain texts converted to msgspec's metadata."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *extras = get_args(hint)
    metas = [msgspec.Meta(description=extra) if isinstance(extra, str) else extra for extra in extras]
    for meta in metas:
        kind = Annotated[kind, meta]
    return kind


_LOCATED = re.compile(r"(?P<what>.*) - at `\$\.?(?P<where>[^`]*)`", re.DOTALL)


def _explain(message: str, values: Arguments, shape: type[msgspec.Struct]) -> str:
    """msgspec's message as a sentence that begins with the argument, with the values that it may have."""
    match = _LOCATED.fullmatch(message)
    if match is None:
        return message
    where = match["where"]
    value = values.get(re.split(r"[.\[]", where, maxsplit=1)[0])
    problem = match["what"].replace("`", "")
    words = choices_at(shape, where)
    right = f"; it is one of {', '.join(words)}" if words else ""
    return (
        f"the argument `{where}` is wrong: {problem[:1].lower()}{problem[1:]} (given: {_shown(value)}){right}"
    )


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
