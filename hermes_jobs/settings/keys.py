"""The known keys by dotted name: accepted values, descriptions, and corrections of mistyped names."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from hermes_jobs.settings.sections import Configuration, Section


class Key(NamedTuple):
    """One key: its dotted name, the type to which its values are converted, and its description.

    `mapping` is the key of the mapping that contains it, such as `models.prices` for `models.prices.gpt-5.1`.
    """

    name: str
    type: Any
    description: str
    mapping: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        if self.mapping is None:
            return tuple(self.name.split("."))
        return (*self.mapping.split("."), self.name.removeprefix(f"{self.mapping}."))

    @property
    def expected(self) -> str:
        """The accepted values in words, such as `a number from 0.1 to 0.8`."""
        return _expected(self.type)

    @property
    def entry(self) -> Any:
        """The type of one value if the key is a mapping of names; None if it is not."""
        bare = _bare(self.type)
        return get_args(bare)[1] if get_origin(bare) is dict else None

    def under(self, name: str) -> "Key":
        """The key of one entry of this mapping."""
        return Key(f"{self.name}.{name}", self.entry, self.description, self.name)

    def convert(self, value: object) -> object:
        """Return `value` in the key's type; raises `msgspec.ValidationError`."""
        converted: object = msgspec.convert(value, self.type)
        return converted

    def nearest(self, value: object) -> str | None:
        """The accepted word most similar to `value`; None if the key does not take fixed words."""
        words = [
            word
            for form in _alternatives(self.type)
            if get_origin(form) is Literal
            for word in get_args(form)
            if isinstance(word, str)
        ]
        if not words or not isinstance(value, str):
            return None
        from difflib import get_close_matches

        also: dict[str, str] = next((meta.extra["also"] for meta in _metas(self.type) if meta.extra), {})
        found = get_close_matches(value.lower(), [*words, *also], n=1, cutoff=0.6)
        return also.get(found[0], found[0]) if found else None


@cache
def known_keys() -> Mapping[str, Key]:
    """Every key by its dotted name, in the order of `config.yaml`."""
    return {key.name: key for key in _keys_of(Configuration, "")}


@cache
def known_sections() -> frozenset[str]:
    """The dotted names of sections, which hold keys and no value."""
    names = (name.split(".") for name in known_keys())
    return frozenset(".".join(parts[:depth]) for parts in names for depth in range(1, len(parts)))


def key_named(name: str) -> Key | None:
    """The key of that dotted name, or of the entry NAME of a mapping, as in `models.prices.NAME`."""
    keys = known_keys()
    if name in keys:
        return keys[name]
    above = (key for key in keys.values() if key.entry is not None and name.startswith(f"{key.name}."))
    return next((key.under(name.removeprefix(f"{key.name}.")) for key in above), None)


def nearest_key(name: str) -> str:
    """Return the known key (or, for an undotted name, section) most similar to `name`."""
    from difflib import get_close_matches

    candidates = [*known_keys(), *known_sections()]
    if "." in name:
        candidates = [candidate for candidate in candidates if "." in candidate]
    return get_close_matches(name, candidates, n=1, cutoff=0.0)[0]


def accepts_text(accepted: Any) -> bool:
    """Whether a type accepts text, so that a variable's value need not be parsed as YAML."""
    return any(
        form is str
        or (get_origin(form) is Literal and all(isinstance(value, str) for value in get_args(form)))
        for form in _alternatives(accepted)
    )


def accepts_null(accepted: Any) -> bool:
    """Whether a type accepts None."""
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


def _bare(accepted: Any) -> Any:
    return get_args(accepted)[0] if get_origin(accepted) is Annotated else accepted


def _alternatives(accepted: Any) -> tuple[Any, ...]:
    """Return the bare types that make up a union, or the one type itself."""
    bare = _bare(accepted)
    if get_origin(bare) not in {Union, UnionType}:
        return (bare,)
    members = get_args(bare)
    return tuple(member for form in members for member in _alternatives(form))


def _expected(accepted: Any) -> str:
    bare = _bare(accepted)
    arguments = get_args(bare)
    if get_origin(bare) is Literal:
        named = ", ".join(str(value) for value in arguments)
        return named if len(arguments) == 1 else f"one of {named}"
    if get_origin(bare) in {Union, UnionType}:
        forms = [form for form in arguments if form is not NoneType]
        return " or ".join([*map(_expected, forms), *(["null"] if NoneType in arguments else [])])
    if get_origin(bare) is tuple:
        return f"a list ([…, …]), each item {_expected(arguments[0])}"
    if get_origin(bare) is dict:
        return f"a mapping, each value {_expected(arguments[1])}"
    for meta in _metas(accepted):
        if meta.title and meta.examples:
            return f"{meta.title} such as {meta.examples[0]}"
        if meta.min_length:
            return "a text that is not empty"
    return _SCALARS[bare] + _range(_metas(accepted))


_SCALARS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _range(metas: list[msgspec.Meta]) -> str:
    """The bounds as text, such as ` from 0.1 to 0.8` or ` of at least 1`."""
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
