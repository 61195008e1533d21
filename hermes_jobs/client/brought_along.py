"""What imports would let the agent do here, of their events and of the files of a backup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.features.skills.events import SkillFile
    from hermes_jobs.features.skills.rules.skill import Files
    from hermes_jobs.kernel.engine.imported_rights import ImportedRights
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.settings import Paths

_RUNS = "runs as part of hermes-jobs, with your rights"


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that would allow more, or reach a prompt: what it is, and what it does. `suspected`: the scan
    takes its text for an attack."""

    what: str
    detail: str
    suspected: bool = False


def of_events(rights: ImportedRights, log: EventLog, *, resume: bool) -> Iterator[Brought]:
    """What the imported events bring, which are in that log alone."""
    from hermes_jobs.kernel.streams.approval_rules import pattern_text
    from hermes_jobs.kernel.turns.session import lineage_of

    for rule in rights.allowing:
        where = rule.calls.folder or "anywhere"
        yield Brought(
            what=f"rule {rule.number}",
            detail=f"allow {pattern_text(rule.calls)}, {where}; off until `approvals accept {rule.number}`",
        )
    for stream, words in rights.sessions.items():
        if words:
            yield Brought(what=f"session {lineage_of(stream)}", detail=f"{'; '.join(words)}; withdrawn")
    yield from _of_schedules(log, "goes on at once" if resume else "paused")
    if resume and (due := log.steps()):
        yield Brought(what="work", detail=f"{pluralize(len(due), 'step')} that were due go on at once")
    yield from _of_memory(log)
    yield from _of_skills(log)
    for paragraph in rights.prompts:
        yield from _suspected("system prompt of a session", paragraph)


def _of_schedules(log: EventLog, outlook: str) -> Iterator[Brought]:
    from hermes_jobs.features.schedules.rules.schedule import PREFIX, Schedule
    from hermes_jobs.kernel.streams.streams import fold, initial_state

    for head in log.streams(PREFIX):
        schedule = fold(initial_state(head.stream), (recorded.event for recorded in log.read(head.stream)))
        assert isinstance(schedule, Schedule)
        if (plan := schedule.plan) is not None and not schedule.removed:
            yield Brought(
                what="schedule",
                detail=f"{plan.name} ({plan.timing}), to {', '.join(plan.deliver)}; {outlook}: {plan.text}",
            )


def _of_memory(log: EventLog) -> Iterator[Brought]:
    from hermes_jobs.features.memory.rules.memory import STREAM, Memory, fold

    if log.head(STREAM) is None:
        return
    memory = fold(Memory(stream=STREAM), (recorded.event for recorded in log.read(STREAM)))  # type: ignore[misc]  # events of the memory's stream
    entries = (*memory.entries("memory"), *memory.entries("user"))
    if entries:
        yield Brought(what="memory", detail=f"{pluralize(len(entries), 'entry', 'entries')} of every prompt")
    for entry in entries:
        yield from _suspected("memory entry", entry)


def _of_skills(log: EventLog) -> Iterator[Brought]:
    from hermes_jobs.features.skills.rules.skill import PREFIX, Skill
    from hermes_jobs.kernel.streams.streams import fold, initial_state

    for head in log.streams(PREFIX):
        skill = fold(initial_state(head.stream), (recorded.event for recorded in log.read(head.stream)))
        assert isinstance(skill, Skill)
        if skill.exists:
            yield from _of_skill(skill.name, skill.files)


def _of_skill(name: str, files: Files) -> Iterator[Brought]:
    from hermes_jobs.features.skills.guard import concerns_of

    yield Brought(what="skill", detail=f"{name}, {pluralize(len(files), 'file')}")
    for concern in concerns_of(files):
        detail = f"line {concern.line}: {concern.rule}: {concern.excerpt}"
        yield Brought(
            what=f"skill {name}/{concern.path}", detail=detail, suspected=concern.severity == "dangerous"
        )


def of_files(names: Iterable[str], folder: Path, paths: Paths) -> Iterator[Brought]:
    """What the files of a backup bring, which were unpacked into the folder."""
    skills: dict[str, dict[str, SkillFile]] = {}
    for name in names:
        top = name.split("/")[0]
        if name == paths.config.name:
            yield from _of_config(folder / name)
        elif top == paths.plugins.name:
            yield Brought(what="plugin", detail=f"{name} {_RUNS}")
        elif top == paths.skills.name:
            _add_skill_file(skills, name, folder)
        else:
            text = _text(folder / name)
            yield Brought(what=top.removesuffix(".md"), detail=f"{name}, {len(text):,} characters of prompts")
            yield from _suspected(name, text)
    for name, files in skills.items():
        yield from _of_skill(name, files)


def _add_skill_file(skills: dict[str, dict[str, SkillFile]], name: str, folder: Path) -> None:
    from hermes_jobs.features.skills.content import as_file

    _, *middle, last = name.split("/")
    skills.setdefault("/".join(middle[:2]), {})["/".join((*middle[2:], last))] = as_file(
        (folder / name).read_bytes()
    )


def _of_config(file: Path) -> Iterator[Brought]:
    from hermes_jobs.settings.yaml_text import YamlError, read

    try:
        value = read(_text(file)).value
    except YamlError as error:
        yield Brought(what="config.yaml", detail=f"it cannot be read: {error}", suspected=True)
        return
    for key, setting in _flat(value, ""):
        yield Brought(what="config.yaml", detail=f"{key} = {setting}")


def _flat(value: object, prefix: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value and prefix.count(".") < 4:
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    elif prefix and value is not None:
        yield prefix, value


def _text(file: Path) -> str:
    return file.read_text("utf-8", errors="replace")


def _suspected(what: str, text: str) -> Iterator[Brought]:
    from hermes_jobs.text.scan.scanner import scan

    for finding in scan(text):
        detail = f"{finding.rule}: {finding.excerpt}"
        yield Brought(what=what, detail=detail, suspected=finding.severity == "dangerous")
