"""`hermes-jobs approvals`: the rules for calls that need approval: list, test, add, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

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
from hermes_jobs.interfaces.cli.permission_options import mode_option, of_parameter
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.kernel.events import Mode, Ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.client.approvals import Rule, TestedCall

FOLDER_SHOWN = 26  # columns of a folder on a terminal, cut at its front


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
    from hermes_jobs.client.approvals import Approvals

    with of_parameter("COMMAND"):
        tested = Approvals(context.application).test(
            command, mode=mode or "ask", workdir=workdir, attended=not unattended
        )
    print_result(lambda: tested, lambda: _print_tested(context, tested), as_json=as_json)


def _print_tested(context: CliContext, tested: TestedCall) -> None:
    verb = {"allow": "runs without a question", "ask": "asks you", "deny": "is refused"}[tested.decision]
    click.echo(f"It {verb}.")
    fields = [("allowed by", tested.by), ("because", "" if tested.by else tested.reason)]
    beyond = [rule for rule in _rules(context) if rule.number in tested.beyond]
    fields += [("goes beyond", f"rule {rule.number}: {_pattern(rule)}") for rule in beyond]
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
    from hermes_jobs.client.approvals import Approvals

    exclude({"--anywhere": anywhere, "--workdir": workdir})
    with of_parameter("PATTERN"):
        rule = Approvals(context.application).add(
            ruling, pattern, folder=None if anywhere else workdir or "."
        )
    text = f"Rule {rule.number}: {ruling} {_pattern(rule)}, {_place(rule.folder)}."
    print_result(lambda: rule, text, as_json=as_json)


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
    from hermes_jobs.client.approvals import Approvals

    proposed = [rule for rule in _rules(context) if rule.proposed]
    if bool(numbers) == everything:
        raise click.UsageError("Give the numbers of rules, or --all.")
    chosen = [rule.number for rule in proposed] if everything else list(numbers)
    in_force = Approvals(context.application).accept(chosen)

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
    from hermes_jobs.client.approvals import Approvals

    removed = Approvals(context.application).remove(number)
    print_result(lambda: removed, f"Rule {number} is removed.", as_json=as_json)


def _rules(context: CliContext) -> Sequence[Rule]:
    from hermes_jobs.client.approvals import Approvals

    return Approvals(context.application).list()


def _pattern(rule: Rule) -> str:
    from hermes_jobs.kernel.events import CallPattern
    from hermes_jobs.kernel.streams.approval_rules import pattern_text

    return pattern_text(CallPattern(tool=rule.tool, pattern=rule.pattern))


def _shown(rule: Rule) -> str:
    text = _pattern(rule)
    return f"{text} (for {', '.join(rule.answers)})" if rule.answers else text


def _place(folder: str, width: int | None = None) -> str:
    return short_path(folder, width) if folder else "anywhere"


RULES: Resource[Rule] = Resource(
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
