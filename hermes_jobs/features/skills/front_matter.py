"""Parses SKILL.md leniently, so that skills from other sources work unchanged.

https://agentskills.io/specification; tolerated errors follow its guide for clients.

A skill's requirements (variables, commands and packages) are written as:

| written as                                                  | by                          |
|-------------------------------------------------------------|-----------------------------|
| `prerequisites: {env_vars, commands, packages}`             | us, and Hermes Agent        |
| `required_environment_variables: [NAME or {name: NAME}]`    | Hermes Agent                |
| `metadata.openclaw.requires: {env, bins}`                   | OpenClaw                    |

They may also be under `metadata` or `metadata.hermes`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec
import yaml

from hermes_jobs.errors import Rejected

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
        kinds = (
            ("variable", self.variables),
            ("command", self.commands),
            ("package", self.packages),
        )
        return "; ".join(
            f"{kind}{'s' * (len(names) > 1)} {', '.join(names)}" for kind, names in kinds if names
        )


NO_NEEDS = Needs()


class Available(msgspec.Struct, frozen=True):
    """The environment of this machine: whether commands get a variable, and whether a command is found."""

    has_variable: Callable[[str], bool] = lambda _name: True
    has_command: Callable[[str], bool] = lambda _name: True

    def lacks(self, needs: Needs) -> Needs:
        """The missing requirements. Packages are not checked: they may be anywhere."""
        return Needs(
            variables=tuple(name for name in needs.variables if not self.has_variable(name)),
            commands=tuple(name for name in needs.commands if not self.has_command(name)),
        )


def needs_of(fields: Mapping[str, Any]) -> Needs:
    """The requirements in a front matter; invalid names are skipped."""
    metadata = _mapping(fields.get("metadata"))
    places = (fields, metadata, _mapping(metadata.get("hermes")))
    needs: dict[str, list[str]] = {"variables": [], "commands": [], "packages": []}
    for place in places:
        prerequisites = _mapping(place.get("prerequisites"))
        needs["variables"] += _names(prerequisites.get("env_vars"), _VARIABLE)
        needs["variables"] += _names(place.get("required_environment_variables"), _VARIABLE)
        needs["commands"] += _names(prerequisites.get("commands"), _PROGRAM)
        needs["packages"] += _names(prerequisites.get("packages"), _PACKAGE)
    requires = _mapping(_mapping(metadata.get("openclaw")).get("requires"))
    needs["variables"] += _names(requires.get("env"), _VARIABLE)
    needs["commands"] += _names(requires.get("bins"), _PROGRAM)
    return Needs(**{kind: tuple(dict.fromkeys(names)) for kind, names in needs.items()})


def _names(value: object, form: re.Pattern[str]) -> Iterator[str]:
    """The names in a list of texts or of mappings with a `name`, or in one text with commas."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    for item in items:
        name = item.get("name") if isinstance(item, dict) else item
        if isinstance(name, str) and form.fullmatch(name.strip()):
            yield name.strip()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


MAX_DEPTH = 8
LISTS = ("platforms", "tags", "requires_toolsets")
METADATA_KEY = "hermes"  # the key under `metadata` for fields that are not in the standard

_FRONT_MATTER = re.compile(
    r"\A\ufeff?\s*---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_FIELD = re.compile(r"(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^|>\[{&*!#\s].*)")
_PLATFORMS = {"darwin": "macos", "osx": "macos", "mac": "macos", "win32": "windows", "win": "windows"}
_PARSER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every scalar is a text: 1.10 is not a number


class SkillText(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed SKILL.md. `fields` are all of the front matter's; `is_plain`: a strict reader accepts them.

    `platforms` and `requires_toolsets` empty: any.
    """

    name: str
    description: str
    body: str
    fields: Mapping[str, Any]
    is_plain: bool
    version: str = ""
    platforms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    requires_toolsets: tuple[str, ...] = ()
    needs: Needs = NO_NEEDS


def platform_name(system: str = sys.platform) -> str:
    """This machine's platform as skills name it: linux, macos or windows, others as Python names them."""
    return _PLATFORMS.get(system, system)


@lru_cache(maxsize=512)
def read(text: str) -> SkillText:
    """Parse the text. Raises `Rejected`, kind `front_matter`, if it is not a valid skill."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        raise rejection("SKILL.md does not begin with front matter between two lines of `---`.")
    fields, is_plain = _fields(match["front"])
    name, description = (_text(fields.get(key)) for key in ("name", "description"))
    if not description:
        raise rejection("The front matter has no `description`.")
    own = own_fields(fields)
    lists = {key: tuple(_listed(own.get(key))) for key in LISTS}
    return SkillText(
        name=name,
        description=" ".join(description.split()),
        body=text[match.end() :].strip(),
        fields=fields,
        is_plain=is_plain and text.startswith("---\n") and "---" not in match["front"],
        version=_text(own.get("version")),
        platforms=tuple(
            _PLATFORMS.get(platform.lower(), platform.lower()) for platform in lists["platforms"]
        ),
        tags=lists["tags"],
        requires_toolsets=lists["requires_toolsets"],
        needs=needs_of(fields),
    )


def split_front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """The fields and the text below them; no fields where the text begins without front matter.

    Raises `Rejected`, kind `front_matter`, where it is broken.
    """
    match = _FRONT_MATTER.match(text)
    return (_fields(match["front"])[0], text[match.end() :]) if match else ({}, text)


def own_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under `metadata.hermes`, including those written elsewhere that belong there."""
    metadata = mapping(fields.get("metadata"))
    own = dict(mapping(metadata.get(METADATA_KEY)))
    for key in ("version", *LISTS):
        for place in (metadata, fields):
            if key in place:
                own.setdefault(key, place[key])
    return own


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping; else an empty one."""
    return value if isinstance(value, dict) else {}


def rejection(message: str) -> Rejected:
    """The error for an invalid front matter."""
    hint = "It needs `name: …` and `description: …`, each on a line of its own, and a text below."
    return Rejected(message, kind="front_matter", hint=hint)


def _fields(front: str) -> tuple[dict[str, Any], bool]:
    """The fields, and whether a strict reader accepts them."""
    try:
        return _loaded(front), _is_plain(front)
    except yaml.YAMLError as error:
        try:
            return _loaded(_quoted(front)), False
        except yaml.YAMLError:
            mark = getattr(error, "problem_mark", None)
            where = f" in line {mark.line + 2}" if mark is not None else ""
            problem = getattr(error, "problem", None) or "it is broken"
            raise rejection(f"The front matter is not YAML{where}: {problem}.") from error


def _loaded(front: str) -> dict[str, Any]:
    depth = 0
    for event in yaml.parse(front, Loader=_PARSER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise rejection(f"The front matter nests more than {MAX_DEPTH} levels deep.")
        if isinstance(event, yaml.AliasEvent):
            raise rejection("The front matter has aliases (`*name`), which skills do without.")
    loaded = yaml.load(front, Loader=_PARSER)
    if not isinstance(loaded, dict):
        raise rejection("The front matter has no fields.")
    return loaded


def _is_plain(front: str) -> bool:
    """Whether the reference reader's subset of YAML suffices: no flow collections, tags, anchors, doubles."""
    for event in yaml.parse(front, Loader=_PARSER):
        if getattr(event, "anchor", None) or (isinstance(event, yaml.NodeEvent) and _is_tagged(event)):
            return False
        if isinstance(event, yaml.CollectionStartEvent) and event.flow_style:
            return False
    return not _has_doubles(yaml.compose(front, Loader=_PARSER))


def _is_tagged(event: yaml.NodeEvent) -> bool:
    return getattr(event, "tag", None) is not None


def _has_doubles(node: Any) -> bool:
    if isinstance(node, yaml.SequenceNode):
        return any(_has_doubles(child) for child in node.value)
    if not isinstance(node, yaml.MappingNode):
        return False
    keys = [key.value for key, _ in node.value]
    return len(set(map(str, keys))) < len(keys) or any(_has_doubles(value) for _, value in node.value)


def _quoted(front: str) -> str:
    """The front matter with the plain values of its fields in quotes: colons in them break YAML, and quotes
    within quotes."""
    return "\n".join(_quoted_line(line) for line in front.splitlines())


def _quoted_line(line: str) -> str:
    match = _FIELD.fullmatch(line.rstrip())
    if match is None:
        return line
    value = match["value"]
    if value[0] in "'\"":
        if _is_quoted(value):
            return line
        value = value[1:].removesuffix(value[0])
    value = value.replace("'", "''")
    return f"{match['key']}: '{value}'"


def _is_quoted(value: str) -> bool:
    try:
        yaml.compose(value, Loader=_PARSER)
    except yaml.YAMLError:
        return False
    return True


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _listed(value: object) -> Iterator[str]:
    """The texts of a list, or of one line with commas."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    for item in items:
        if isinstance(item, str) and item.strip():
            yield item.strip()
