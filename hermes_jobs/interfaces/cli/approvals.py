"""`hermes-jobs approvals`: the rules for calls that need approval: list, test, add, remove."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
import msgspec

from hermes_jobs.interfaces.cli.command import group, shared_option
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_rule
from hermes_jobs.interfaces.cli.options import (
    Json,
    example,
    exclude,
    limit_option,
    newest,
    workdir_option,
)
from hermes_jobs.interfaces.cli.output import note, print_fields, short_path, terminal_width
from hermes_jobs.interfaces.cli.param_types import ListedParam, NonEmpty
from hermes_jobs.interfaces.cli.permission_options import mode_option, parsed_call, parsed_pattern
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.kernel.events import Mode, Ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.kernel.engine.ports import ToolContext
    from hermes_jobs.kernel.events import CallPattern
    from hermes_jobs.kernel.streams.approval_rules import ApprovalRule, ApprovalRules

BY = "user"
FOLDER_SHOWN = 26  # columns of a folder on a terminal, cut at its front


class RuleJson(msgspec.Struct, frozen=True, kw_only=True):
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


@group(epilog=example("hermes-jobs approvals list"))
def approvals() -> None:
    """Rules for tool calls: what runs without a question, what asks, what is refused.

    Deny rules take precedence over ask rules, and ask rules over allow rules.
    """


@approvals.command("list", epilog=example("hermes-jobs approvals list"))
@shared_option(Json, "as_json")
@limit_option("rules, the newest", default=None)
def list_rules(context: CliContext, as_json: bool, limit: int | None) -> None:
    """List the rules in force, and those that wait to be accepted."""
    rules = newest(_rules(context), limit)
    RULES.print_list(rules, as_json=as_json)


@approvals.command(
    "test",
    epilog=example(
        "hermes-jobs approvals test 'rm -rf build'", "hermes-jobs approvals test edit:.bashrc --mode plan"
    ),
)
@click.argument("command", type=NonEmpty())
@mode_option("Permission mode.  [default: ask]")
@workdir_option("Working folder.  [default: this one]")
@click.option("--unattended", is_flag=True, help="Test a turn that cannot ask anybody.")
def test_call(
    context: CliContext,
    command: str,
    mode: Mode | None,
    workdir: str | None,
    unattended: bool,
    as_json: Json,
) -> None:
    """Show what the rules decide for a command or TOOL:ARGUMENT. Nothing is run."""
    from hermes_jobs.kernel.turns.messages import ToolCall

    calls = parsed_call(context, command, "COMMAND")
    application = context.application
    where = _place_of_call(context, mode or "ask", workdir, attended=not unattended)
    name, arguments = _example(calls)
    toolbox = application.toolbox.with_tools(application.mcp.current_tools())
    if name not in toolbox.names:
        raise click.BadParameter(f"there is no tool {name!r}.", param_hint="COMMAND")
    call = ToolCall("", name, msgspec.json.encode(arguments).decode())
    verdict = toolbox.verdict(call, where)
    beyond = toolbox.allowing(call, where) if verdict.decision != "allow" else ()
    tested = TestedCall(
        decision=verdict.decision,
        reason=verdict.rule,
        by=verdict.by,
        beyond=tuple(rule.number for rule in beyond),
    )
    print_result(lambda: tested, lambda: _print_tested(tested, beyond), as_json=as_json)


def _place_of_call(context: CliContext, mode: Mode, workdir: str | None, *, attended: bool) -> ToolContext:
    """The context of a tested call: the rules in force, in a new session."""
    from hermes_jobs.kernel.engine.ports import ToolContext
    from hermes_jobs.kernel.streams.approval_rules import STREAM, Permissions

    state: ApprovalRules = context.application.engine().state(STREAM)  # type: ignore[assignment]  # by its name
    return ToolContext(
        session="",
        turn="",
        call="",
        workdir=workdir or os.getcwd(),  # noqa: PTH109
        attended=attended,
        permissions=Permissions(mode=mode, rules=state.rules),
    )


def _print_tested(tested: TestedCall, beyond: Sequence[ApprovalRule]) -> None:
    from hermes_jobs.kernel.streams.approval_rules import pattern_text

    verb = {"allow": "runs without a question", "ask": "asks you", "deny": "is refused"}[tested.decision]
    click.echo(f"It {verb}.")
    fields = [("allowed by", tested.by), ("because", "" if tested.by else tested.reason)]
    fields += [("goes beyond", f"rule {rule.number}: {pattern_text(rule.calls)}") for rule in beyond]
    if any(value for _, value in fields):
        print_fields(fields)


@approvals.command(
    "add",
    epilog=example(
        "hermes-jobs approvals add allow 'npm test *'",
        "hermes-jobs approvals add ask 'edit:*' --anywhere",
        "hermes-jobs approvals add deny 'git push *' --anywhere",
    ),
)
@click.argument("ruling", type=click.Choice(get_args(Ruling)))
@click.argument("pattern", type=NonEmpty())
@workdir_option("Folder that the rule applies to, with everything below.  [default: this one]")
@click.option("--anywhere", is_flag=True, help="Apply the rule in every folder.")
def add_rule(
    context: CliContext, ruling: Ruling, pattern: str, workdir: str | None, anywhere: bool, as_json: Json
) -> None:
    """Add a rule for commands, or for TOOL:PATTERN.

    As the last word, `*` matches any arguments; within a word, any part of it. A pattern without `*` matches
    the whole command. `edit` means all tools that change files, `read` all that read them.
    """
    from hermes_jobs.kernel.streams import approval_rules

    exclude({"--anywhere": anywhere, "--workdir": workdir})
    folder = "" if anywhere else str(Path(workdir or ".").resolve())
    calls = parsed_pattern(context, pattern, folder, "PATTERN")
    result = context.application.engine().change(
        approval_rules.add_rule(ruling, calls, by=BY), "approvals add"
    )
    text = f"Rule {result.answer}: {ruling} {approval_rules.pattern_text(calls)}, {_place(folder)}."
    print_result(
        lambda: next(rule for rule in _rules(context) if str(rule.number) == result.answer),
        lambda: note(text),
        as_json=as_json,
    )


@approvals.command("accept", epilog=example("hermes-jobs approvals accept 3"))
@click.argument(
    "numbers",
    metavar="[NUMBER]...",
    type=ListedParam("hermes-jobs approvals list"),
    nargs=-1,
    shell_complete=complete_rule,
)
@click.option("--all", "everything", is_flag=True, help="Accept all proposed rules.")
def accept_rules(context: CliContext, numbers: tuple[int, ...], everything: bool, as_json: Json) -> None:
    """Put rules in force that came with an import."""
    from hermes_jobs.kernel.streams import approval_rules

    proposed = [rule for rule in _rules(context) if rule.proposed]
    if bool(numbers) == everything:
        raise click.UsageError("Give the numbers of rules, or --all.")
    chosen = [rule.number for rule in proposed] if everything else list(numbers)
    context.application.engine().change(approval_rules.accept_rules(chosen, by=BY), "approvals accept")
    in_force = [rule for rule in _rules(context) if rule.number in chosen]

    def tell() -> None:
        for rule in in_force:
            note(f"Rule {rule.number}: {rule.ruling} {_shown(rule)}, {_place(rule.folder)}.")
        if not in_force:
            note("No rule waits to be accepted.")

    print_result(lambda: in_force, tell, as_json=as_json)


@approvals.command("remove", epilog=example("hermes-jobs approvals remove 3"))
@click.argument("number", type=ListedParam("hermes-jobs approvals list"), shell_complete=complete_rule)
def remove_rule(context: CliContext, number: int, as_json: Json) -> None:
    """Remove a rule."""
    from hermes_jobs.kernel.streams import approval_rules

    removed = [rule for rule in _rules(context) if rule.number == number]
    context.application.engine().change(approval_rules.remove_rule(number, by=BY), "approvals remove")
    print_result(lambda: removed[0], lambda: note(f"Rule {number} is removed."), as_json=as_json)


def _rules(context: CliContext) -> list[RuleJson]:
    """The rules, oldest first, with their times; also those that are proposed."""
    from hermes_jobs.kernel.events import ApprovalRuleAdded
    from hermes_jobs.kernel.streams.approval_rules import STREAM, ApprovalRules

    state = context.application.engine().state(STREAM)
    assert isinstance(state, ApprovalRules)
    proposed = {rule.number for rule in state.proposed}
    here = proposed | {rule.number for rule in state.rules}
    rules: dict[int, RuleJson] = {}
    for recorded in context.application.log.read(STREAM):
        event = recorded.event
        if isinstance(event, ApprovalRuleAdded) and event.number in here:
            rules[event.number] = RuleJson(
                number=event.number,
                ruling=event.ruling,
                **msgspec.structs.asdict(event.calls),
                by=event.by,
                at=recorded.recorded_at,
                proposed=event.number in proposed,
            )
    return list(rules.values())


def _shown(rule: RuleJson) -> str:
    from hermes_jobs.kernel.events import CallPattern
    from hermes_jobs.kernel.streams.approval_rules import pattern_text

    text = pattern_text(CallPattern(tool=rule.tool, pattern=rule.pattern))
    return f"{text} (for {', '.join(rule.answers)})" if rule.answers else text


def _place(folder: str, width: int | None = None) -> str:
    return short_path(folder, width) if folder else "anywhere"


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


RULES: Resource[RuleJson] = Resource(
    (
        Column("N", lambda rule: str(rule.number), right=True),
        Column("RULING", lambda rule: f"{rule.ruling}{' (proposed)' if rule.proposed else ''}"),
        Column("CALLS", _shown, is_main=True),
        Column("WHERE", lambda rule: _place(rule.folder, FOLDER_SHOWN if terminal_width() else None)),
        moment_column("WHEN", lambda rule: rule.at, rank=1),
        Column("BY", lambda rule: rule.by, rank=2),
    ),
    "No rules. Answer a question with `a`, or: hermes-jobs approvals add allow 'npm test *'",
)
