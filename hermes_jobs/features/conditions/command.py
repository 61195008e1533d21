"""Runs a condition's command: under the rules, in the sandbox and within the time of the tool `terminal`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from hermes_jobs.features.conditions.changes import AFTER, BEFORE, SeenStore
from hermes_jobs.features.conditions.events import Checked, Condition
from hermes_jobs.kernel.engine.ports import Cancel, StepInterrupted, ToolContext, Verdict
from hermes_jobs.kernel.events import CallPattern
from hermes_jobs.kernel.streams.approval_rules import COMMANDS, ApprovalRule, Permissions
from hermes_jobs.system.isolation import LOOKS_FOR_CHANGES
from hermes_jobs.tools.output import clean
from hermes_jobs.tools.permissions import judge
from hermes_jobs.tools.terminal import Terminal, TerminalOptions, check_workdir
from hermes_jobs.tools.tool import ToolFailed, ToolRefused

Rules = Callable[[], tuple[ApprovalRule, ...]]
"""The standing rules of the user."""


class ConditionCommand:
    """Runs conditions. `ids` names calls, `redact` removes secrets from output."""

    def __init__(
        self,
        options: TerminalOptions,
        *,
        rules: Rules,
        seen: SeenStore,
        ids: Callable[[str], str],
        redact: Callable[[str], str],
    ) -> None:
        self._options = options
        self._rules = rules
        self._seen = seen
        self._ids = ids
        self._redact = redact

    def question(self, command: str, folder: str, approve: Sequence[CallPattern] = ()) -> str:
        """What a person has to approve before the command may run unattended; empty for nothing.

        The person's rules hold, and what they `approve` besides. Raises `ToolRefused` for a command that
        never runs.
        """
        allowed = Permissions(rules=self._rules(), turn=tuple(approve))
        context = self._context(folder, allowed)
        verdict = self._verdict(command, replace(context, attended=True))
        if verdict.decision == "deny":
            raise ToolRefused(verdict.rule)
        return verdict.rule if verdict.decision == "ask" else ""

    def run(self, condition: Condition, caller: str, seen: str, cancel: Cancel) -> Checked:
        """Run it for that caller, whose last accepted run has `seen` that state of files.

        Raises `StepInterrupted`.
        """
        context = self._context(condition.folder, self._permissions(condition))
        verdict = self._verdict(condition.command, context)
        if verdict.decision == "deny":
            return Checked(problem=f"It may not run: {verdict.rule}.")
        if verdict.approved:
            context = replace(context, approved=True, approved_rule=condition.asked)
        with TemporaryDirectory(prefix="hermes-condition-") as folder:
            Path(folder, BEFORE).write_bytes(self._seen.read(caller, seen))
            checked = self._completed(condition, context, folder, cancel)
            after = Path(folder, AFTER)
            if checked.ruling != "run" or not after.exists():
                return checked
            digest = self._seen.keep(caller, after.read_bytes(), beside=seen)
        return Checked(status=checked.status, output=checked.output, seen=digest)

    def _completed(self, condition: Condition, context: ToolContext, folder: str, cancel: Cancel) -> Checked:
        options, seconds = self._options, self._options.timeout
        path = f"{options.environ.get('PATH', '')}:{_own_command(folder)}"
        terminal = Terminal(
            changed(
                options,
                granted={**options.granted, LOOKS_FOR_CHANGES: folder, "PATH": path},
                sandbox=changed(options.sandbox, writable=(*options.sandbox.writable, folder)),
            )
        )
        try:
            check_workdir(condition.folder)
            completed, _, _ = terminal.complete(context, cancel, condition.command, seconds)
        except (ToolFailed, ToolRefused) as error:
            return Checked(problem=self._redact(str(error)))
        if completed.interrupted:
            raise StepInterrupted
        output = self._redact(clean(completed.output))
        if completed.timed_out:
            return Checked(problem=f"It was killed after {seconds:g} s.", output=output)
        if completed.exit_code is None:
            return Checked(problem="It was killed.", output=output)
        return Checked(status=completed.exit_code, output=output)

    def _permissions(self, condition: Condition) -> Permissions:
        """Rules only restrict, as in a schedule's turn; the approval is of this command in its folder."""
        command, folder = condition.command.strip(), condition.folder
        pattern = CallPattern(tool=COMMANDS, pattern=command, exact=True, folder=folder)
        rules = tuple(rule for rule in self._rules() if rule.ruling != "allow")
        return Permissions(rules=rules, turn=(pattern,) if condition.approved else ())

    def _context(self, folder: str, permissions: Permissions) -> ToolContext:
        return ToolContext(
            session="",
            turn="",
            call=self._ids("k"),
            workdir=folder,
            attended=False,
            lineage="conditions",
            permissions=permissions,
        )

    def _verdict(self, command: str, context: ToolContext) -> Verdict:
        return judge(Terminal(self._options).tools[0], {"command": command}, context)


def _own_command(folder: str) -> str:
    """A folder with the command `hermes-jobs`, for environments whose PATH lacks it."""
    bin_folder = Path(folder, "bin")
    bin_folder.mkdir()
    command = bin_folder / "hermes-jobs"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m hermes_jobs "$@"\n')
    command.chmod(0o755)
    return str(bin_folder)
