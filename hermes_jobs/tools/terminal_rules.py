"""Rules for calls of the terminal: which commands a pattern names, allows, or may be offered for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.events import CallPattern
from hermes_jobs.tools.tool import Arguments, CallRules

if TYPE_CHECKING:
    from hermes_jobs.tools.policy import CommandPolicy


class CommandRules(CallRules):
    """Rules for commands: the whole text, or each program of a line by its words."""

    def __init__(self, policy: CommandPolicy) -> None:
        self._policy = policy

    def only_reads(self, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.only_reads`."""
        return self._policy.line(arguments["command"], context).only_reads()

    def leaves_all_as_it_is(self, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.leaves_all_as_it_is`. What starts in the background is still there afterwards."""
        return not arguments["background"] and self.only_reads(arguments, context)

    def is_named(self, calls: CallPattern, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.is_named`. An unparsable command matches every pattern."""
        if _is_exactly(calls, arguments):
            return True
        line = self._policy.line(arguments["command"], context)
        return bool(line.unreadable) or line.is_named_by(calls)

    def allowed_by(
        self, patterns: Sequence[CallPattern], arguments: Arguments, context: ToolContext
    ) -> tuple[CallPattern, ...]:
        """See `CallRules.allowed_by`."""
        line = self._policy.line(arguments["command"], context)
        if line.shows_keys:
            return ()
        here = os.path.realpath(context.workdir)  # a relative path in it has another meaning in a subfolder
        exactly = tuple(
            pattern
            for pattern in patterns
            if _is_exactly(pattern, arguments)
            and (not pattern.folder or os.path.realpath(pattern.folder) == here)
        )[:1]
        others = [pattern for pattern in patterns if not pattern.exact]
        if exactly or not others:
            return exactly
        return line.allowed_by(others, everyday_runs=_everyday_runs(context))

    def asks_unattended(self, arguments: Arguments, context: ToolContext) -> str:
        """See `CallRules.asks_unattended`."""
        return self._policy.unconfined_code(arguments["command"], context)

    def is_always_asked(self, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.is_always_asked`."""
        return self._policy.line(arguments["command"], context).is_always_asked

    def offer(self, tool: str, arguments: Arguments, context: ToolContext) -> CallPattern | None:
        """See `CallRules.offer`."""
        command: str = arguments["command"]
        line = self._policy.line(command, context)
        return line.offer(command, context.workdir, everyday_runs=_everyday_runs(context))


def _everyday_runs(context: ToolContext) -> bool:
    """Whether commands without a question run by themselves."""
    return context.attended and context.permissions.mode == "ask"


def _is_exactly(calls: CallPattern, arguments: Arguments) -> bool:
    command: str = arguments["command"]
    return calls.exact and calls.pattern == command.strip()
