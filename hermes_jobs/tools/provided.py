"""Tools that a part of the installation brings along, with its own descriptions, and runs itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hermes_jobs.engine.ports import Cancel, ToolContext, ToolSpec
from hermes_jobs.tools.tool import Arguments, InvalidArguments, Tool, ToolFailed

Run = Callable[[str, str, Mapping[str, Any]], str]
"""Runs a tool: (session, name, arguments). Raises anything."""


def provided_tools(specs: Sequence[ToolSpec], run: Run, *, toolset: str) -> tuple[Tool, ...]:
    """The tools, as the model sees them. What they do is not known, so none is repeated by itself."""
    return tuple(_provided(spec, run, toolset) for spec in specs)


def _provided(spec: ToolSpec, run: Run, toolset: str) -> Tool:
    required = spec.parameters.get("required", ())

    def validate(written: Arguments) -> Arguments:
        return _with_all(required, written)

    def call(arguments: Arguments, context: ToolContext, _cancel: Cancel) -> str:
        try:
            return run(context.session, spec.name, arguments)
        except Exception as error:
            raise ToolFailed(f"{spec.name} failed: {type(error).__name__}: {error}") from error

    return Tool(
        name=spec.name,
        description=spec.description,
        parameters=spec.parameters,
        toolset=toolset,
        effect="write",
        validate=validate,
        call=call,
    )


def _with_all(required: Collection[str], written: Arguments) -> Arguments:
    for name in required:
        if name not in written:
            raise InvalidArguments(f"the argument `{name}` is missing")
    return written
