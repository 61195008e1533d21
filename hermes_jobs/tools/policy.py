"""Whether a command may run: the deny list, the configured allow list, and the policy for the rest."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hermes_jobs.kernel.engine.ports import ToolContext, Verdict
from hermes_jobs.text.clip import one_line
from hermes_jobs.tools.certain_values import uncertain_value
from hermes_jobs.tools.code_beside import code_beside
from hermes_jobs.tools.command_line import PUSHING, CommandLine, CommandPart
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.network import reads_from_others
from hermes_jobs.tools.command_rules.rules import Decision, rule_set
from hermes_jobs.tools.credentials import NO_KEYS, Credentials, Keys
from hermes_jobs.tools.invocations import Invocation, invocations, shown
from hermes_jobs.tools.judging_budget import Budget, Unparsable
from hermes_jobs.tools.line_rules import rule_of_line
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.plain_line import may_stay, unusual
from hermes_jobs.tools.processes import MAX_COMMAND_BYTES
from hermes_jobs.tools.raw_text import raw_denial
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import words
from hermes_jobs.tools.tool import ALLOW
from hermes_jobs.tools.unconfined_code import (
    WITHOUT_SANDBOX,
    code_of_folder,
    reads_through_link,
    runs_nothing_of_folder,
)
from hermes_jobs.tools.unconfined_questions import question_of_line

SHOWN_CHARS = 120
_CHANGE_SYSTEM = frozenset(
    ("installing or removing software", "acting as another user", "services and timers")
) | {"devices, network and accounts of the system"}
_RUNS_CODE = frozenset(
    (
        "having one program run another",
        "code on the command line that does more than compute",
        "running downloaded or unseen text",
        "running code from outside the working folder",
    )
)
"""Questions about what may run any code, where no sandbox confines it."""
LONG_CHARS = 400  # of a command whose question names the part that asks


@dataclass(frozen=True, kw_only=True)
class CommandPolicy:
    """`policy` is for dangerous commands. Unless `allow` is empty each command must match one of it.

    `is_confined`: whether a sandbox confines commands; where none does, more of them ask. `in_container`: it
    is a container, which none leaves.
    """

    paths: PathPolicy
    policy: Literal["allow", "ask", "deny"] = "ask"
    allow: tuple[str, ...] = ()
    credentials: Credentials | None = None
    is_confined: Callable[[], bool] = lambda: True
    in_container: bool = False

    def verdict(self, command: str, context: ToolContext) -> Verdict:
        """Decide on a command line: first the deny list, then `allow`, then the policy."""
        try:
            return self._judged(command, context)
        except Unparsable as error:
            return self._unreadable(command, str(error), context)

    def _judged(self, command: str, context: ToolContext) -> Verdict:
        """The verdict on a command line. Raises `Unparsable`."""
        budget = Budget()
        invocations = self._invocations(command, context, budget)
        where = self._where(command, invocations, context, budget)
        never = raw_denial(command, parsed=True) or next(iter(_met("deny", invocations, where)), None)
        if never:
            return Verdict("deny", never)
        for invocation in invocations if self.allow else ():
            if not (invocation.inner or self._is_allowed(invocation)):
                return Verdict("deny", f"terminal.allow has no pattern for `{shown(invocation)}`")
        asked = _met("ask", invocations, where)
        dangers = [*asked, *filter(None, [self._asks_of_line(invocations, where)])]
        if self.allow:  # each command matches one of its patterns
            dangers = [danger for danger in dangers if danger != PUSHING]
        if len(command) > LONG_CHARS:
            dangers = [f"{each}: {shown(asked[each])}" if each in asked else each for each in dangers]
        question = self._keys(command, invocations, where, approved=bool(dangers)).question
        if (dangers or question) and self.is_confined() and not self.in_container:
            own = self._own_credentials()
            dangers += code_beside(invocations, where, own, asks=bool(dangers))
        dangers += filter(None, [question])
        return self._dangerous("; ".join(dict.fromkeys(dangers)), context) if dangers else ALLOW

    def _own_credentials(self) -> Credentials:
        return self.credentials or Credentials(paths=self.paths)

    def line(self, command: str, context: ToolContext) -> CommandLine:
        """The parsed line, with the questions of its parts."""
        try:
            return self._line(command, context)
        except Unparsable as error:
            return CommandLine((), self._where(command, (), context, Budget()), unreadable=str(error))

    def _line(self, command: str, context: ToolContext) -> CommandLine:
        budget = Budget()
        invocations = self._invocations(command, context, budget)
        where = self._where(command, invocations, context, budget)
        parts: list[CommandPart] = []
        for invocation in invocations:
            questions = tuple(dict.fromkeys(rule_set("ask").met(invocation, where)))
            if invocation.inner and parts:  # a user's rule for the runner applies to the program that it runs
                parts[-1] = replace(parts[-1], asks=(*parts[-1].asks, *questions))
            else:
                parts.append(CommandPart(invocation, questions))
        asks = self._asks_of_line(invocations, where)
        asked = bool(asks) or any(part.asks for part in parts)
        keys = self._keys(command, invocations, where, approved=asked)
        return CommandLine(tuple(parts), where, asks=asks, shows_keys=keys.question)

    def _asks_of_line(self, invocations: Sequence[Invocation], where: CommandContext) -> str:
        """The rule that the whole line meets; empty if there is none."""
        if asks := rule_of_line(invocations, where):
            return asks
        if self.is_confined():
            return ""
        credentials = self._own_credentials()
        return question_of_line(invocations, where.workdir, credentials)

    def _where(
        self, command: str, invocations: Sequence[Invocation], context: ToolContext, budget: Budget
    ) -> CommandContext:
        activates = any(
            invocation.name in ("source", ".")
            and any(word.endswith("/bin/activate") for word in invocation.operands)
            for invocation in invocations
        )
        return CommandContext(
            context.workdir,
            self.paths,
            "$(" in command or "`" in command,
            activates,
            self.is_confined,
            budget,
            bool(context.outside),
        )

    @property
    def may_run_anything(self) -> bool:
        """Whether code of the folder is not looked for: a sandbox confines it, or the policy allows all."""
        return self.policy == "allow" or self.is_confined()

    def unconfined_code(self, command: str, context: ToolContext) -> str:
        """What of a command may run code of the folder where no sandbox confines it; empty if nothing does.

        What `allow` names may do so, but for what git runs unseen."""
        if self.may_run_anything:
            return ""
        try:
            found = self._invocations(command, context, Budget())
        except Unparsable:
            return ""  # that is a question already
        parts = [CommandPart(invocation, ()) for invocation in found]
        code = code_of_folder(
            parts, context.workdir, self._own_credentials(), only_git=bool(self.allow)
        ) or self._other_code(found, self._where(command, found, context, Budget()))
        if code:
            return f"{WITHOUT_SANDBOX}: {code}"
        may_read = "" if self.allow else self._may_read(command, found, context)
        return f"without a sandbox keys may be read: {may_read}" if may_read else ""

    def _other_code(self, found: Sequence[Invocation], where: CommandContext) -> str:
        """The command that runs other code by its words, if any."""
        asks = {} if self.allow else _met("ask", found, where)
        return next((f"`{shown(asks[name])}`" for name in asks if name in _RUNS_CODE), "")

    def _may_read(self, command: str, found: Sequence[Invocation], context: ToolContext) -> str:
        """Why a line without code of the folder may read keys."""
        if name := uncertain_value(command, found):
            return f"the value of {name} is not certain"
        if what := unusual(command):
            return f"{what} may mean something else to the shell"
        if may_stay(command, found):
            return "it is not certain that `cd` happens"
        parts = [CommandPart(invocation, ()) for invocation in found]
        return reads_through_link(parts, context.workdir, self._own_credentials())

    def origin(self, command: str, context: ToolContext) -> str:
        """The command, if it reads what others wrote on another machine, or cannot be read; else empty."""
        budget = Budget()
        try:
            found = self._invocations(command, context, budget)
            where = self._where(command, found, context, budget)
            is_outside = any(reads_from_others(invocation, where) for invocation in found)
        except Unparsable:
            is_outside = True
        return f"the command {one_line(command, SHOWN_CHARS)}" if is_outside else ""

    def typing(self, text: str, context: ToolContext) -> Verdict:
        """Decide on a text typed into a running program, which may be a shell."""
        if raw_denial(text, parsed=False):
            return Verdict("deny", raw_denial(text, parsed=False) or "")
        return self._dangerous("typing into a running program", context)

    def reach(self, command: str, context: ToolContext) -> tuple[SandboxReach, Keys]:
        """The sandbox reach of a command that runs now, and the keys that it sees.

        An approved command reaches further. The folder's code sees keys only if it is named in the question
        that was approved.
        """
        try:
            return self._reach(command, context)
        except Unparsable:
            return SandboxReach(approved=context.approved), NO_KEYS

    def _reach(self, command: str, context: ToolContext) -> tuple[SandboxReach, Keys]:
        budget = Budget()
        invocations = self._invocations(command, context, budget)
        where = self._where(command, invocations, context, budget)
        keys = self._keys(command, invocations, where, approved=context.approved)
        if not (context.approved and f"; {context.approved_rule}".endswith(f"; {keys.question}")):
            keys = keys.unapproved()
        if not context.approved:
            return SandboxReach(visible=keys.places), keys
        names = {invocation.name for invocation in invocations if invocation.name}
        asks = {*_met("ask", invocations, where), self._asks_of_line(invocations, where)}
        reach = SandboxReach(
            everything=not (self.in_container or words("secrets", "outside_sandbox").isdisjoint(names)),
            visible=None if "reading keys or passwords" in asks else keys.places,
            approved=True,
            system=self._changes_system(invocations, where),
        )
        return reach, keys

    def _changes_system(self, invocations: Sequence[Invocation], where: CommandContext) -> bool:
        """Whether programs of the line change the system, beside none that may run code of the folder."""
        own = [invocation for invocation in invocations if not invocation.inner and invocation.name]
        others = [each for each in own if _CHANGE_SYSTEM.isdisjoint(rule_set("ask").met(each, where))]
        return len(others) < len(own) and all(map(runs_nothing_of_folder, others))

    def _keys(
        self, command: str, invocations: Sequence[Invocation], where: CommandContext, *, approved: bool
    ) -> Keys:
        credentials = self._own_credentials()
        parts = [CommandPart(invocation, ()) for invocation in invocations]
        return credentials.of(parts, where.workdir, approved=approved, text=command)

    def _invocations(self, command: str, context: ToolContext, budget: Budget) -> list[Invocation]:
        if len(command) > MAX_COMMAND_BYTES:
            raise Unparsable(f"it is longer than {MAX_COMMAND_BYTES:,} characters")
        own_job = {"!": "%+"}  # job control's name of the last background job
        variables = {"HOME": self.paths.user_home, "PWD": context.workdir, "IFS": " ", **own_job}
        return invocations(command, context.workdir, variables, budget)

    def _unreadable(self, command: str, reason: str, context: ToolContext) -> Verdict:
        never = raw_denial(command, parsed=False)
        if never:
            return Verdict("deny", never)
        if self.allow:
            return Verdict("deny", f"terminal.allow: the command cannot be checked, {reason}")
        return self._dangerous(f"a command that cannot be checked: {reason}", context)

    def _dangerous(self, rule: str, context: ToolContext) -> Verdict:
        if self.policy == "allow":
            return ALLOW
        if self.policy == "ask" and context.attended:
            return Verdict("ask", rule)
        reason = "terminal.policy is deny" if self.policy == "deny" else "nobody can be asked in this turn"
        return Verdict("deny", f"{rule}, and {reason}")

    def _is_allowed(self, invocation: Invocation) -> bool:
        """Whether one pattern matches the command as written; its program must be known."""
        if UNKNOWN in invocation.name:
            return False
        text = " ".join(invocation.words)
        return any(re.match(fnmatch.translate(pattern), text) for pattern in self.allow)


def _met(
    decision: Decision, invocations: Sequence[Invocation], context: CommandContext
) -> dict[str, Invocation]:
    """The names of all matching rules of the line, each with its first command."""
    rules = rule_set(decision)
    found: dict[str, Invocation] = {}
    for invocation in invocations:
        for name in rules.met(invocation, context):
            found.setdefault(name, invocation)
    return found
