"""The rules for tool calls of a home, for programs."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.tools import group_of
from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.events import ApprovalRuleAdded, CallPattern, Mode, Ruling
from hermes_jobs.kernel.streams import approval_rules
from hermes_jobs.kernel.streams.approval_rules import (
    CODE,
    COMMANDS,
    STREAM,
    ApprovalRules,
    Permissions,
    parse_call,
    parse_pattern,
)
from hermes_jobs.kernel.turns.messages import ToolCall

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

BY = "user"
GROUPS = ("edit", "read", CODE)
"""Subjects of rules other than tools."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as scripts see it; `folder` empty: anywhere. `at`: when it was made.

    `answers`: the only questions that it answers; None: all that a pattern can answer. `proposed`: it came
    with an import, and is not in force.
    """

    number: int
    ruling: Ruling
    tool: str
    pattern: str
    exact: bool
    folder: str
    answers: tuple[str, ...] | None
    by: str
    at: str
    proposed: bool = False


class TestedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The decision on a call that was not made. `reason`: why it asks or is refused; `by`: what allows it.

    `beyond`: the rules that allow similar calls, but not all of this one.
    """

    decision: str
    reason: str
    by: str
    beyond: tuple[int, ...] = ()


class Approvals:
    """The rules of a home: what runs without a question, what asks, what is refused."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def list(self) -> tuple[Rule, ...]:
        """The rules, oldest first; also those that wait to be accepted."""
        state = self._state()
        proposed = {rule.number for rule in state.proposed}
        here = proposed | {rule.number for rule in state.rules}
        rules: dict[int, Rule] = {}
        for recorded in self._application.log.read(STREAM):
            event = recorded.event
            if isinstance(event, ApprovalRuleAdded) and event.number in here:
                rules[event.number] = Rule(
                    number=event.number,
                    ruling=event.ruling,
                    **msgspec.structs.asdict(event.calls),
                    by=event.by,
                    at=recorded.recorded_at,
                    proposed=event.number in proposed,
                )
        return tuple(rules.values())

    def test(
        self, call: str, *, mode: Mode = "ask", workdir: str | Path | None = None, attended: bool = True
    ) -> TestedCall:
        """What the rules decide for a command or `TOOL:ARGUMENT` in a new session. Nothing is run.

        Raises `Rejected` for a tool that there is not."""
        application = self._application
        calls = self._known(parse_call(call), call)
        where = ToolContext(
            session="",
            turn="",
            call="",
            workdir=str(workdir or os.getcwd()),  # noqa: PTH109
            attended=attended,
            permissions=Permissions(mode=mode, rules=self._state().rules),
        )
        name, arguments = _example(calls)
        toolbox = application.toolbox.with_tools(application.mcp.current_tools())
        if name not in toolbox.names:
            raise Rejected(f"There is no tool {name!r}.", kind="usage")
        tested = ToolCall("", name, msgspec.json.encode(arguments).decode())
        verdict = toolbox.verdict(tested, where)
        beyond = toolbox.allowing(tested, where) if verdict.decision != "allow" else ()
        return TestedCall(
            decision=verdict.decision,
            reason=verdict.rule,
            by=verdict.by,
            beyond=tuple(rule.number for rule in beyond),
        )

    def add(self, ruling: Ruling, pattern: str, *, folder: str | Path | None = None, by: str = BY) -> Rule:
        """Add a rule for commands, or for `TOOL:PATTERN`, in a folder and below it (None: anywhere). The same
        rule again is the one that is there. Raises `Rejected` for a pattern that can match nothing."""
        where = "" if folder is None else str(Path(folder).resolve())
        calls = self._known(parse_pattern(pattern, where), pattern)
        added = self._application.engine().change(
            approval_rules.add_rule(ruling, calls, by=by), "approvals add"
        )
        return self._numbered(int(added.answer))

    def accept(self, numbers: Collection[int], *, by: str = BY) -> tuple[Rule, ...]:
        """Put rules in force that came with an import. Raises `Rejected` where there is none of a number."""
        self._application.engine().change(approval_rules.accept_rules(numbers, by=by), "approvals accept")
        return tuple(rule for rule in self.list() if rule.number in numbers)

    def remove(self, number: int, *, by: str = BY) -> Rule:
        """Remove a rule, also a proposed one. Raises `Rejected` where there is none of that number."""
        removed = [rule for rule in self.list() if rule.number == number]
        self._application.engine().change(approval_rules.remove_rule(number, by=by), "approvals remove")
        return removed[0]

    def patterns(self, texts: Sequence[str]) -> tuple[CallPattern, ...]:
        """The calls that patterns without a folder describe. Raises `Rejected`, as `add` does."""
        return tuple(self._known(parse_pattern(text), text) for text in texts)

    def _known(self, calls: CallPattern, text: str) -> CallPattern:
        """The calls, of a tool that there is. Raises `Rejected` otherwise, with what was meant perhaps."""
        application = self._application
        names = [*application.toolbox.names, *GROUPS, *application.mcp.rule_names]
        if calls.tool == COMMANDS:
            _refuse_tool_name(text.strip(), names)
        elif calls.tool not in names:
            nearest = get_close_matches(calls.tool, names, n=1)
            suggestion = f" Did you mean {nearest[0]}:…?" if nearest else ""
            message = f"There is no tool {calls.tool!r}.{suggestion} For a command: terminal:{text}"
            raise Rejected(message, kind="unknown_tool")
        elif calls.tool == CODE and calls.pattern != "*":
            message = f"{CODE}:* is about all code of a folder. For a command: terminal:{calls.pattern}"
            raise Rejected(message, kind="usage")
        return calls

    def _state(self) -> ApprovalRules:
        state = self._application.engine().state(STREAM)
        assert isinstance(state, ApprovalRules)
        return state

    def _numbered(self, number: int) -> Rule:
        return next(rule for rule in self.list() if rule.number == number)


def _refuse_tool_name(word: str, names: Sequence[str]) -> None:
    """Raise for a tool's name alone, which as the pattern of a command would match nothing."""
    server, of_server, _ = word.partition("__*")
    tools = group_of(server) if of_server else word
    if tools in names:
        raise Rejected(
            f"{word} names tools, not a command. For all their calls: '{tools}:*'."
            f" For a command: 'terminal:{word}'",
            kind="unknown_tool",
        )


def _example(calls: CallPattern) -> tuple[str, dict[str, str]]:
    """A call of that tool, with its argument."""
    names = {"edit": "write_file", "read": "read_file"}
    name = names.get(calls.tool, calls.tool)
    match name:
        case "terminal":
            return name, {"command": calls.pattern}
        case "web_fetch":
            return name, {"url": calls.pattern}
        case "write_file":
            return name, {"path": calls.pattern, "content": ""}
        case "patch_file":
            return name, {"path": calls.pattern, "old_string": "-", "new_string": ""}
        case "read_file":
            return name, {"path": calls.pattern}
        case _:
            return name, {}
