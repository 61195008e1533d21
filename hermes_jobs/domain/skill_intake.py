"""What a person did to the files of a skill in one home, as facts.

| a file lies there      | and                             | then                                          |
|------------------------|---------------------------------|-----------------------------------------------|
| as the log has it      |                                 | nothing                                       |
| as the log once had it |                                 | it is stale, and no edit                      |
| in any other form      | the log has none                | it is taken as it is                          |
|                        | the log has one                 | both are merged over the nearest form that    |
|                        |                                 | the log once had                              |
| not                    | it lay there as the log has it  | it was removed                                |
|                        | else                            | it has not been written there yet             |

A folder that is gone is a skill that was deleted, by the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.events import SkillFile
from hermes_jobs.domain.skill import MAIN_FILE, Files, Skill, changes
from hermes_jobs.domain.skill_merge import merged, nearest, overridden

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)

REMEMBERED = 10  # writes of a file among which the taking in of what lies there is looked for


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a skill's folder that can be taken in, and the category that it lies in."""

    category: str
    files: Files


def taken_in(
    skill: Skill, found: Found | None, *, past: Sequence[Skill], laid_out: Skill | None
) -> tuple[e.SkillWritten, ...]:
    """The facts that a person's edits come to. `found` null: there is no folder.

    `past` is the skill at each of its versions, `laid_out` the one that was last written into this home, null
    where none was.
    """
    if found is None:
        gone = laid_out is not None and laid_out.files == skill.files
        return changes(skill, {}, author="hand_edit") if gone else ()
    if not skill.exists:
        fresh = [path for path, file in found.files.items() if not is_stale(path, file, past)]
        files = found.files if fresh else {}
        return changes(skill, files, author="hand_edit", category=found.category)
    files = dict(_files(skill, found, past, laid_out))
    category = found.category if _was_moved(found, past, laid_out) else None
    return changes(skill, files, author="hand_edit", category=category)


def _was_moved(found: Found, past: Sequence[Skill], laid_out: Skill | None) -> bool:
    """Whether a person put the folder where it lies; else it lies where the skill once was."""
    if laid_out is not None and laid_out.exists:
        return found.category != laid_out.category
    return all(each.category != found.category for each in past if each.exists)


def _files(
    skill: Skill, found: Found, past: Sequence[Skill], laid_out: Skill | None
) -> Iterator[tuple[str, SkillFile]]:
    for path in {*skill.files, *found.files}:
        file = _file(path, skill, found, past, laid_out)
        if file is not None:
            yield path, file


def _file(
    path: str, skill: Skill, found: Found, past: Sequence[Skill], laid_out: Skill | None
) -> SkillFile | None:
    """The file as it is to be from here on; null: it is to be no more."""
    now, there = skill.files.get(path), found.files.get(path)
    if there == now:
        return now
    if there is None:
        was = laid_out.files.get(path) if laid_out is not None else None
        return None if was == now and path != MAIN_FILE else now
    if is_stale(path, there, past):
        return now
    if now is None or now.base64 or there.base64:
        return there
    return SkillFile(_brought_together(path, now.content, there.content, past))


def is_stale(path: str, file: SkillFile, past: Sequence[Skill]) -> bool:
    """Whether the log had the file so at some time, or has taken it in, so, before."""
    if any(each.files.get(path) == file for each in past):
        return True
    writes = [
        (version, before.files.get(path), after.files.get(path))
        for version, (before, after) in enumerate(pairwise(past), start=1)
        if before.files.get(path) != after.files.get(path)
    ]
    return any(
        _is_merge_of(path, file, before, after, past[:version])
        for version, before, after in writes[-REMEMBERED:]
    )


def _is_merge_of(
    path: str, file: SkillFile, before: SkillFile | None, after: SkillFile | None, past: Sequence[Skill]
) -> bool:
    if before is None or after is None or any(each.base64 for each in (file, before, after)):
        return False
    return _brought_together(path, before.content, file.content, past) == after.content


def _brought_together(path: str, now: str, there: str, past: Sequence[Skill]) -> str:
    texts = [each.files[path].content for each in past if path in each.files]
    base = nearest(dict.fromkeys(texts), to=there) or ""
    if path != MAIN_FILE:
        return merged(base, now, there)
    # Two values of one field would be no front matter: there the person's stands.
    fronts, bodies = zip(*(_parted(text) for text in (base, now, there)), strict=True)
    return overridden(*fronts) + merged(*bodies)


def _parted(text: str) -> tuple[str, str]:
    """The front matter with its marks, and the body."""
    match = _FRONT.match(text)
    end = match.end() if match else 0
    return text[:end], text[end:]
