"""A look at files from elsewhere before anybody uses them as a skill."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hermes_jobs.agent.skills import front_matter
from hermes_jobs.agent.skills.content import Unusable
from hermes_jobs.agent.skills.disk import Disk, Place, Problem
from hermes_jobs.agent.skills.guard import Concern, Verdict, concerns_of, verdict
from hermes_jobs.domain.skill.skill import MAIN_FILE
from hermes_jobs.errors import Rejected


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """What the guard says of a file or a folder."""

    path: str
    verdict: Verdict
    concerns: tuple[Concern, ...]


def examined(path: Path) -> Examined:
    """The guard's verdict on a skill's folder, or on one file. Raises `Rejected`, kind `usage`."""
    if path.is_dir():
        return _folder(path)
    if not path.is_file():
        raise Rejected(
            f"There is no file or folder {str(path)!r}.",
            kind="usage",
            hint="Give a skill's folder or a file.",
        )
    try:
        file = Disk(path.parent).file(Place("", ""), path.name)
    except Unusable as error:
        raise Rejected(f"{path} cannot be scanned: {error}.", kind="usage") from error
    return _result(path, concerns_of({path.name: file}))


def _folder(path: Path) -> Examined:
    real = path.resolve()
    try:
        found = Disk(real.parent).read(Place("", real.name))
    except OSError as error:
        raise Rejected(f"{path} cannot be scanned: {error.strerror}.", kind="usage") from error
    if found is None:
        return _result(path, (_of(Problem(MAIN_FILE, "the folder is empty")),))
    concerns = (*map(_of, found.problems), *concerns_of(found.files))
    if MAIN_FILE not in found.files:
        return _result(path, (*concerns, _of(Problem(MAIN_FILE, "there is none, so this is no skill"))))
    try:
        front_matter.read(found.files[MAIN_FILE].content)
    except Rejected as refused:
        concerns = (*concerns, _of(Problem(MAIN_FILE, refused.message)))
    return _result(path, concerns)


def _of(problem: Problem) -> Concern:
    return Concern(
        rule="cannot be used", severity="caution", path=problem.path, line=1, excerpt=problem.reason
    )


def _result(path: Path, concerns: tuple[Concern, ...]) -> Examined:
    return Examined(path=str(path), verdict=verdict(concerns), concerns=concerns)
