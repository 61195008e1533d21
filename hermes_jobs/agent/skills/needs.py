"""What a skill needs of the machine: variables, commands and packages that its front matter names.

| written as                                                  | by                          |
|-------------------------------------------------------------|-----------------------------|
| `prerequisites: {env_vars, commands, packages}`             | us, and Hermes Agent        |
| `required_environment_variables: [NAME or {name: NAME}]`    | Hermes Agent                |
| `metadata.openclaw.requires: {env, bins}`                   | OpenClaw                    |

They may also stand under `metadata` or `metadata.hermes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

_VARIABLE = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
_PROGRAM = re.compile(r"[\w.+-]{1,100}", re.ASCII)
_PACKAGE = re.compile(r"[\w.+@/\[\]<>=!~,-]{1,100}", re.ASCII)


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """Names of variables, commands and packages."""

    variables: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.variables or self.commands or self.packages)

    def __str__(self) -> str:
        named = (
            ("variable", self.variables),
            ("command", self.commands),
            ("package", self.packages),
        )
        return "; ".join(f"{kind}{'s' * (len(of) > 1)} {', '.join(of)}" for kind, of in named if of)


NOTHING = Needs()


class Machine(msgspec.Struct, frozen=True):
    """What is here: whether commands get a variable, and whether a command is found."""

    has_variable: Callable[[str], bool] = lambda _name: True
    has_command: Callable[[str], bool] = lambda _name: True

    def lacks(self, needs: Needs) -> Needs:
        """What is not here. Of packages nothing is known: they may be anywhere."""
        return Needs(
            variables=tuple(name for name in needs.variables if not self.has_variable(name)),
            commands=tuple(name for name in needs.commands if not self.has_command(name)),
        )


def needs_of(fields: Mapping[str, Any]) -> Needs:
    """What a front matter says is needed; names that are none are left out."""
    metadata = _mapping(fields.get("metadata"))
    places = (fields, metadata, _mapping(metadata.get("hermes")))
    found: dict[str, list[str]] = {"variables": [], "commands": [], "packages": []}
    for place in places:
        said = _mapping(place.get("prerequisites"))
        found["variables"] += _names(said.get("env_vars"), _VARIABLE)
        found["variables"] += _names(place.get("required_environment_variables"), _VARIABLE)
        found["commands"] += _names(said.get("commands"), _PROGRAM)
        found["packages"] += _names(said.get("packages"), _PACKAGE)
    requires = _mapping(_mapping(metadata.get("openclaw")).get("requires"))
    found["variables"] += _names(requires.get("env"), _VARIABLE)
    found["commands"] += _names(requires.get("bins"), _PROGRAM)
    return Needs(**{kind: tuple(dict.fromkeys(names)) for kind, names in found.items()})


def _names(value: object, form: re.Pattern[str]) -> Iterator[str]:
    """The names in a list of texts or of mappings with a `name`, or in one text with commas."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    for item in items:
        name = item.get("name") if isinstance(item, dict) else item
        if isinstance(name, str) and form.fullmatch(name.strip()):
            yield name.strip()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
