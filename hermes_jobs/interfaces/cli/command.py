"""Commands whose functions say by their types what they need: the context, and options that are shared.

`as_json: Json` is the option `--json`, `turn_id: TurnId` the argument of that name. Such a type is declared
once, as `Annotated[bool, click.Option(…)]`; its parameter is called as in the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from inspect import unwrap
from typing import Any, TypeVar

import click

from hermes_jobs.interfaces.cli.context import CliContext

F = TypeVar("F", bound=Callable[..., Any])

_pass_context = click.make_pass_decorator(CliContext)


class CliCommand(click.Command):
    """A command. Arguments that are types come before those of decorators, options after them."""

    def __init__(
        self,
        name: str | None,
        *,
        callback: Callable[..., Any],
        params: Sequence[click.Parameter] | None = None,
        **attributes: Any,
    ) -> None:
        shared = list(_shared(callback))
        arguments = [each for each in shared if isinstance(each, click.Argument)]
        options = [each for each in shared if not isinstance(each, click.Argument)]
        if "CliContext" in unwrap(callback).__annotations__.values():
            callback = _pass_context(callback)
        super().__init__(
            name, callback=callback, params=[*arguments, *(params or ()), *options], **attributes
        )


class CliGroup(CliCommand, click.Group):
    """A group of such commands."""

    command_class = CliCommand
    group_class = type


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], CliCommand]:
    """A decorator for the function of a command; `attributes` are those of `click.command`."""
    return click.command(name, cls=CliCommand, **attributes)


def group(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], CliGroup]:
    """The same for the function of a group."""
    return click.group(name, cls=CliGroup, **attributes)


def shared_option(kind: Any, name: str) -> Callable[[F], F]:
    """The option of such a type as a decorator, for its place among others; the command gets it as `name`."""

    def decorate(function: F) -> F:
        function.__dict__.setdefault("__click_params__", []).append(_named(kind.__metadata__[0], name))
        return function

    return decorate


def _shared(callback: Callable[..., Any]) -> Iterator[click.Parameter]:
    """The options and arguments that are types of the function's parameters."""
    function = unwrap(callback)
    for name, annotation in function.__annotations__.items():
        for declared in getattr(function.__globals__.get(annotation), "__metadata__", ()):
            yield _named(declared, name)


def _named(declared: click.Parameter, name: str) -> click.Parameter:
    parameter = copy(declared)
    parameter.name = name
    return parameter
