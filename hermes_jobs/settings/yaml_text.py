"""YAML of `config.yaml`: the 1.2 core rules, each key's line, edits that keep every other byte.

PyYAML reads YAML 1.1, where `on` is true, `12:30` is 750, and the second of two equal keys silently wins.
This module alone works around that. It is imported only when there is YAML to read.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node

_CORE_SCALARS = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    "float": (r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
}
_RARE_BREAKS = re.compile("[\x85\u2028\u2029\ufeff]")
_DEEPEST = 3
"""The number of levels of keys in a configuration; deeper content is a value."""


class YamlError(ValueError):
    """Invalid YAML, or content that a configuration must not have; `line` and `column` count from 1."""

    def __init__(self, problem: str, line: int = 1, column: int = 1) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.column = column


class CannotEdit(ValueError):
    """The text is written in a form that this module cannot edit in one place."""


class Document(NamedTuple):
    """A parsed text: its value, and the line of each key by its path."""

    value: Any
    lines: dict[tuple[str, ...], int]


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML reads it from the class

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        if self.check_event(yaml.AliasEvent):
            place = _place(self.get_event().start_mark)  # type: ignore[no-untyped-call]
            raise YamlError("an alias (*name) has no place here; write the value out", *place)
        node: Node | None = super().compose_node(parent, index)
        return node


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML reads it from the class


for _name, (_pattern, _first) in _CORE_SCALARS.items():
    for _user in (_Loader, _Dumper):
        _user.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"(?:{_pattern})$"), _first)


def read(text: str) -> Document:
    """Parse a text. Raises `YamlError`, also for duplicate keys."""
    root = _compose(text)
    lines = dict(_lines(root, ()))
    return Document(_construct(root), lines)


def write(value: object) -> str:
    """Return a value in one line, valid at any place of a YAML text."""
    plain, escaped = (
        str(yaml.dump([value], Dumper=_Dumper, default_flow_style=True, width=10**9, allow_unicode=as_it_is))
        for as_it_is in (True, False)
    )
    # YAML breaks lines at characters that are not line breaks elsewhere.
    listed = escaped if _RARE_BREAKS.search(plain) else plain
    return listed.strip("\n")[1:-1]


def replace(text: str, path: tuple[str, ...], value: object) -> str:
    """Return the text with `path` set to `value` and all else unchanged, comments included.

    Raises `YamlError` for an invalid text, `CannotEdit` if other content would change too.
    """
    expected = _assigned(read(text).value, path, value)
    edited = _edited(text, _compose(text), path, value)
    try:
        reached = read(edited).value
    except YamlError as error:
        raise CannotEdit(error.problem) from error
    if reached != expected:
        raise CannotEdit("the change would alter other keys")
    return edited


def remove(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the key at `path`, and without the sections that this leaves empty.

    All else is unchanged; a section that holds a comment stays. Returns the text itself where the key is not
    there. Raises `YamlError` for an invalid text, `CannotEdit` if other content would change too.
    """
    before = read(text).value
    chain = _pairs(_compose(text), path)
    if len(chain) < len(path):
        return text
    depth = len(chain) - 1
    while (
        depth and len(chain[depth][0].value) == 1 and not _has_comment(text, chain[depth - 1], chain[depth])
    ):
        depth -= 1
    edited = _cut_out(text, *chain[depth])
    try:
        reached = read(edited).value
    except YamlError as error:
        raise CannotEdit(error.problem) from error
    if _without_empty(reached or {}) != _without_empty(_unassigned(before, path)):
        raise CannotEdit("the change would alter other keys")
    return edited


def _pairs(root: Node | None, path: tuple[str, ...]) -> list[tuple[MappingNode, int]]:
    """The mappings on the way to a key, each with the index of the pair that leads on."""
    chain: list[tuple[MappingNode, int]] = []
    node = root
    for name in path:
        if not isinstance(node, MappingNode):
            break
        index = next((at for at, (key, _) in enumerate(node.value) if key.value == name), None)
        if index is None:
            break
        chain.append((node, index))
        node = node.value[index][1]
    return chain


def _has_comment(text: str, section: tuple[MappingNode, int], inside: tuple[MappingNode, int]) -> bool:
    """Whether there is a comment between a section's name and its first key."""
    (outer, at), (mapping, first) = section, inside
    return "#" in text[outer.value[at][0].end_mark.index : mapping.value[first][0].start_mark.index]


def _cut_out(text: str, mapping: MappingNode, index: int) -> str:
    """Without one pair: its lines in a block, its place in the list in `{…}`."""
    key, node = mapping.value[index]
    start, end = key.start_mark.index, _end(node)
    if mapping.flow_style:
        if index + 1 < len(mapping.value):
            end = mapping.value[index + 1][0].start_mark.index
        elif index:
            start = _end(mapping.value[index - 1][1])
        return text[:start] + text[end:]
    start = text.rfind("\n", 0, start) + 1
    if text[end - 1 : end] != "\n":
        line_end = text.find("\n", end)
        end = len(text) if line_end < 0 else line_end + 1
    return text[:start] + text[end:]


def _unassigned(tree: Any, path: tuple[str, ...]) -> Any:
    tree = deepcopy(tree)
    branch = tree
    for name in path[:-1]:
        branch = branch[name]
    del branch[path[-1]]
    return tree


def _without_empty(tree: Any) -> Any:
    """The tree without empty sections, which have no effect."""
    if not isinstance(tree, dict):
        return tree
    remaining = {name: _without_empty(value) for name, value in tree.items()}
    return {name: value for name, value in remaining.items() if value is not None and value != {}}


def _compose(text: str) -> Node | None:
    try:
        loader = _Loader(text)
        node: Node | None = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise _broken(error) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position].split("\n")
        raise YamlError("a character that YAML does not allow", len(before), len(before[-1]) + 1) from error
    except RecursionError as error:
        raise YamlError("nested too deeply") from error
    return node


def _construct(root: Node | None) -> Any:
    if root is None:
        return None
    try:
        return _Loader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        raise _broken(error) from error
    except ValueError as error:
        raise YamlError("a number that is too long") from error


def _broken(error: yaml.MarkedYAMLError) -> YamlError:
    return YamlError(error.problem or "cannot be read", *_place(error.problem_mark or error.context_mark))


def _place(mark: yaml.Mark | None) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _lines(node: Node | None, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    if not isinstance(node, MappingNode) or len(above) > _DEEPEST:
        return
    seen: set[str] = set()
    for key, value in node.value:
        name = str(key.value)
        if name in seen:
            raise YamlError(f"{'.'.join((*above, name))} stands here a second time", *_place(key.start_mark))
        seen.add(name)
        yield (*above, name), key.start_mark.line + 1
        yield from _lines(value, (*above, name))


def _assigned(tree: Any, path: tuple[str, ...], value: object) -> Any:
    tree = deepcopy(tree) if tree is not None else {}
    branch = tree
    for name in path[:-1]:
        if not isinstance(branch, dict):
            break
        if branch.get(name) is None:
            branch[name] = {}
        branch = branch[name]
    if not isinstance(branch, dict):
        raise CannotEdit("a section is written as a single value")
    branch[path[-1]] = value
    return tree


def _edited(text: str, root: Node | None, path: tuple[str, ...], value: object) -> str:
    """Replace the deepest existing part of the path, or insert the missing part."""
    if not isinstance(root, MappingNode):
        separator = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{separator}{_block(path, value, 0)}\n"
    mapping = root
    for depth, name in enumerate(path):
        pair = next(((key, node) for key, node in mapping.value if key.value == name), None)
        if pair is None:
            return _inserted(text, mapping, path[depth:], value)
        key, node = pair
        if depth == len(path) - 1 or not isinstance(node, MappingNode):
            return _overwritten(text, key, node, write(_nested(path[depth + 1 :], value)))
        mapping = node
    raise AssertionError("a path has at least one part")


def _nested(path: tuple[str, ...], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _block(path: tuple[str, ...], value: object, indent: int) -> str:
    lines = [f"{' ' * (indent + 2 * depth)}{name}:" for depth, name in enumerate(path)]
    return "\n".join(lines) + f" {write(value)}"


def _inserted(text: str, mapping: MappingNode, path: tuple[str, ...], value: object) -> str:
    if mapping.flow_style:
        at = mapping.start_mark.index + 1
        separator = ", " if mapping.value else ""
        return f"{text[:at]}{path[0]}: {write(_nested(path[1:], value))}{separator}{text[at:]}"
    block = _block(path, value, mapping.start_mark.column)
    last = _end(mapping)
    if text[last - 1] == "\n":
        return f"{text[:last]}{block}\n{text[last:]}"
    line_end = text.find("\n", last)
    if line_end < 0:
        return f"{text}\n{block}\n"
    return f"{text[:line_end]}\n{block}{text[line_end:]}"


def _overwritten(text: str, key: Node, node: Node, written: str) -> str:
    start, end = node.start_mark.index, _end(node)
    if text[end - 1] == "\n":
        written += "\n"
    if start == end:
        return f"{text[:start]} {written}{text[end:]}"
    colon, _, gap = text[key.end_mark.index : start].partition(":")
    if "\n" in gap:
        # The old value was below its key; the new one is on its line, before any comment.
        return f"{text[: key.end_mark.index]}{colon}: {written}{gap.rstrip()}{text[end:]}"
    return f"{text[:start]}{written}{text[end:]}"


def _end(node: Node) -> int:
    """Return the end of a node's text; a block collection's own end mark is after the comments that follow
    it.
    """
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, MappingNode) else last)
    index: int = node.end_mark.index
    return index
