"""Which settings a part of the application is made of, read from the code that makes it.

Only this package and the modules `parts` of features see `Settings` when parts are made, which get values. So
a part depends on the fields that are named in the function that makes it, in those modules from which that
function gets what it calls, and
in the properties of `Settings` that are named there; in the modules of the features' parts that it asks for;
and on what the parts that it is given depend on. A name
that means something else by chance costs a rebuild; none is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property, lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import get_args

import msgspec

from hermes_jobs.kernel.feature import Kind, parts
from hermes_jobs.settings import Settings

PACKAGE = __name__.rpartition(".")[0]
FIELDS = frozenset(field.name for field in msgspec.structs.fields(Settings))


def changed_fields(before: Settings, after: Settings) -> frozenset[str]:
    """The fields in which two settings differ."""
    return frozenset(name for name in FIELDS if getattr(before, name) != getattr(after, name))


def parts_of(owner: type) -> frozenset[str]:
    """The names of the class's cached properties."""
    return frozenset(name for name, value in vars(owner).items() if isinstance(value, cached_property))


def fields_of(owner: type, part: str) -> frozenset[str]:
    """The fields of `Settings` that the cached property `part` of the class depends on.

    The modules that it needs are imported: call it for a part that was made.
    """
    return _closure(owner, part, frozenset())


@lru_cache(maxsize=256)
def _closure(owner: type, part: str, inside: frozenset[str]) -> frozenset[str]:
    made = owner.__dict__[part].func
    names = {
        *_names(made.__code__),
        *(name for module in _modules(made.__code__) for name in _in_module(module)),
    }
    by_features = {name for module in _of_features(made.__code__) for name in _in_module(module)}
    for name in by_features:
        names.update(each for code in _codes_of(_property(owner, name)) for each in _names(code))
    own = names | by_features
    for name in tuple(own):
        own |= _of_settings(name)
    parts = {
        name
        for name in {*_names(made.__code__), *by_features}
        if isinstance(owner.__dict__.get(name), cached_property) and name not in {part, *inside}
    }
    others = (_closure(owner, other, inside | {part}) for other in sorted(parts))
    return frozenset(own & FIELDS).union(*others)


def _property(owner: type, name: str) -> object:
    """The property of that name, where the class has one."""
    found = owner.__dict__.get(name)
    return found if isinstance(found, property) else None


def _names(code: CodeType) -> Iterator[str]:
    """All names in the code, and in the functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _modules(code: CodeType) -> Iterator[ModuleType]:
    """The modules that make parts and that the code imports from."""
    for name in filter(_makes_parts, _names(code)):
        if (module := sys.modules.get(name)) is not None:
            yield module


def _makes_parts(module: str) -> bool:
    is_of_feature = module.startswith("hermes_jobs.features.") and module.endswith(".parts")
    return is_of_feature or module.startswith(f"{PACKAGE}.")


def _of_features(code: CodeType) -> Iterator[ModuleType]:
    """The modules of the features' parts whose kind the code names in a call of `parts`."""
    if "parts" in _names(code):
        for kind in get_args(Kind):
            if kind in code.co_consts:
                yield from (sys.modules[part.__module__] for part in parts(kind))


def _in_module(module: ModuleType) -> frozenset[str]:
    """The names in all functions of the module, and of those that make parts and that it uses."""
    found: dict[str, frozenset[str]] = {}
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current.__name__ in found:
            continue
        codes = list(_codes(current))
        found[current.__name__] = frozenset(name for code in codes for name in _names(code))
        imported = {getattr(value, "__module__", None) for value in vars(current).values()}
        waiting += [used for code in codes for used in _modules(code)]
        waiting += [sys.modules[name] for name in imported if name and _makes_parts(name)]
    return frozenset().union(*found.values())


def _codes(module: ModuleType) -> Iterator[CodeType]:
    """The code of the module's functions and of its classes' methods."""
    for value in vars(module).values():
        if getattr(value, "__module__", None) == module.__name__:
            yield from _codes_of(value)


def _codes_of(value: object) -> Iterator[CodeType]:
    if isinstance(value, type):
        for member in vars(value).values():
            yield from _codes_of(member)
    for name in ("fget", "func", "__func__", "__wrapped__"):
        if (inner := getattr(value, name, None)) is not None and inner is not value:
            yield from _codes_of(inner)
    if isinstance(value, FunctionType):
        yield value.__code__


@lru_cache(maxsize=256)
def _of_settings(name: str) -> frozenset[str]:
    """The fields that the method or property of `Settings` reads, with those that it uses."""
    found, waiting = set[str](), [name]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += [used for code in _codes_of(vars(Settings).get(current)) for used in _names(code)]
    return frozenset(found) & FIELDS
