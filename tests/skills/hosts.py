"""A host with a home of its own over a shared log, and what people and the agent do there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hermes_jobs.bootstrap import NullDispatcher
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.features.skills.catalog import SkillCatalog
from hermes_jobs.features.skills.skill_folder import SkillFolder
from hermes_jobs.features.skills.write_request import SkillWriteRequest
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.decision import DecisionResult
from hermes_jobs.system.clock import SystemClock
from hermes_jobs.system.ids import RandomIds


class Host:
    """One host: `root` is its home's `skills/`."""

    def __init__(
        self, log: EventLog, folder: Path, *, external: Sequence[Path] = (), guard: bool = True
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.log = log
        self.root = folder / "skills"
        self.engine = Engine(
            log=log,
            worker=folder.name,
            clock=SystemClock(),
            ids=RandomIds(),
            dispatcher=NullDispatcher(),
        )
        self.home = SkillFolder(self.engine, self.root, folder / "skills.lock", folder / "shown")
        self.shelf = SkillCatalog(self.home, external, guard=guard, platform="linux")

    def ask(self, action: skills_events.SkillAction, name: str, **request: str | bool) -> DecisionResult:
        """The agent asks for a write; files follow."""
        asked = SkillWriteRequest(
            name=name,
            request=skills_events.SkillRequest(action=action, **request),  # type: ignore[arg-type]
            author="turn",
            evidence=memory_events.Evidence(session="s1", turn="t1", call="t1-1-0"),
        )
        changed = self.engine.change(self.shelf.writing(asked), "test")
        self.home.sync()
        return changed

    def create(self, name: str, body: str = "Do it.", category: str = "") -> DecisionResult:
        """The agent creates a skill."""
        return self.ask("create", name, content=skill_text(name, body), category=category)

    def put(self, path: str, content: str | bytes) -> Path:
        """A person writes a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def read(self, path: str) -> str:
        """What a file says."""
        return (self.root / path).read_text(encoding="utf-8")

    def files(self) -> dict[str, bytes]:
        """All files of skills that lie there."""
        return {
            str(file.relative_to(self.root)): file.read_bytes()
            for file in sorted(self.root.rglob("*"))
            if file.is_file() and not file.name.startswith(".")
        }

    def facts(self, name: str) -> list[e.Event]:
        """What the log holds of a skill."""
        return [recorded.event for recorded in self.log.read(f"skill-{name}")]

    def agrees(self) -> bool:
        """Whether the files are what the log has."""
        from hermes_jobs.features.skills.content import content_of

        wanted = {
            "/".join(part for part in (skill.category, skill.name, path) if part): content_of(file)
            for skill in self.home.sync().values()
            for path, file in skill.files.items()
        }
        return wanted == self.files()


def skill_text(name: str, body: str = "Do it.", description: str = "What it is for.") -> str:
    """A strict SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"
