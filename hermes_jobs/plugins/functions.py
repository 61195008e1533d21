"""The user's own functions as tools: the decorator that marks them, and the modules in which they are found.

Modules are those of entry points in the group `hermes_jobs.tools`, and of the setting `tools.modules`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

from hermes_jobs.plugins.circuit_breaker import within
from hermes_jobs.plugins.discovery import entry_points_of

if TYPE_CHECKING:
    from hermes_jobs.kernel.events import Effect

GROUP = "hermes_jobs.tools"
SECONDS = 30.0  # of a call, as for the tools of other plugins
IMPORT_SECONDS = 60.0
_MARK = "__hermes_jobs_tool__"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What the decorator says of a function. `seconds`: the time limit of a call. `outside`: its results have
    what others wrote."""

    effect: Effect
    name: str
    seconds: float
    outside: bool


@dataclass(frozen=True)
class OwnFunction:
    """A marked function; `where` it was found: the module's name."""

    function: Callable[..., Any]
    mark: Mark
    where: str


@dataclass(frozen=True)
class Fault:
    """What keeps a module, or a function of it, from being used."""

    where: str
    message: str


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *, effect: Effect = "write", name: str | None = None, seconds: float = SECONDS, outside: bool = False
) -> Callable[[F], F]: ...
def tool(
    function: Any = None,
    /,
    *,
    effect: Effect = "write",
    name: str | None = None,
    seconds: float = SECONDS,
    outside: bool = False,
) -> Any:
    """Offer a typed function to the agent. The function stays as it is for other callers.

    `effect` of a call: `read` changes nothing; `idempotent` may be repeated; `write` is never repeated by
    itself: where its worker dies, the agent is told that the outcome is unknown. `name`: another one than the
    function's. `seconds`: after them the agent is told that the call has taken too long. `outside`: what it
    returns was written by others, such as mail: what the agent then wants to remember waits for its person.

    The docstring is the description; its section `Args:`, or `Annotated[T, "text"]`, describes parameters.
    Parameters of the types `hermes_jobs.ToolContext` and `hermes_jobs.Cancel` are not the model's: they are
    passed. What is returned is the result, as text or JSON; an exception is the call's error.
    """

    def mark(marked: F) -> F:
        setattr(
            marked, _MARK, Mark(effect=effect, name=name or marked.__name__, seconds=seconds, outside=outside)
        )
        return marked

    return mark if function is None else mark(function)


def find_functions(modules: Sequence[str]) -> tuple[tuple[OwnFunction, ...], tuple[Fault, ...]]:
    """The marked functions of installed packages and of these modules, which are imported, and the faults."""
    functions: dict[int, OwnFunction] = {}
    faults: list[Fault] = []
    for where, load in _sources(modules):
        try:
            found = tuple(_marked(within(IMPORT_SECONDS, load), where))
        except Exception as error:  # noqa: BLE001 - others' code may raise anything
            faults.append(Fault(where, f"it cannot be imported: {type(error).__name__}: {error}"))
            continue
        if not found:
            faults.append(Fault(where, "it has no function with @hermes_jobs.tool"))
        for each in found:
            functions.setdefault(id(each.function), each)
    return tuple(functions.values()), tuple(faults)


def _sources(modules: Sequence[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    for point in entry_points_of(GROUP):
        yield point.value, point.load
    for name in modules:
        yield name, partial(import_module, name)


def _marked(found: Any, where: str) -> Iterator[OwnFunction]:
    """The object itself, or the module's members, in their order; also those that it imports from others."""
    members = vars(found).values() if found is sys.modules.get(getattr(found, "__name__", "")) else (found,)
    for member in members:
        mark = getattr(member, "__dict__", {}).get(_MARK)
        if isinstance(mark, Mark):
            yield OwnFunction(member, mark, where)
