"""The known keys by dotted name: what each accepts, in words, and which one a mistyped name meant."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from hermes_jobs.settings.sections import Configuration, Section


class Key(NamedTuple):
    """One key: its dotted name, the type its values are converted to, and what it means."""

    name: str
    type: Any
    description: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))

    @property
    def expected(self) -> str:
        """The accepted values in words, such as `a number from 0.1 to 0.8`."""
        return _expected(self.type)

    def convert(self, value: object) -> object:
        """Return `value` in the key's type; raises `msgspec.ValidationError`."""
        converted: object = msgspec.convert(value, self.type)
        return converted


@cache
def known_keys() -> Mapping[str, Key]:
    """Every key by its dotted name, in the order of `config.yaml`."""
    return {key.name: key for key in _keys_of(Configuration, "")}


@cache
def known_sections() -> frozenset[str]:
    """The dotted names that hold keys instead of a value."""
    names = (name.split(".") for name in known_keys())
    return frozenset(".".join(parts[:depth]) for parts in names for depth in range(1, len(parts)))


def nearest_key(name: str) -> str:
    """Return the known key (or, for an undotted name, section) that looks most like `name`."""
    from difflib import get_close_matches

    candidates = [*known_keys(), *known_sections()]
    if "." in name:
        candidates = [candidate for candidate in candidates if "." in candidate]
    return get_close_matches(name, candidates, n=1, cutoff=0.0)[0]


def accepts_text(accepted: Any) -> bool:
    """Tell whether a type takes a text, so that a variable's value need not be read as YAML."""
    return any(
        form is str
        or (get_origin(form) is Literal and all(isinstance(value, str) for value in get_args(form)))
        for form in _alternatives(accepted)
    )


def accepts_null(accepted: Any) -> bool:
    """Tell whether a type takes null."""
    return NoneType in _alternatives(accepted)


def _keys_of(section: type[Section], prefix: str) -> Iterator[Key]:
    for field in msgspec.structs.fields(section):
        name = prefix + field.name
        if isinstance(field.type, type) and issubclass(field.type, Section):
            yield from _keys_of(field.type, f"{name}.")
        else:
            yield Key(name, field.type, _description(field.type))


def _description(accepted: Any) -> str:
    return " ".join(meta.description for meta in _metas(accepted) if meta.description)


def _metas(accepted: Any) -> list[msgspec.Meta]:
    if get_origin(accepted) is not Annotated:
        return []
    return [extra for extra in get_args(accepted)[1:] if isinstance(extra, msgspec.Meta)]


def _alternatives(accepted: Any) -> tuple[Any, ...]:
    """Return the bare types that make up a union, or the one type itself."""
    bare = get_args(accepted)[0] if get_origin(accepted) is Annotated else accepted
    members = get_args(bare)
    if NoneType not in members:
        return (bare,)
    return tuple(member for form in members for member in _alternatives(form))


def _expected(accepted: Any) -> str:
    bare = get_args(accepted)[0] if get_origin(accepted) is Annotated else accepted
    arguments = get_args(bare)
    if NoneType in arguments:
        return " or ".join([*(_expected(form) for form in arguments if form is not NoneType), "null"])
    if get_origin(bare) is Literal:
        return "one of " + ", ".join(str(value) for value in arguments)
    if get_origin(bare) is tuple:
        return f"a list ([…, …]), each item {_expected(arguments[0])}"
    if get_origin(bare) is dict:
        return f"a mapping, each value {_expected(arguments[1])}"
    for meta in _metas(accepted):
        if meta.examples:
            return f"a URL such as {meta.examples[0]}"
        if meta.min_length:
            return "a text that is not empty"
    return _SCALARS[bare] + _range(_metas(accepted))


_SCALARS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _range(metas: list[msgspec.Meta]) -> str:
    """Say the bounds, such as ` from 0.1 to 0.8` or ` of at least 1`."""
    lowest = next((meta.ge for meta in metas if meta.ge is not None), None)
    above = next((meta.gt for meta in metas if meta.gt is not None), None)
    highest = next((meta.le for meta in metas if meta.le is not None), None)
    match lowest, above, highest:
        case None, None, None:
            return ""
        case _, None, None:
            return f" of at least {lowest}"
        case None, _, None:
            return f" above {above}"
        case None, _, _:
            return f" above {above}, at most {highest}"
        case _:
            return f" from {lowest} to {highest}"
