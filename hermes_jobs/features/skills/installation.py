"""Installs skills from other sources: candidates, merges with local changes, and events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import events as e
from hermes_jobs.features.skills import front_matter
from hermes_jobs.features.skills.disk import Disk, Problem, SkillPlace
from hermes_jobs.features.skills.names import is_ignored, is_read
from hermes_jobs.features.skills.rules.skill import MAIN_FILE, Files, Skill, changes, evolve
from hermes_jobs.features.skills.sources import FetchedSkill
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.text.three_way_merge import is_conflict, merge

MAX_LEVELS = 5  # depth of the search for skills


class InstallCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that can be installed. `problems`: the unusable files in its folder."""

    name: str
    description: str
    files: Files
    origin: e.SkillOrigin
    problems: tuple[Problem, ...] = ()


def digest(files: Files) -> str:
    """The SHA-256 of a skill's files, with their paths."""
    hasher = sha256()
    for path, file in sorted(files.items()):
        hasher.update(msgspec.json.encode((path, file.base64, file.content)))
    return hasher.hexdigest()


def find_candidates(fetched: FetchedSkill) -> list[InstallCandidate]:
    """The fetched skills, by name. Raises `Rejected` if there is none that can be read."""
    top = fetched.folder / fetched.path
    if not top.resolve().is_relative_to(fetched.folder.resolve()) or not top.is_dir():
        raise Rejected(f"There is no folder {fetched.path!r} in {fetched.source}.", kind="usage")
    folders = [top] if _has_main(top) else sorted(_folders(top, MAX_LEVELS))
    all_candidates = [_candidate(fetched, folder) for folder in folders]
    if not all_candidates:
        raise Rejected(
            f"There is no skill in {fetched.source}.",
            kind="usage",
            hint="A skill is a folder with a SKILL.md: https://agentskills.io",
        )
    return sorted(all_candidates, key=lambda item: item.name)


def _has_main(folder: Path) -> bool:
    return (folder / MAIN_FILE).is_file() or (folder / MAIN_FILE.lower()).is_file()


def _folders(top: Path, levels: int) -> Iterator[Path]:
    if levels == 0:
        return
    for path in top.iterdir():
        if path.is_symlink() or not path.is_dir() or is_ignored(path.name):
            continue
        if _has_main(path):
            yield path
        else:
            yield from _folders(path, levels - 1)


def _candidate(fetched: FetchedSkill, folder: Path) -> InstallCandidate:
    real = folder.resolve()
    read = Disk(real.parent).read(SkillPlace("", real.name))
    assert read is not None, f"{folder} has a SKILL.md"
    if MAIN_FILE not in read.files:
        reason = next(
            (problem.reason for problem in read.problems if problem.path == MAIN_FILE), "it cannot be read"
        )
        raise Rejected(f"{folder.name}/{MAIN_FILE}: {reason}.", kind="usage")
    text = front_matter.read(read.files[MAIN_FILE].content)
    path = "" if folder == fetched.folder else str(folder.relative_to(fetched.folder))
    return InstallCandidate(
        name=text.name if is_read(text.name) else real.name,
        description=text.description,
        files=read.files,
        origin=e.SkillOrigin(
            source=fetched.source, path=path, revision=fetched.revision, digest=digest(read.files)
        ),
        problems=read.problems,
    )


def choose(
    all_candidates: Sequence[InstallCandidate], names: Sequence[str], *, everything: bool
) -> list[InstallCandidate]:
    """The candidates of these names, or the only one. Raises `Rejected` if the choice is ambiguous."""
    all_names = ", ".join(candidate.name for candidate in all_candidates)
    missing = [name for name in names if name not in {candidate.name for candidate in all_candidates}]
    if missing:
        raise Rejected(
            f"There is no skill {missing[0]!r} there.", kind="usage", hint=f"There are: {all_names}."
        )
    if names:
        return [candidate for candidate in all_candidates if candidate.name in names]
    if len(all_candidates) > 1 and not everything:
        raise Rejected(
            f"There are {len(all_candidates)} skills: {all_names}.",
            kind="usage",
            hint="Choose with --skill NAME, several times if you like, or take --all.",
        )
    return list(all_candidates)


def is_same_place(one: e.SkillOrigin, other: e.SkillOrigin) -> bool:
    """Whether a skill from the first source is updated from the second."""
    return (one.source, one.path) == (other.source, other.path)


def merge_update(base: Files, own_files: Files, their_files: Files) -> tuple[Files, tuple[str, ...]]:
    """The three-way merge of the installed files (`base`), the user's and the source's; and the conflicting
    files, for which the source's are used."""
    unchanged = {
        path: _merged_file(base.get(path), own_files.get(path), their_files.get(path))
        for path in {*base, *own_files, *their_files}
    }
    conflicts = tuple(sorted(path for path, (_, clash) in unchanged.items() if clash))
    return {path: file for path, (file, _) in sorted(unchanged.items()) if file is not None}, conflicts


def _merged_file(
    was: e.SkillFile | None, here: e.SkillFile | None, there: e.SkillFile | None
) -> tuple[e.SkillFile | None, bool]:
    """The merged file, None: removed; and whether there was a conflict."""
    if here in (was, there):
        return there, False
    if there == was:
        return here, False
    if was is None or here is None or there is None or any(file.base64 for file in (was, here, there)):
        return there, True
    texts = (was.content, here.content, there.content)
    return (there, True) if is_conflict(*texts) else (e.SkillFile(merge(*texts)), False)


def installed_files(past: Sequence[Skill]) -> Files:
    """The files of a skill as installed: the newest state with the digest of its origin, else none."""
    origin = past[-1].origin
    if origin is None:
        return {}
    return next(
        (previous.files for previous in reversed(past) if digest(previous.files) == origin.digest), {}
    )


def check_replaceable(skill: Skill, origin: e.SkillOrigin) -> None:
    """Raise `Rejected` if there is a skill of that name from another source."""
    if not skill.exists or (skill.origin is not None and is_same_place(skill.origin, origin)):
        return
    whence = "was written here" if skill.origin is None else f"comes from {skill.origin.source}"
    raise Rejected(
        f"There is a skill {skill.name} already, which {whence}.",
        kind="skill_name",
        hint="Install it under another name: --name NAME.",
    )


def install(
    before: Skill,
    candidate: InstallCandidate,
    files: Files,
    *,
    category: str = "",
    rules: tuple[str, ...] = (),
) -> Decision:
    """The change that installs a candidate as the skill `before`, with `files` as its final state.

    The original files are written first, so that a later update can detect local changes. `rules`: the
    guard's findings that the user accepted. The change raises `Rejected`.
    """

    def change(load: StateLoader) -> DecisionResult:
        skill: Skill = load(before.stream)
        if skill.version != before.version:
            message = f"The skill {skill.name} was changed meanwhile."
            raise Rejected(message, kind="conflict", hint="Look again, and repeat it.")
        check_replaceable(skill, candidate.origin)
        came = e.SkillInstalled(
            name=skill.name,
            files=candidate.files,
            category=skill.category if skill.exists else category,
            origin=candidate.origin,
            rules=rules,
            author="user",
        )
        events = (came, *changes(evolve(skill, came), files, author="user"))
        return DecisionResult.of(skill.stream, *events, answer="installed")

    return change
