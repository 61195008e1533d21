"""The user's own functions as tools of the model: schema, description, time limit, and their faults."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from hermes_jobs.kernel.engine.ports import Cancel, File, ToolContext, ToolOutcome
from hermes_jobs.plugins.circuit_breaker import CallTimeout, within
from hermes_jobs.plugins.functions import Fault, OwnFunction, find_functions
from hermes_jobs.tools.tool import Arguments, Tool, ToolFailed, tool

logger = logging.getLogger(__name__)

TOOLSET = "own"
DONE = "Done."
"""The result of a function that returns None."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_ARGS = re.compile(r"^(?:Args|Arguments|Parameters):\s*$", re.MULTILINE)
_OTHER_SECTION = re.compile(r"^\S", re.MULTILINE)
_PARAMETER = re.compile(
    r"^ +\*{0,2}(?P<name>\w+)(?: *\([^)]*\))?: *(?P<text>.*(?:\n {8,}\S.*)*)", re.MULTILINE
)


@dataclass(frozen=True)
class OwnTools:
    """The tools, what could not be used, and `places`: where each tool that is not built in was found."""

    tools: tuple[Tool, ...]
    places: Mapping[str, str]
    faults: tuple[Fault, ...]


def own_tools(modules: Sequence[str], used_names: Collection[str] = ()) -> OwnTools:
    """The tools of installed packages and of these modules, without those whose name is taken.

    Faults are logged, and keep nothing else from being used.
    """
    functions, found = find_functions(modules)
    tools: dict[str, Tool] = {}
    places: dict[str, str] = {}
    faults = list(found)
    for own in functions:
        try:
            made = _tool(own, (*used_names, *tools))
        except (TypeError, NameError, ValueError, RecursionError) as error:
            faults.append(Fault(own.where, f"the function {own.function.__name__}: {error}"))
            continue
        tools[made.name] = made
        places[made.name] = own.where
    for fault in faults:
        logger.warning("tools of %s: %s", fault.where, fault.message)
    return OwnTools(tuple(tools.values()), places, tuple(faults))


def _tool(own: OwnFunction, used_names: Collection[str]) -> Tool:
    """Raises `TypeError`, `NameError` or `ValueError` where the function cannot be a tool."""
    _check(own)
    if own.mark.name in used_names:
        raise TypeError(f"another tool is called {own.mark.name}; give it another name with name=")
    origin = f"the tool {own.mark.name}" if own.mark.outside else ""
    made = tool(
        toolset=TOOLSET,
        effect=own.mark.effect,
        name=own.mark.name,
        touches="anything",
        outside=lambda _arguments, _context: origin,
    )(own.function)
    description, of_parameters = _described(inspect.getdoc(own.function) or "")
    if not description:
        raise TypeError("it has no docstring, which tells the model what it does")
    properties = {
        name: {"description": of_parameters[name], **schema} if name in of_parameters else schema
        for name, schema in made.parameters["properties"].items()
    }

    def call(arguments: Arguments, context: ToolContext, cancel: Cancel) -> str | ToolOutcome:
        try:
            return _result(within(own.mark.seconds, lambda: made.call(arguments, context, cancel)))
        except CallTimeout as late:
            raise ToolFailed(f"{own.mark.name} {late}; it may still be running.") from late

    parameters = {**made.parameters, "properties": properties}
    return replace(made, description=description, parameters=parameters, call=call)


def _check(own: OwnFunction) -> None:
    """Raise `TypeError` for a function that has no schema."""
    if not _NAME.fullmatch(own.mark.name):
        raise TypeError(f"{own.mark.name!r} is no name of a tool: letters, digits, _ and -, at most 64")
    if own.mark.effect not in {"read", "idempotent", "write"}:
        raise TypeError(f"the effect {own.mark.effect!r} is none of read, idempotent, write")
    if inspect.iscoroutinefunction(own.function):
        raise TypeError("it is async; a tool is a plain function, in which asyncio.run() may stand")
    for name, parameter in inspect.signature(own.function).parameters.items():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise TypeError(f"the parameter {name} cannot be passed by its name")
        if parameter.annotation is parameter.empty:
            raise TypeError(f"the parameter {name} has no type")


def _described(docstring: str) -> tuple[str, dict[str, str]]:
    """The docstring without its section of parameters, and their descriptions."""
    heading = _ARGS.search(docstring)
    if heading is None:
        return docstring.strip(), {}
    other = _OTHER_SECTION.search(docstring, heading.end() + 1)
    end = other.start() if other is not None else len(docstring)
    section = docstring[heading.end() : end]
    parameters = {match["name"]: " ".join(match["text"].split()) for match in _PARAMETER.finditer(section)}
    return f"{docstring[: heading.start()].rstrip()}\n\n{docstring[end:]}".strip(), parameters


def _result(returned: Any) -> str | ToolOutcome:
    if returned is None:
        return DONE
    if isinstance(returned, str | ToolOutcome):
        return returned
    parts = returned if isinstance(returned, list | tuple) and not isinstance(returned, File) else (returned,)
    files = tuple(part for part in parts if isinstance(part, File))
    if files:
        texts = (str(_result(part)) for part in parts if part is not None and not isinstance(part, File))
        return ToolOutcome(content="\n\n".join(texts), files=files)
    return msgspec.json.encode(returned).decode()
