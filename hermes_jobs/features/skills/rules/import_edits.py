"""Converts a person's edits of a skill's files in one home into events.

| the file on disk   | and                           | then                                           |
|--------------------|-------------------------------|------------------------------------------------|
| is as in the log   |                               | nothing                                        |
| is different       | it is the base of the edit    | nothing: it is only outdated                   |
|                    | the log has no such file      | it is imported as it is                        |
|                    | the log has one               | both are merged over the base                  |
| is missing         | it was there, as in the log   | it was removed                                 |
|                    | else                          | it has not been written there yet              |

The base is found from the file's earlier contents (`hermes_jobs.folders.hand_edits`). If these are unknown, a
former content in the log is only outdated, and the base of anything else is the most similar former content.
A missing folder is a deleted skill, by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from hermes_jobs.features.skills import events as e
from hermes_jobs.features.skills.events import SkillFile
from hermes_jobs.features.skills.rules.skill import MAIN_FILE, Files, Skill, changes
from hermes_jobs.folders.hand_edits import Content, base_of
from hermes_jobs.text.three_way_merge import conflicts, is_conflict, merge, nearest

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)

REMEMBERED = 10  # recent writes that are searched for an import of the same content


class FolderFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The importable files of a skill's folder, and the category that the folder is in."""

    category: str
    files: Files


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """The former contents of a file, newest last; the version of the skill at the newest of these."""

    contents: tuple[Content[SkillFile], ...]
    followed: int
    saved_at: int


NO_HOLDINGS: Mapping[str, Holding] = {}


def import_edits(
    skill: Skill,
    folder: FolderFiles | None,
    *,
    past: Sequence[Skill],
    laid_out: Skill | None,
    holdings: Mapping[str, Holding] = NO_HOLDINGS,
) -> tuple[e.SkillWritten, ...]:
    """The events that a person's edits result in. `found` None: there is no folder. `past` is the skill at
    each of its versions, `laid_out` the one that was last written into this home, None if none was;
    `holdings` are the known former contents of each file.
    """
    if folder is None:
        is_deleted = laid_out is not None and laid_out.files == skill.files
        return changes(skill, {}, author="hand_edit") if is_deleted else ()
    if not skill.exists:
        fresh = [path for path, file in folder.files.items() if _base(path, file, past, holdings) != file]
        files = folder.files if fresh else {}
        return changes(skill, files, author="hand_edit", category=folder.category)
    merges = {
        path: _file(path, skill, folder, past, laid_out, holdings) for path in {*skill.files, *folder.files}
    }
    files = {path: merge.file for path, merge in merges.items() if merge.file is not None}
    conflicts = [path for path, merge in merges.items() if merge.conflict]
    category = folder.category if _was_moved(folder, past, laid_out) else None
    return changes(skill, files, author="hand_edit", category=category, conflicts=conflicts)


def _was_moved(folder: FolderFiles, past: Sequence[Skill], laid_out: Skill | None) -> bool:
    """Whether a person moved the folder; else it is where the skill once was."""
    if laid_out is not None and laid_out.exists:
        return folder.category != laid_out.category
    return all(earlier.category != folder.category for earlier in past if earlier.exists)


class _Merge(msgspec.Struct, frozen=True):
    """The merged file, None if removed; and whether both sides changed the same lines."""

    file: SkillFile | None
    conflict: bool = False


def _file(
    path: str,
    skill: Skill,
    folder: FolderFiles,
    past: Sequence[Skill],
    laid_out: Skill | None,
    holdings: Mapping[str, Holding],
) -> _Merge:
    now, there = skill.files.get(path), folder.files.get(path)
    if there == now:
        return _Merge(now)
    if there is None:
        was = laid_out.files.get(path) if laid_out is not None else None
        return _Merge(None if was == now and path != MAIN_FILE else now)
    base = _base(path, there, past, holdings)
    if base == there:
        return _Merge(now)
    if now is None or now.base64 or there.base64:
        return _Merge(there, conflict=base not in (None, now))
    texts = (base.content if base is not None and not base.base64 else "", now.content, there.content)
    return _Merge(SkillFile(_brought_together(path, *texts)), is_conflict(*texts))


def _base(
    path: str, there: SkillFile, past: Sequence[Skill], holdings: Mapping[str, Holding]
) -> SkillFile | None:
    """The base of the edit; the file itself if it is only outdated, None if it is new."""
    before = [earlier.files[path] for earlier in past if path in earlier.files]
    holding = holdings.get(path)
    if holding is not None and holding.contents:
        since = [earlier.files.get(path) for earlier in past[holding.followed + 1 :]]
        if there in since and past[holding.followed].files.get(path) != there:
            return there  # a process wrote it and died before it could record that
        saved = Content(there, holding.saved_at)
        base = base_of(holding.contents, saved, nearest=_nearest, shares=_shares)
        if base is not None:
            return base
    if is_stale(path, there, past):
        return there
    return _nearest(before, there) if before else None


def _nearest(files: Sequence[SkillFile], to: SkillFile) -> SkillFile:
    """The file with the most lines in common, the last among equals."""
    text = nearest((file.content for file in files), to.content)
    return next(file for file in reversed(files) if file.content == text)


def _shares(newest: SkillFile, older: SkillFile, saved: SkillFile) -> bool:
    lines = set(newest.content.splitlines()) - set(older.content.splitlines())
    return any(line.strip() and line in lines for line in saved.content.splitlines())


def is_stale(path: str, file: SkillFile, past: Sequence[Skill]) -> bool:
    """Whether the log has or had the file with this content, or imported it before."""
    if any(earlier.files.get(path) == file for earlier in past):
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
    if before is None or after is None or any(version.base64 for version in (file, before, after)):
        return False
    base = nearest(
        dict.fromkeys(earlier.files[path].content for earlier in past if path in earlier.files), file.content
    )
    return _brought_together(path, base or "", before.content, file.content) == after.content


def _brought_together(path: str, base: str, now: str, there: str) -> str:
    if path != MAIN_FILE:
        return merge(base, now, there)
    # Two values of one field would make the front matter invalid: the person's is used.
    fronts, bodies = zip(*(_parted(text) for text in (base, now, there)), strict=True)
    return conflicts(*fronts) + merge(*bodies)


def _parted(text: str) -> tuple[str, str]:
    """The front matter with its marks, and the body."""
    match = _FRONT.match(text)
    end = match.end() if match else 0
    return text[:end], text[end:]
