"""The system prompt: which sections it has, in which order, built once a session and then frozen."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from hermes_jobs.agent.prompt.guidance import guidance_for
from hermes_jobs.agent.prompt.project_files import project_context
from hermes_jobs.domain.delivery import SILENT
from hermes_jobs.domain.events import Opening, SessionStarted
from hermes_jobs.domain.session.session import Session
from hermes_jobs.engine.ports import Clock, ToolSpec
from hermes_jobs.errors import Rejected

IDENTITY = """\
You are Hermes, a personal agent. You help the person you work for with whatever they ask: questions,
files, commands, plans. Be direct and exact, and say so when you do not know something."""
_TERMINAL = "Your answer is shown in a terminal. Plain text or light Markdown reads best."
_MESSENGER = "Your answer is shown in a messenger, as it is: plain text without Markdown reads best."
PLATFORM = {"cli": _TERMINAL, "chat": _TERMINAL, "telegram": _MESSENGER}
SCHEDULED = f"""\
You run by a schedule: nobody is there to answer a question or to allow anything, and your final answer is
delivered as it stands. Where it would hold nothing that anybody needs to hear, answer exactly {SILENT}"""

Tools = Callable[[Sequence[str] | None], Sequence[ToolSpec]]
"""The tools of these toolsets, null: of the configured ones, as `Toolbox.specs` tells them."""

Block = Callable[[Session], str]
"""A section that another part writes for a session, such as what it remembers; empty: none."""


class SessionPrompt:
    """Builds a session's prompt; `blocks` stand after the caller's message, before the project's words.

    `zone` is where days begin; null for this machine's.
    """

    def __init__(
        self,
        *,
        soul: Path,
        default_model: str,
        workdir: str | None,
        clock: Clock,
        zone: tzinfo | None = None,
        tools: Tools,
        blocks: Sequence[Block] = (),
    ) -> None:
        self._soul = soul
        self._default_model = default_model
        self._workdir = workdir
        self._clock = clock
        self._zone = zone
        self._tools = tools
        self._blocks = tuple(blocks)

    def start(self, session: Session) -> SessionStarted:
        """The session's start, its prompt frozen. Raises `Rejected` where `SOUL.md` cannot be read."""
        opening = session.opening or Opening()
        source = session.current.source if session.current else "cli"
        workdir = opening.workdir or self._workdir
        today = datetime.fromtimestamp(self._clock.now(), UTC).astimezone(self._zone)
        sections = (
            self._identity(),
            opening.system or "",
            *(block(session) for block in self._blocks),
            f"Working folder: {workdir}" if workdir else "",
            project_context(workdir),
            guidance_for([spec.name for spec in self._tools(opening.toolsets)]),
            f"Today is {today:%A, %d %B %Y}.",
            SCHEDULED if opening.kind == "scheduled" else PLATFORM.get(source, ""),
        )
        return SessionStarted(
            session=session.id,
            kind=opening.kind,
            source=source,
            model=opening.model or self._default_model,
            system_prompt=normalised("\n\n".join(section for section in sections if section.strip())),
            workdir=workdir,
            toolsets=opening.toolsets,
        )

    def _identity(self) -> str:
        try:
            return self._soul.read_text("utf-8").strip() or IDENTITY
        except FileNotFoundError:
            return IDENTITY
        except (OSError, UnicodeDecodeError) as error:
            raise Rejected(f"{self._soul.name} cannot be read: {error}.", kind="prompt") from error


def normalised(text: str) -> str:
    """Lines that end in one way, without blanks at their ends; one newline at the end of all."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"[ \t]+$", "", lines, flags=re.MULTILINE).strip("\n") + "\n"
