"""Writes SKILL.md strictly, so that every reader of https://agentskills.io accepts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills.front_matter import (
    LISTS,
    METADATA_KEY,
    SkillText,
    mapping,
    own_fields,
    read,
    rejection,
)
from hermes_jobs.features.skills.names import is_written

MAX_DESCRIPTION = 1_024
MAX_COMPATIBILITY = 500
MAX_CHARACTERS = 100_000
MAX_FILE_BYTES = 1 << 20
STANDARD = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")


def strict(text: str, name: str) -> str:
    """The text in strict form for the skill of that name; unchanged if it is strict. Raises `Rejected`."""
    skill = _checked(text, name)
    if not _is_strict(skill):
        text = f"---\n{_front(skill)}---\n\n{skill.body}\n"
    if len(text) > MAX_CHARACTERS:
        raise Rejected(
            f"SKILL.md would have {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed.",
            kind="skill_size",
            hint="Move detail into files under references/.",
        )
    return text


def checked_file(path: str, content: str) -> str:
    """Check the size of a support file's content. Raises `Rejected`."""
    size = len(content.encode("utf-8", "replace"))
    if size > MAX_FILE_BYTES:
        raise Rejected(
            f"{path} would have {size:,} bytes; at most {MAX_FILE_BYTES:,} are allowed.",
            kind="skill_size",
            hint="Split it.",
        )
    return content


def _checked(text: str, name: str) -> SkillText:
    if len(text) > MAX_CHARACTERS * 2:
        raise Rejected(f"SKILL.md has {len(text):,} characters.", kind="skill_size", hint="Shorten it.")
    skill = read(text)
    if skill.name != name:
        problem = f"says `name: {skill.name}`" if skill.name else "has no `name`"
        raise rejection(f"The front matter {problem}; the skill is called {name}.")
    if len(skill.description) > MAX_DESCRIPTION:
        raise rejection(
            f"The description has {len(skill.description):,} characters; {MAX_DESCRIPTION:,} are allowed."
        )
    if not skill.body:
        raise rejection("There is no text below the front matter.")
    compatibility = skill.fields.get("compatibility", "")
    if not isinstance(compatibility, str) or len(compatibility) > MAX_COMPATIBILITY:
        raise rejection(f"`compatibility` is a text of at most {MAX_COMPATIBILITY} characters.")
    return skill


def _is_strict(skill: SkillText) -> bool:
    fields = skill.fields
    texts = (fields.get(key, "-") for key in ("name", "description", "license", "compatibility"))
    return (
        skill.is_plain
        and set(fields) <= set(STANDARD)
        and all(isinstance(text, str) and text.strip() for text in texts)
        and isinstance(fields["description"], str)
        and len(fields["description"]) <= MAX_DESCRIPTION
        and isinstance(fields.get("metadata", {}), dict)
        and not {"version", *LISTS} & set(mapping(fields.get("metadata")))
        and is_written(skill.name)
    )


def _front(skill: SkillText) -> str:
    """The front matter, its fields in the standard's order, unknown ones under `metadata`."""
    metadata = dict(mapping(skill.fields.get("metadata")))
    foreign = {key: value for key, value in skill.fields.items() if key not in STANDARD}
    for key in ("version", *LISTS):
        metadata.pop(key, None)
        foreign.pop(key, None)
    metadata = {**foreign, **metadata, METADATA_KEY: {**own_fields(skill.fields), **_lists(skill)}}
    fields = {key: skill.fields.get(key) for key in STANDARD} | {
        "name": skill.name,
        "description": skill.description,
        "metadata": metadata,
    }
    dumped = yaml.dump(
        _without_empty(fields),
        Dumper=_Dumper,
        default_flow_style=False,
        allow_unicode=True,
        sort_keys=False,
        width=float("inf"),
    )
    return dumped.replace("---", "-\\x2d-")  # only in double quotes: the end mark is nowhere else


def _lists(skill: SkillText) -> Mapping[str, list[str]]:
    return {
        "platforms": [*skill.platforms],
        "tags": [*skill.tags],
        "requires_toolsets": [*skill.requires_toolsets],
    }


def _without_empty(value: Any) -> Any:
    """The value without empty collections, which strict readers refuse."""
    if isinstance(value, dict):
        pruned = {str(key): _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in pruned.items() if item not in (None, "", [], {})}
    if isinstance(value, list):
        return [item for item in map(_without_empty, value) if item not in (None, "", [], {})]
    return value


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, and quotes text that looks like the end of the front matter."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if "---" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
