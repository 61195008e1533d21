"""`hermes-jobs turns tree`: a turn with its sub-agents, and theirs."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, turn_argument
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import unknown_costs
from hermes_jobs.views.tree import Tree


@click.command("tree", epilog=example("hermes-jobs turns tree last", "hermes-jobs turns tree t3k9 --json"))
@turn_argument
@json_option
@pass_context
def show_tree(context: CliContext, turn_id: str, as_json: bool) -> None:
    """Show a turn and its sub-agents as a tree.

    Each has a line: what it is for, how it stands, what it used. ID may be any turn of the tree; the whole of
    it is shown, from its root.
    """
    from hermes_jobs.views.tree_json import tree_json

    views = context.application.views
    turn = views.find_turn(turn_id)
    tree = views.tree(turn)
    print_result(lambda: tree_json(tree), lambda: _print(context, tree, turn), as_json=as_json)


def _print(context: CliContext, tree: Tree, turn: str) -> None:
    from hermes_jobs.interfaces.cli.tree_format import note_waiting, print_tree

    print_tree(tree, turn)
    turns = [each.turn.id for each in tree.walk()]
    if not tree.children:
        note(f"Turn {turn} has no sub-agents.")
    if told := unknown_costs(context.application.views.unknown_costs(turns=turns)):
        note(f"Not in the costs: {told}.")
    note_waiting(tree)
