"""The known keys by dotted name: accepted values, descriptions, and corrections of mistyped names."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from hermes_jobs.settings.sections import Configuration
from hermes_jobs.settings.sections.values import Section
from hermes_jobs.system.struct_types import described


class Key(NamedTuple):
    """One key: its dotted name, the type to which its values are converted, and its description.

    `mapping` is the key of the mapping that contains it, such as `models.prices` for `models.prices.gpt-5.1`.
    `within` is the section in which the entry stands by its name alone: `models` for the ensemble
    `models.NAME`, whose mapping is `models.ensembles`. `part` is the way to a part of an entry, such as
    `("env", "LANG")` in `mcp_servers.git.env.LANG`; its `mapping` is the entry's.
    """

    name: str
    type: Any
    description: str
    mapping: str | None = None
    within: str | None = None
    part: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        above = self.within or self.mapping
        if above is None or self.part:
            return tuple(self.name.split("."))
        return (*above.split("."), self.name.removeprefix(f"{above}."))

    @property
    def entries_in(self) -> str | None:
        """The section that holds the entries of this mapping by their names; None: the mapping itself."""
        extras = (meta.extra for meta in _metas(self.type) if meta.extra and "entries_in" in meta.extra)
        return next((str(extra["entries_in"]) for extra in extras), None)

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
        above = self.entries_in
        return Key(f"{above or self.name}.{name}", self.entry, self.description, self.name, above)

    @property
    def has_parts(self) -> bool:
        """Whether the parts of its entries, whose names have no dots, are keys, too."""
        return any(meta.extra and "parts" in meta.extra for meta in _metas(self.type))

    def part_of_entry(self, name: str) -> "Key | None":
        """The key of `ENTRY.PART` or `ENTRY.PART.NAME` of this mapping; None where there is no such part."""
        entry, *path = name.split(".")
        form: Any = self.entry
        for part in path:
            form = _part(form, part)
        if form is None or not entry:
            return None
        return Key(f"{self.name}.{name}", form, self.description, self.name, part=tuple(path))

    def parts_that_begin(self, name: str, entry: object, begun: str) -> Iterator[str]:
        """The keys of the parts of that entry; those below a part where `begun` names it."""
        yield from _parts_that_begin(self.entry, entry, f"{self.name}.{name}", begun)

    def convert(self, value: object) -> object:
        """Return `value` in the key's type; raises `msgspec.ValidationError`."""
        converted: object = msgspec.convert(value, described(self.type))
        return converted

    @property
    def words(self) -> list[str]:
        """The words that a person can write as its value; none where it takes more than fixed words."""
        also = ["null"] if accepts_null(self.type) else []
        if bool in _alternatives(self.type):
            return ["true", "false", *also]
        return [*self._fixed_words, *also] if self._fixed_words else []

    @property
    def _fixed_words(self) -> list[str]:
        return [
            word
            for form in _alternatives(self.type)
            if get_origin(form) is Literal
            for word in get_args(form)
            if isinstance(word, str)
        ]

    def nearest(self, value: object) -> str | None:
        """The accepted word most similar to `value`; None if the key does not take fixed words."""
        words = self._fixed_words
        if not words or not isinstance(value, str):
            return None
        from difflib import get_close_matches

        also: dict[str, str] = next(
            (meta.extra["also"] for meta in _metas(self.type) if meta.extra and "also" in meta.extra), {}
        )
        matches = get_close_matches(value.lower(), [*words, *also], n=1, cutoff=0.6)
        return also.get(matches[0], matches[0]) if matches else None


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
    entry = next((_entry(key, name.removeprefix(f"{key.name}.")) for key in above), None)
    if entry is not None or name in known_sections():
        return entry
    short = ((key, f"{key.entries_in}.") for key in keys.values() if key.entries_in is not None)
    return next((key.under(name.removeprefix(at)) for key, at in short if name.startswith(at)), None)


def _entry(key: Key, name: str) -> Key | None:
    return key.part_of_entry(name) if key.has_parts and "." in name else key.under(name)


def main_key(section: str) -> Key | None:
    """The key that a section's name alone refers to: `model` for `model.model`.

    It is the section's only key, or the one of the same name; None where there is neither.
    """
    inside = [key for name, key in known_keys().items() if name.startswith(f"{section}.")]
    same = known_keys().get(f"{section}.{section.rpartition('.')[2]}")
    return inside[0] if len(inside) == 1 else same


def nearest_key(name: str) -> str:
    """Return the known key (or, for an undotted name, section) most similar to `name`."""
    from difflib import get_close_matches

    candidates = [*_parts_beside(name), *known_keys(), *known_sections()]
    if "." in name:
        candidates = [candidate for candidate in candidates if "." in candidate]
    return get_close_matches(name, candidates, n=1, cutoff=0.0)[0]


def near_keys(name: str) -> list[str]:
    """Return at most three known keys and sections that are similar to `name`, the most similar first."""
    from difflib import get_close_matches

    candidates = [*_parts_beside(name), *known_keys(), *known_sections()]
    by_last_part = {key.rpartition(".")[2]: key for key in known_keys()}
    matches = get_close_matches(name, candidates, n=3, cutoff=0.6)
    last = get_close_matches(name.rpartition(".")[2], by_last_part, n=3, cutoff=0.75)
    return list(dict.fromkeys([*matches, *(by_last_part[part] for part in last)]))[:3]


def _parts_beside(name: str) -> list[str]:
    """The keys of all parts of the entry whose part that name seems to be."""
    for key in known_keys().values():
        entry, dot, _ = name.removeprefix(f"{key.name}.").partition(".")
        if key.has_parts and dot and name.startswith(f"{key.name}."):
            fields = msgspec.structs.fields(_bare(key.entry))
            return [f"{key.name}.{entry}.{field.name}" for field in fields]
    return []


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


def _part(form: Any, name: str) -> Any:
    """The type of a part of a value of that type: a field, or what a mapping has by that name; else None."""
    for alternative in _alternatives(form):
        if get_origin(alternative) is dict:
            return get_args(alternative)[1] if name else None
        if isinstance(alternative, type) and issubclass(alternative, msgspec.Struct):
            return next(
                (field.type for field in msgspec.structs.fields(alternative) if field.name == name), None
            )
    return None


def _parts_that_begin(form: Any, value: Any, above: str, begun: str) -> Iterator[str]:
    for name, inner in _named_parts(form, value):
        key = f"{above}.{name}"
        yield key
        if begun.startswith(key):
            part = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
            yield from _parts_that_begin(inner, part, key, begun)


def _named_parts(form: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a value of that type, each with its type: fields, and the names that a mapping has."""
    for alternative in _alternatives(form):
        if get_origin(alternative) is dict:
            yield from ((name, get_args(alternative)[1]) for name in sorted(value or ()))
        elif isinstance(alternative, type) and issubclass(alternative, msgspec.Struct):
            yield from ((field.name, field.type) for field in msgspec.structs.fields(alternative))


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
    if isinstance(bare, type) and issubclass(bare, Section):
        return _fields(bare)
    for meta in _metas(accepted):
        if meta.title and meta.examples:
            return f"{meta.title} such as {meta.examples[0]}"
        if meta.min_length:
            return "a text that is not empty"
    is_struct = isinstance(bare, type) and issubclass(bare, msgspec.Struct)
    return _fields(bare) if is_struct else _SCALARS[bare] + _range(_metas(accepted))


def _fields(struct: type[msgspec.Struct]) -> str:
    return f"a mapping of {', '.join(struct.__struct_fields__)}"


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
