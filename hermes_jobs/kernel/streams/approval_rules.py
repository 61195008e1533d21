"""Standing rules for tool calls, and the other conditions of approval: the mode, and earlier approvals.

| mode    | reads | edits files | everyday commands | dangerous calls |
|---------|-------|-------------|-------------------|-----------------|
| `plan`  | yes   | no          | no                | no              |
| `edits` | yes   | yes         | asks              | asks            |
| `ask`   | yes   | yes         | yes               | asks            |
| `full`  | yes   | yes         | yes               | yes             |

Access to keys, and to files that run automatically, needs approval in every mode.

The tools decide which calls a pattern matches: `hermes_jobs.tools.permissions`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import assert_never, get_args

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader

STREAM = "approvals"
MODES: tuple[e.Mode, ...] = get_args(e.Mode)
COMMANDS = "terminal"
CODE = "code"
"""What rules name for code of a folder that runs without a sandbox."""
_OF_SHELL = re.compile(r"&&?|\|\|?|\d?>>?|<<?|.*;|[\"'].*|.*(\$\(|`).*", re.DOTALL)
"""An operator or expansion of the shell, which a pattern cannot contain."""
_OF_TOOL = re.compile(
    r"(?P<tool>[a-z][a-z0-9_]*|[A-Za-z0-9-]+__[A-Za-z0-9_-]+):(?!//)(?P<pattern>.+)", re.DOTALL
)


class ApprovalRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule, with its author."""

    number: int
    ruling: e.Ruling
    calls: e.CallPattern
    by: str


class ApprovalRules(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the stream `approvals`: the rules in force, oldest first, and those that wait to be
    accepted. No number is given twice."""

    stream: str = STREAM
    version: int = 0
    rules: tuple[ApprovalRule, ...] = ()
    proposed: tuple[ApprovalRule, ...] = ()
    last: int = 0


class Permissions(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions that decide whether a call needs approval. `session`, `turn`: the user's approvals that
    last as long as these."""

    mode: e.Mode = "ask"
    rules: tuple[ApprovalRule, ...] = ()
    session: tuple[e.CallPattern, ...] = ()
    turn: tuple[e.CallPattern, ...] = ()

    def allowing(self) -> Iterator[tuple[str, tuple[e.CallPattern, ...]]]:
        """The patterns of what is allowed, by where they come from."""
        yield "for this turn", self.turn
        yield "for this session", self.session
        for rule in self.rules:
            if rule.ruling == "allow":
                yield f"rule {rule.number}", (rule.calls,)


def evolve(state: ApprovalRules, event: e.ApprovalRuleEvent) -> ApprovalRules:
    """The state after one more event."""
    state = replace(state, version=state.version + 1)
    match event:
        case e.ApprovalRuleAdded():
            rule = ApprovalRule(number=event.number, ruling=event.ruling, calls=event.calls, by=event.by)
            return replace(state, rules=(*state.rules, rule), last=event.number)
        case e.ApprovalRuleRemoved():
            rules, proposed = (_without(part, event.number) for part in (state.rules, state.proposed))
            return replace(state, rules=rules, proposed=proposed)
        case e.ApprovalRulesProposed():
            proposed = tuple(rule for rule in state.rules if rule.number in event.numbers)
            rules = tuple(rule for rule in state.rules if rule not in proposed)
            return replace(state, rules=rules, proposed=(*state.proposed, *proposed))
        case e.ApprovalRuleAccepted():
            accepted = tuple(rule for rule in state.proposed if rule.number == event.number)
            proposed = _without(state.proposed, event.number)
            return replace(state, rules=(*state.rules, *accepted), proposed=proposed)
        case _:
            assert_never(event)


def _without(rules: tuple[ApprovalRule, ...], number: int) -> tuple[ApprovalRule, ...]:
    return tuple(rule for rule in rules if rule.number != number)


def add_rule(ruling: e.Ruling, calls: e.CallPattern, *, by: str) -> Decision:
    """Add a rule, unless the same one is in force. The answer is its number."""

    def change(load: StateLoader) -> DecisionResult:
        state: ApprovalRules = load(STREAM)
        for rule in state.rules:
            if (rule.ruling, rule.calls) == (ruling, calls):
                return DecisionResult(answer=str(rule.number))
        event = e.ApprovalRuleAdded(number=state.last + 1, ruling=ruling, calls=calls, by=by)
        return DecisionResult.of(STREAM, event, answer=str(event.number))

    return change


def remove_rule(number: int, *, by: str) -> Decision:
    """Remove a rule, also a proposed one. Raises `Rejected` where there is none of that number."""

    def change(load: StateLoader) -> DecisionResult:
        state: ApprovalRules = load(STREAM)
        if all(rule.number != number for rule in (*state.rules, *state.proposed)):
            raise _unknown(number)
        event = e.ApprovalRuleRemoved(number=number, by=by)
        return DecisionResult.of(STREAM, event)

    return change


def accept_rules(numbers: Collection[int], *, by: str) -> Decision:
    """Put these proposed rules in force; one that is in force already stays so. Raises `Rejected` where there
    is none of a number."""

    def change(load: StateLoader) -> DecisionResult:
        state: ApprovalRules = load(STREAM)
        proposed = {rule.number for rule in state.proposed}
        for number in numbers:
            if number not in proposed and all(rule.number != number for rule in state.rules):
                raise _unknown(number)
        accepted = (number for number in dict.fromkeys(numbers) if number in proposed)
        return DecisionResult.of(
            STREAM, *(e.ApprovalRuleAccepted(number=number, by=by) for number in accepted)
        )

    return change


def propose_allowing(state: ApprovalRules, *, by: str) -> tuple[e.ApprovalRulesProposed, ...]:
    """What turns rules that came from elsewhere into proposals: those that allow. What they forbid, or ask
    about, holds at once."""
    numbers = tuple(rule.number for rule in state.rules if rule.ruling == "allow")
    return (e.ApprovalRulesProposed(numbers=numbers, by=by),) if numbers else ()


def _unknown(number: int) -> Rejected:
    return Rejected(
        f"There is no rule {number}.", kind="unknown_rule", hint="See `hermes-jobs approvals list`."
    )


def permissions(
    rules: tuple[ApprovalRule, ...],
    *,
    mode: e.Mode,
    session: tuple[e.CallPattern, ...],
    turn: tuple[e.CallPattern, ...],
    personal: bool,
) -> Permissions:
    """The permissions of a turn. One that is not `personal` (a schedule's, a trigger's, a review's) gets no
    additional permissions: only restrictions apply to it.
    """
    if personal:
        return Permissions(mode=mode, rules=rules, session=session, turn=turn)
    narrowing = tuple(rule for rule in rules if rule.ruling != "allow")
    return Permissions(mode="plan" if mode == "plan" else "ask", rules=narrowing)


def parse_pattern(text: str, folder: str = "") -> e.CallPattern:
    """The calls that a user's text describes: `npm test *`, a command, or `edit:src/*`, of another tool.

    Without a wildcard it is the whole command, path or address. Raises `Rejected` for an empty one, and for
    `npm test * && ls`: a pattern is compared with each command of a line by itself.
    """
    calls = parse_call(text, folder)
    if calls.tool == COMMANDS and not calls.exact and any(map(_OF_SHELL.fullmatch, calls.pattern.split())):
        raise Rejected(
            f"{calls.pattern!r} can match nothing: a pattern is compared word by word with one command.",
            kind="usage",
            hint="Leave out quotes, and && ; | > with what follows; or write a whole line, without *.",
        )
    return calls


def parse_call(text: str, folder: str = "") -> e.CallPattern:
    """The same for exactly one call, in which `*` is an ordinary character. Raises `Rejected` for an empty
    one."""
    match = _OF_TOOL.fullmatch(text.strip())
    tool, pattern = (match["tool"], match["pattern"].strip()) if match else (COMMANDS, text.strip())
    if not pattern:
        raise Rejected("The pattern is empty.", kind="usage", hint="Such as 'npm test *' or 'edit:src/*'.")
    return e.CallPattern(tool=tool, pattern=pattern, exact=not re.search(r"[*?[]", pattern), folder=folder)


def pattern_text(calls: e.CallPattern) -> str:
    """The pattern as a user would write it."""
    return calls.pattern if calls.tool == COMMANDS else f"{calls.tool}:{calls.pattern}"


def offer_text(offer: e.CallPattern) -> str:
    """What an approval for longer than once allows, as the person who is asked reads it."""
    if offer.tool == CODE:
        return f"all code of the folder ({pattern_text(offer)})"
    return "exactly this" if offer.exact else pattern_text(offer)
