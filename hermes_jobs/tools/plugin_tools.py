"""Tools that plugins (memory providers, context engines) declare and run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from hermes_jobs.kernel.engine.ports import Cancel, ProvidedSpec, ToolContext, ToolSpec
from hermes_jobs.kernel.events import Effect
from hermes_jobs.tools.tool import Arguments, InvalidArguments, Tool

logger = logging.getLogger(__name__)

Run = Callable[[ToolContext, str, Mapping[str, Any]], str]
"""Runs a tool by name and arguments for a session. May raise any exception."""


def plugin_tools(
    specs: Sequence[ToolSpec], run: Run, *, toolset: str, used_names: Collection[str] = ()
) -> tuple[Tool, ...]:
    """The tools for the model, without those whose name is taken.

    The effect of a `ToolSpec` is unknown: such a tool is never repeated automatically.
    """
    return tuple(_provided(spec, run, toolset) for spec in _apart(specs, set(used_names)))


def _apart(specs: Sequence[ToolSpec], used: set[str]) -> Iterator[ToolSpec]:
    for spec in specs:
        if spec.name in used:
            logger.warning("the tool %s is left out: another one has that name", spec.name)
            continue
        used.add(spec.name)
        yield spec


def _provided(spec: ToolSpec, run: Run, toolset: str) -> Tool:
    required = spec.parameters.get("required", ())
    effect: Effect = spec.effect if isinstance(spec, ProvidedSpec) else "write"

    def validate(values: Arguments) -> Arguments:
        return _with_all(required, values)

    def call(arguments: Arguments, context: ToolContext, _cancel: Cancel) -> str:
        return run(context, spec.name, arguments)

    return Tool(
        name=spec.name,
        description=spec.description,
        parameters=spec.parameters,
        toolset=toolset,
        effect=effect,
        touches="anything",
        validate=validate,
        call=call,
    )


def _with_all(required: Collection[str], arguments: Arguments) -> Arguments:
    for name in required:
        if name not in arguments:
            raise InvalidArguments(f"the argument `{name}` is missing")
    return arguments
