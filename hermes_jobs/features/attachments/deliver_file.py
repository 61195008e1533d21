"""The `deliver_file` tool: a file of the agent goes to the user, with the answer of its turn."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import Cancel, File, ToolContext, ToolOutcome, Verdict
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.text.figures import file_size
from hermes_jobs.tools.files import PathRules, opened_file, path_of
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.terminal import check_workdir
from hermes_jobs.tools.tool import Arguments, Tool, ToolFailed, tool

TOOLSET = "deliver"
MAX_BYTES = 50_000_000
"""What Telegram takes from a bot (https://core.telegram.org/bots/api#senddocument)."""


class DeliverFile(msgspec.Struct, frozen=True, eq=False):
    """The tool. `keep` stores a file durably: a repeated call stores the same content once."""

    paths: PathPolicy
    keep: Callable[[File, Cancel], Attachment]

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tool, under the rules of `read_file`."""
        rules = PathRules(self.paths, "read", writes=False)
        make = tool(
            toolset=TOOLSET, effect="read", reads=path_of, guard=self._guard, rules=rules, offered=_has_user
        )
        return (make(self.deliver_file),)

    def _guard(self, arguments: Arguments, context: ToolContext) -> Verdict:
        return self.paths.verdict(arguments["path"], context, writes=False)

    def deliver_file(
        self,
        context: ToolContext,
        cancel: Cancel,
        path: Annotated[str, "Absolute, or relative to the working folder."],
    ) -> ToolOutcome:
        """Hand a file over to the user, as it is now, together with your answer.

        For what the user should have: a report, a plot, a table, an archive. It is not shown to you.
        """
        if context.depth:
            raise ToolFailed(
                "your answer goes to another agent: name the path, and it can hand the file over."
            )
        check_workdir(context.workdir)
        real = self.paths.to_read(path, context.workdir)
        self.paths.check_approved(real, context, writes=False)
        with os.fdopen(opened_file(path, real), "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if not content:
            raise ToolFailed(f"{path} is empty.")
        if len(content) > MAX_BYTES:
            raise ToolFailed(f"{path} has more than {file_size(MAX_BYTES)}, the most that is handed over.")
        kept = self.keep(File(Path(path).name, content), cancel)
        delivered = e.FilesDelivered(turn=context.turn, call=context.call, attachments=(kept,))
        return ToolOutcome(content=f"The user gets it with your answer: {kept.about}.", events=(delivered,))


def _has_user(session: Session) -> bool:
    """Whether its answers go to a user: those of a sub-agent go to another agent. A fork of that agent has
    its tools, byte for byte."""
    is_child = session.opening is not None and session.opening.kind == "child"
    return not is_child or session.forked_from is not None
