"""Whether a call needs approval: its tool's verdict, users' rules, the mode, and earlier approvals.

From strong to weak: commands that are never run, a deny rule, plan mode, approvals for this turn or
session, an ask rule, an allow rule, the mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ToolContext, Verdict
from hermes_jobs.kernel.events import CallPattern, Ruling
from hermes_jobs.kernel.streams.approval_rules import CODE, COMMANDS, ApprovalRule, pattern_text
from hermes_jobs.tools.code_approvals import code_allowed
from hermes_jobs.tools.inside import real_path_inside
from hermes_jobs.tools.tool import ALLOW, Arguments, Tool

EDITS = "edit"
PLANNING = frozenset({"todo"})
"""Tools that only write notes."""

PLAN = Verdict(
    "deny",
    "plan mode: nothing is changed",
    advice="Continue with what only reads, and say in your answer what you would do; the user decides.",
)
UNCONFINED_ADVICE = (
    "Do not try to get around it. Tell the user: it runs with a sandbox (`hermes-jobs doctor` says why "
    "there is none), with `terminal.backend: docker`, with a rule or `--approve` for this command or for "
    "`code:*`, or with a pattern in `terminal.allow`."
)
"""What the agent is told when a command is refused that may run code of the folder."""
EVERY_COMMAND = "every command asks in the mode `edits`"


class Permit:
    """The decision on one call. `verdict` is its tool's, as if a user could answer."""

    def __init__(self, tool: Tool, arguments: Arguments, context: ToolContext, verdict: Verdict) -> None:
        self._tool = tool
        self._arguments = arguments
        self._context = context
        self._tool_verdict = verdict
        self._approvals = context.permissions

    def verdict(self) -> Verdict:
        """Whether it may run, and why."""
        if self._tool_verdict.decision == "deny":
            return self._tool_verdict
        if denies := self._first("deny"):
            return Verdict("deny", f"rule {denies.number}: never {pattern_text(denies.calls)}")
        if self._approvals.mode == "plan" and not self._only_reads():
            return PLAN
        ask_rule = self._first("ask")
        question = self._tool_verdict.rule if self._tool_verdict.decision == "ask" else ""
        if not question and ask_rule is not None and not self._edits_freely():
            question = f"your rule {ask_rule.number}: {pattern_text(ask_rule.calls)}"
        if not question and self._approvals.mode == "edits" and self._is_command() and not self._only_reads():
            question = EVERY_COMMAND
        unconfined = self._tool.rules.asks_unconfined(self._arguments, self._context)
        if unconfined and (source := code_allowed(self._approvals, self._context.workdir)):
            if not question:
                return Verdict("allow", unconfined, by=f"{source}: {CODE}:*")
            unconfined = ""
        advice = UNCONFINED_ADVICE if unconfined and not question else ""
        question = "; ".join(filter(None, (unconfined, question)))  # one about keys stays the last
        if not question:
            return ALLOW
        return self._lifted(question, ask_rule) or self._question(question, advice)

    def _lifted(self, question: str, ask_rule: ApprovalRule | None) -> Verdict | None:
        """The approval that allows the call."""
        approvals = {"for this turn": self._approvals.turn, "for this session": self._approvals.session}
        for source, approved in approvals.items():
            if used := self._allowed_by(approved):
                return self._allowed(question, source, used)
        if ask_rule is None:
            rules = [rule for rule in self._approvals.rules if rule.ruling == "allow"]
            if used := self._allowed_by([rule.calls for rule in rules]):
                numbers = [str(rule.number) for rule in rules if rule.calls in used]
                return self._allowed(question, f"rule {', '.join(numbers)}", used)
        if self._approvals.mode == "full" and not self._tool.rules.is_always_asked(
            self._arguments, self._context
        ):
            return Verdict("allow", question, by="the mode full")
        return None

    def _allowed(self, question: str, source: str, used: Sequence[CallPattern]) -> Verdict:
        """The approvals that cover the call: of the exact call, else of patterns."""
        by = f"{source}: {' and '.join(map(pattern_text, used))}"
        return Verdict("allow", question, by=by, approved=all(pattern.exact for pattern in used))

    def _question(self, question: str, advice: str) -> Verdict:
        if not self._context.attended:
            verdict = Verdict("deny", f"{question}, and nobody can be asked in this turn")
            return replace(verdict, advice=advice or verdict.advice)
        offer = self._tool.rules.offer(self._tool.name, self._arguments, self._context)
        return Verdict("ask", question, offer=offer)

    def naming(self, ruling: Ruling) -> Iterator[ApprovalRule]:
        """The rules whose pattern matches the call or a part of it; an allow rule may not cover all of it."""
        rules = self._tool.rules
        return (
            rule
            for rule in self._approvals.rules
            if rule.ruling == ruling
            and self._is_about(rule.calls)
            and rules.is_named(rule.calls, self._arguments, self._context)
        )

    def _first(self, ruling: Ruling) -> ApprovalRule | None:
        return next(self.naming(ruling), None)

    def _allowed_by(self, patterns: Sequence[CallPattern]) -> tuple[CallPattern, ...]:
        about = [pattern for pattern in patterns if self._is_about(pattern)]
        return self._tool.rules.allowed_by(about, self._arguments, self._context) if about else ()

    def _is_about(self, calls: CallPattern) -> bool:
        is_named = calls.tool in {self._tool.name, self._tool.rules.group, "*"} - {""}
        return is_named and (not calls.folder or real_path_inside(self._context.workdir, calls.folder))

    def _only_reads(self) -> bool:
        if self._tool.name in PLANNING:
            return True
        reads = self._tool.rules.only_reads(self._arguments, self._context)
        return self._tool.effect == "read" if reads is None else reads

    def _is_command(self) -> bool:
        return self._tool.name == COMMANDS

    def _edits_freely(self) -> bool:
        return self._approvals.mode in {"edits", "full"} and self._tool.rules.group == EDITS


def judge(tool: Tool, arguments: Arguments, context: ToolContext) -> Verdict:
    """Whether a call may run, by the state of its turn."""
    return permit(tool, arguments, context).verdict()


def permit(tool: Tool, arguments: Arguments, context: ToolContext) -> Permit:
    """The decision on a call with its context."""
    return Permit(tool, arguments, context, tool.guard(arguments, replace(context, attended=True)))
