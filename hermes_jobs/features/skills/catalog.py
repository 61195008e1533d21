"""All skills of an agent: the home's, those in read-only folders, and the bundled ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import front_matter
from hermes_jobs.features.skills.content import UnusableText
from hermes_jobs.features.skills.disk import LOWER_CASE, Disk, Problem, SkillPlace
from hermes_jobs.features.skills.events import SkillFile, SkillRequest
from hermes_jobs.features.skills.front_matter import NO_NEEDS, Available, Needs, SkillText, platform_name
from hermes_jobs.features.skills.installation import InstallCandidate, install
from hermes_jobs.features.skills.names import is_read, unknown_skill
from hermes_jobs.features.skills.refusals import last_refused
from hermes_jobs.features.skills.rules.skill import MAIN_FILE, Files, Skill
from hermes_jobs.features.skills.skill_folder import SkillFolder
from hermes_jobs.features.skills.write_request import (
    REFUSED,
    SkillWriteRequest,
    allow_write,
    approve_proposal,
    deny_proposal,
    restore_skill,
    undo_writes,
    write_skill,
)
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult
from hermes_jobs.kernel.streams.streams import combine


class SkillEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A readable skill. `folder` is its folder on this host; `paths` are its files other than SKILL.md.

    `text` None: its front matter cannot be read, and `problem` says why. `skill` None: it is not the home's.
    `is_bundled`: it is part of hermes-jobs.
    """

    place: SkillPlace
    folder: Path
    main: str
    paths: tuple[str, ...]
    text: SkillText | None
    problem: str
    skill: Skill | None = None
    is_bundled: bool = False

    @property
    def name(self) -> str:
        """Its name for tools and commands."""
        return self.place.name

    def hidden(self, toolsets: Collection[str] | None, platform: str) -> str:
        """Why it is not listed for an agent with these toolsets (None: any); empty if it is."""
        if self.skill is not None and self.skill.is_archived:
            return "it is archived; to undo its last write takes that back"
        if self.text is None:
            return self.problem
        if self.text.platforms and platform not in self.text.platforms:
            return f"it is made for {', '.join(self.text.platforms)}, and this is {platform}"
        missing = () if toolsets is None else set(self.text.requires_toolsets) - set(toolsets)
        if missing:
            return f"it needs the toolsets {', '.join(sorted(missing))}, which are off"
        return ""


class SkillCatalog:
    """The skills of one home and of further folders, as they are now. Safe for many threads.

    The home's come first, then the folders in their order, then the bundled ones: the first skill of a
    name is used. Methods raise `LogUnavailable`.
    """

    def __init__(
        self,
        home: SkillFolder,
        folders: Sequence[Path] = (),
        *,
        bundled: Path | None = None,
        guard: bool = True,
        platform: str | None = None,
        machine: Available | None = None,
    ) -> None:
        self._home = home
        self._folders = [Disk(folder) for folder in folders]
        self._bundled = Disk(bundled) if bundled is not None else None
        self._with_program: tuple[SkillEntry, ...] | None = None
        self._guard = guard
        self.platform = platform or platform_name()
        self.machine = machine or Available()

    # --- reading --------------------------------------------------------------------------------

    def preview(self) -> SkillCatalog:
        """The skills for commands that only read: users' edits are shown, and not imported."""
        reading = copy(self)
        reading._home = self._home.preview()  # noqa: SLF001 - it is one of these
        return reading

    def read_entries(self) -> tuple[tuple[SkillEntry, ...], tuple[Problem, ...]]:
        """Every skill by name, and the problems of unusable folders."""
        home = self._home
        entries = {name: _of_home(home, skill) for name, skill in home.sync().items()}
        problems = [*home.problems]
        for folder in self._folders:
            for skill_entry in _in_folder(folder, problems):
                entries.setdefault(skill_entry.name, skill_entry)
        for skill_entry in self._bundled_skills():
            entries.setdefault(skill_entry.name, skill_entry)
        problems += [Problem(str(entry.place), entry.problem) for entry in entries.values() if entry.problem]
        return tuple(entries[name] for name in sorted(entries)), tuple(problems)

    def find(self, name: str) -> SkillEntry:
        """The skill of that name. Raises `Rejected`, kind `unknown_skill`."""
        entries, _ = self.read_entries()
        entry = next((entry for entry in entries if entry.name == name.strip()), None)
        if entry is None:
            raise unknown_skill(name, (entry.name for entry in entries))
        return entry

    def file(self, entry: SkillEntry, path: str) -> SkillFile:
        """One file of a skill. Raises `Rejected`, kind `skill_path`."""
        if path in ("", MAIN_FILE):
            return SkillFile(entry.main)
        if path in entry.paths:
            if entry.skill is not None:
                return entry.skill.files[path]
            try:
                return Disk(entry.folder.parent).file(SkillPlace("", entry.folder.name), path)
            except UnusableText as error:
                raise Rejected(
                    f"{path} of {entry.name} cannot be used: {error}.", kind="skill_path"
                ) from error
        there = ", ".join(entry.paths) or "none besides SKILL.md"
        raise Rejected(
            f"The skill {entry.name} has no file {path[:200]!r}.",
            kind="skill_path",
            hint=f"Its files are: {there}.",
        )

    def lacking(self, entry: SkillEntry) -> Needs:
        """The skill's requirements that this machine lacks."""
        return NO_NEEDS if entry.text is None else self.machine.lacks(entry.text.needs)

    def proposals(self) -> tuple[Skill, ...]:
        """The home's skills with writes that wait for approval, also skills that do not exist yet."""
        home = self._home
        home.sync()
        return tuple(skill for skill in home.all_known() if skill.proposals)

    def past(self, name: str) -> Skill:
        """The home's skill of that name, also a deleted one. Raises `Rejected`."""
        home = self._home
        home.sync()
        names = [skill.name for skill in home.all_known()]
        if name not in names:
            raise unknown_skill(name, names)
        return home.cached_skill(name)

    # --- writing --------------------------------------------------------------------------------

    def of_home(self) -> Mapping[str, Skill]:
        """The home's own skills by name, the only writable ones."""
        return self._home.sync()

    def all_known(self) -> tuple[Skill, ...]:
        """Every skill that the home ever had, after importing users' edits."""
        self._home.sync()
        return self._home.all_known()

    def change(self, change: Decision, cause: str, *, by: str = "") -> DecisionResult:
        """Carry out a user's change of the home's skills; `by` is who asks for it. Raises `Rejected`."""
        return self._home.change(change, cause, by=by)

    def writing(self, write: SkillWriteRequest) -> Decision:
        """The change for an agent's request. Raises `Rejected` for a request that this host refuses."""
        self.check(write)
        return write_skill(write, guard=self._guard)

    def check(self, write: SkillWriteRequest) -> None:
        """Raise `Rejected` for a request that this host refuses."""
        home = self._home
        home.sync()
        if not is_read(write.name) and write.request.action != "create":
            raise unknown_skill(write.name, (skill.name for skill in home.all_known()))
        skill = home.cached_skill(write.name)
        if not skill.exists:
            self._refuse_foreign(write.name)
            if write.request.action != "create":
                self._refuse_bundled(write.name)
                raise unknown_skill(write.name, home.sync())
        _refuse_nested(write, [other for other in home.all_known() if other.exists])
        blocked = home.why_blocked(write.name, write.request.path or MAIN_FILE)
        if blocked is not None:
            path = write.request.path or MAIN_FILE
            raise Rejected(f"{path} of {write.name} cannot be written: {blocked}.", kind="skill_path")

    def approve(self, name: str, number: int | None = None, *, by: str = "user") -> DecisionResult:
        """Approve a proposed write. Raises `Rejected`."""
        return self._home.change(approve_proposal(self.past(name).name, number, by), "skills approve")

    def allow(self, name: str) -> DecisionResult:
        """Make the newest write of a skill that the guard refused. Raises `Rejected`."""
        refused_write = last_refused(self._home.log, name, REFUSED)
        if refused_write is None:
            raise Rejected(
                f"No write of a skill {name!r} was refused by the guard.",
                kind="no_proposal",
                hint="`hermes-jobs skills list` shows what waits; without --anyway that is approved.",
            )
        write = SkillWriteRequest(
            name=name, request=refused_write.request, author="turn", evidence=refused_write.evidence
        )
        self.check(write)
        return self._home.change(allow_write(write), "skills approve")

    def install(
        self,
        before: Skill,
        candidate: InstallCandidate,
        files: Files,
        *,
        category: str = "",
        rules: tuple[str, ...] = (),
    ) -> DecisionResult:
        """Install a candidate as the skill `before`, with these `files`. Raises `Rejected`."""
        request = SkillRequest(action="create", category=category)
        self.check(SkillWriteRequest(name=before.name, request=request, author="user"))
        decision = install(before, candidate, files, category=category, rules=rules)
        return self._home.change(decision, "skills install")

    def states(self, name: str) -> tuple[Skill, ...]:
        """The home's skill of that name at each of its versions, from version 0 on."""
        self._home.sync()
        return self._home.past(name)

    def deny(self, name: str, number: int | None = None, *, by: str = "user") -> DecisionResult:
        """Deny a proposed write. Raises `Rejected`."""
        return self._home.change(deny_proposal(self.past(name).name, number, by), "skills deny")

    def undo(
        self, name: str, to: int | None = None, *, also: Sequence[Decision] = (), by: str = ""
    ) -> DecisionResult:
        """Undo the last write of a skill, or all since its version `to`, with the other events of the same
        append. Raises `Rejected`."""
        skill = self.past(name)
        if to is None:
            changes = [undo_writes(skill.name), *also]
            return self._home.change(combine(changes, all_or_none=True), "skills undo", by=by)
        states = self.states(skill.name)
        if to >= len(states):
            raise Rejected(
                f"The skill {name!r} has no version {to}.",
                kind="usage",
                hint=f"See `hermes-jobs skills log {name}`.",
            )
        changes = [restore_skill(skill.name, states[to]), *also]
        return self._home.change(combine(changes, all_or_none=True), "skills undo", by=by)

    def sync(self) -> None:
        """Import users' edits, and write the files from the log. Raises `LogUnavailable`."""
        self._home.sync()

    def _bundled_skills(self) -> tuple[SkillEntry, ...]:
        """Read once: the program's own files stay as they are while it runs."""
        if self._bundled is None:
            return ()
        if self._with_program is None:
            read = _in_folder(self._bundled, [])
            self._with_program = tuple(replace(entry, is_bundled=True) for entry in read)
        return self._with_program

    def _refuse_bundled(self, name: str) -> None:
        if any(entry.name == name for entry in self._bundled_skills()):
            raise Rejected(
                f"The skill {name} comes with this program, and is only read.",
                kind="skill_read_only",
                hint="Create a skill of that name: it takes its place.",
            )

    def _refuse_foreign(self, name: str) -> None:
        """Refuse a name that is taken by an unusable folder."""
        for problem in self._home.problems:
            if name in problem.path.split("/"):
                raise Rejected(
                    f"In {self._home.root} something lies in the way: {problem}.",
                    kind="skill_read_only",
                    hint="Give the skill another name, or ask the user to put it right.",
                )
        for folder in self._folders:
            for entry in _in_folder(folder, []):
                if entry.name == name:
                    raise Rejected(
                        f"The skill {name} lies in {entry.folder}, which is only read.",
                        kind="skill_read_only",
                        hint="Write a skill of another name that says what to do differently.",
                    )


def _refuse_nested(write: SkillWriteRequest, skills: Sequence[Skill]) -> None:
    """Refuse a skill in the folder of another."""
    category = write.request.category or ""
    if category in {skill.name for skill in skills if not skill.category}:
        raise Rejected(
            f"{category!r} is a skill, and cannot be a category.", kind="skill_name", hint="Name another one."
        )
    if write.request.action == "create" and not category and write.name in {s.category for s in skills}:
        raise Rejected(
            f"{write.name!r} is a category of skills, and cannot be a skill.",
            kind="skill_name",
            hint="Give the skill another name, or a category.",
        )


def _of_home(home: SkillFolder, skill: Skill) -> SkillEntry:
    place = SkillPlace(skill.category, skill.name)
    paths = tuple(sorted(set(skill.files) - {MAIN_FILE}))
    return _volume(home.root, place, skill.main, paths, skill)


def _in_folder(disk: Disk, problems: list[Problem]) -> list[SkillEntry]:
    """The skills of a read-only folder; an unreadable one is a problem."""
    try:
        places, skill_places = disk.places(links=True)
    except OSError as error:
        problems.append(Problem(str(disk.root), f"it cannot be read ({error.strerror})"))
        return []
    problems += [Problem(str(disk.root / problem.path), problem.reason) for problem in skill_places]
    entries = []
    for place in places:
        try:
            main, paths = _main_of(disk, place)
            entries.append(_volume(disk.root, place, main, paths, None))
        except (UnusableText, OSError) as error:
            problems.append(Problem(str(disk.root / str(place)), str(error)))
    return entries


def _main_of(disk: Disk, place: SkillPlace) -> tuple[str, tuple[str, ...]]:
    paths = disk.paths(place)
    name = MAIN_FILE if MAIN_FILE in paths else LOWER_CASE
    return disk.file(place, name).content, tuple(path for path in paths if path != name)


def _volume(
    root: Path, place: SkillPlace, main: str, paths: tuple[str, ...], skill: Skill | None
) -> SkillEntry:
    skill_text: SkillText | None = None
    problem = ""
    try:
        skill_text = front_matter.read(main)
    except Rejected as rejection:
        problem = rejection.message
    return SkillEntry(
        place=place,
        folder=root / str(place),
        main=main,
        paths=paths,
        text=skill_text,
        problem=problem,
        skill=skill,
    )


def by_category(entries: Sequence[SkillEntry]) -> Mapping[str, tuple[SkillEntry, ...]]:
    """The skills of each category, "" first, in order."""
    categories = sorted({entry.place.category for entry in entries})
    return {
        category: tuple(entry for entry in entries if entry.place.category == category)
        for category in categories
    }
