"""Rules for calls of the terminal: which commands a pattern names, allows, or may be offered for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.events import CallPattern
from hermes_jobs.kernel.streams.approval_rules import CODE
from hermes_jobs.tools.code_approvals import code_allowed
from hermes_jobs.tools.tool import Arguments, CallRules
from hermes_jobs.tools.unconfined_code import WITHOUT_SANDBOX

if TYPE_CHECKING:
    from hermes_jobs.tools.policy import CommandPolicy


class CommandRules(CallRules):
    """Rules for commands: the whole text, each program of a line by its words, or all code of a folder."""

    group = CODE

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
        if calls.tool == CODE:
            return bool(self.asks_unconfined(arguments, context))
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
        patterns = [pattern for pattern in patterns if pattern.tool != CODE]
        asks_about_code = self._asks_about_code(arguments, context)
        if asks_about_code:
            patterns = [each for each in patterns if each.answers is None or WITHOUT_SANDBOX in each.answers]
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
        return line.allowed_by(others, everyday_runs=not asks_about_code and _everyday_runs(context))

    def asks_unconfined(self, arguments: Arguments, context: ToolContext) -> str:
        """See `CallRules.asks_unconfined`."""
        code = self._policy.unconfined_code(arguments["command"], context)
        if code or not arguments.get("background") or self._policy.may_run_anything or self._policy.allow:
            return code
        return "without a sandbox keys may be read: it goes on while later commands change its files"

    def is_always_asked(self, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.is_always_asked`."""
        return self._policy.line(arguments["command"], context).is_always_asked

    def offer(self, tool: str, arguments: Arguments, context: ToolContext) -> CallPattern | None:
        """See `CallRules.offer`."""
        command: str = arguments["command"]
        line = self._policy.line(command, context)
        asks_about_code = self._asks_about_code(arguments, context)
        if asks_about_code and line.asks_nothing and _asks_by_itself(context):
            return CallPattern(tool=CODE, pattern="*", folder=context.workdir)
        everyday_runs = not asks_about_code and _everyday_runs(context)
        offer = line.offer(command, context.workdir, everyday_runs=everyday_runs)
        if offer is None or offer.exact or not asks_about_code:
            return offer
        return replace(offer, answers=(*(offer.answers or ()), WITHOUT_SANDBOX))

    def _asks_about_code(self, arguments: Arguments, context: ToolContext) -> bool:
        """Whether the call asks because no sandbox confines it."""
        allowed = code_allowed(context.permissions, context.workdir)
        return not allowed and bool(self.asks_unconfined(arguments, context))


def _everyday_runs(context: ToolContext) -> bool:
    """Whether commands without a question run by themselves."""
    return context.attended and context.permissions.mode == "ask"


def _asks_by_itself(context: ToolContext) -> bool:
    """Whether neither the mode nor a user's rule may ask about commands, too."""
    return context.permissions.mode == "ask" and all(one.ruling != "ask" for one in context.permissions.rules)


def _is_exactly(calls: CallPattern, arguments: Arguments) -> bool:
    command: str = arguments["command"]
    return calls.exact and calls.pattern == command.strip()
