"""`hermes-jobs turns tree`: a turn and its sub-agents, a line each, with its figures, and the sums below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from hermes_jobs.features.usage.tables.usage import select_unknown_costs
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, TurnId, example
from hermes_jobs.interfaces.cli.output import COLOURS, GAP, can_print, cut, note, one_line, terminal_width
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.turns.progress import call_details
from hermes_jobs.kernel.events import InputRequested
from hermes_jobs.kernel.views.models import UsageTotals
from hermes_jobs.kernel.views.tree import Tree
from hermes_jobs.text.figures import amount, money, pluralize, unknown_costs

PIPED = 100  # columns of a name at most where the output is not a terminal
MIN_NAME_COLUMNS = 20  # columns of a name at least
NUM_FIGURES = 4
PLAIN = str.maketrans({"├": "|", "└": "`", "─": "-", "│": "|", "…": "~", "≥": ">"})


class TreeLine(NamedTuple):
    """A line: the name with its branches before it, the status, and figures for the right side."""

    name: str
    status: str
    figures: tuple[str, ...]


def print_tree(tree: Tree, marked: str = "") -> None:
    """Print the tree, the turn `marked` in bold, and below it what waits for a user."""
    rows = list(_lines(tree))
    turns = [node.turn.id for node in tree.walk()]
    header = TreeLine("TURN", "STATUS", ("CALLS", "TOOLS", "TOKENS", "COST"))
    total = TreeLine(f"All {pluralize(len(turns), 'turn')}", "", _figures(tree.totals, tree.num_tool_calls))
    lines = [header, *rows, *([total] if tree.children else [])]
    widths = _widths(lines)
    for index, row in enumerate(lines):
        is_bold = index == 0 or (0 < index <= len(turns) and turns[index - 1] == marked != tree.turn.id)
        click.echo(_laid_out(row, widths, is_bold=is_bold))


def note_waiting(tree: Tree) -> None:
    """Print the calls in the tree that wait for the user, with the path of turns, and how to answer."""
    waiting = [(node, step) for node in tree.walk() for step in node.waiting]
    for node, step in waiting:
        path = path_text([turn.id for turn in tree.path(node.turn.id)])
        several = len(waiting) > 1
        turn, target = (node.turn.id, f" --call {step.id}") if several else (tree.turn.id, "")
        if step.asks is not None:
            note(f"{path} waits for you: {step.asks.asker} asks, for {step.name}")
            _note_input(step.asks, turn, target)
        else:
            note(f"{path} waits for you: {call_details(step.name, step.arguments)}")
            note(f"  hermes-jobs turns approve {turn}{target}   (or deny)")


def _note_input(requested: InputRequested, turn: str, call: str) -> None:
    from hermes_jobs.interfaces.cli.questions.input import how_to_answer

    for request in requested.requests:
        key = f"{call} --request {request.key}" if len(requested.requests) > 1 else call
        for line in how_to_answer(request, turn, key):
            note(line)


def path_text(turns: Sequence[str]) -> str:
    """The path of turns from the root."""
    return " › ".join(turns)


def _lines(tree: Tree, before: str = "", branch: str = "") -> Iterator[TreeLine]:
    turn, role = tree.turn, tree.turn.place.role if tree.turn.place is not None else ""
    about = one_line(tree.about)
    yield TreeLine(
        f"{before}{branch}{turn.id}  {f'{role}: {about}' if role else about}",
        turn.status_word,
        _figures(turn.totals, turn.num_tool_calls),
    )
    below = before + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for number, child in enumerate(tree.children, 1):
        yield from _lines(child, below, "└─ " if number == len(tree.children) else "├─ ")


def _figures(totals: UsageTotals, num_tool_calls: int) -> tuple[str, ...]:
    cost = money(totals.cost_usd, totals.known_cost_usd)
    return (str(totals.num_model_calls), str(num_tool_calls), amount(totals.usage.total_tokens), cost)


def _widths(rows: Sequence[TreeLine]) -> tuple[int, int, Sequence[int]]:
    from rich.cells import cell_len

    figures = [max(len(row.figures[index]) for row in rows) for index in range(NUM_FIGURES)]
    status = max(len(row.status) for row in rows)
    natural = max(cell_len(row.name) for row in rows)
    width = terminal_width()
    if width is None:
        return min(natural, PIPED), status, figures
    name_width = width - status - sum(figures) - len(GAP) * (len(figures) + 1)
    return max(MIN_NAME_COLUMNS, min(natural, name_width)), status, figures


def _laid_out(row: TreeLine, widths: tuple[int, int, Sequence[int]], *, is_bold: bool) -> str:
    from rich.cells import set_cell_size

    name, status, figures = widths
    cells = [
        click.style(set_cell_size(cut(row.name, name), name), bold=is_bold or None),
        click.style(row.status.ljust(status), fg=COLOURS.get(row.status), bold=is_bold or None),
        *(
            click.style(cell.rjust(width), bold=is_bold or None)
            for cell, width in zip(row.figures, figures, strict=True)
        ),
    ]
    line = GAP.join(cells).rstrip()
    return line if can_print("├─…") else line.translate(PLAIN)


@command("tree", epilog=example("hermes-jobs turns tree last", "hermes-jobs turns tree t3k9 --json"))
def show_tree(context: CliContext, turn_id: TurnId, as_json: Json) -> None:
    """Show a turn and its sub-agents as a tree.

    Each line has a turn's task, status and usage. ID may be any turn of the tree; the whole tree is shown.
    """
    from hermes_jobs.kernel.views.turn_json import tree_json

    views = context.application.views
    turn = views.find_turn(turn_id)
    tree = views.tree(turn)
    print_result(lambda: tree_json(tree), lambda: _print(context, tree, turn), as_json=as_json)


def _print(context: CliContext, tree: Tree, turn: str) -> None:
    print_tree(tree, turn)
    turns = [node.turn.id for node in tree.walk()]
    if not tree.children:
        note(f"Turn {turn} has no sub-agents.")
    if text := unknown_costs(context.application.views.read(select_unknown_costs, turns=turns)):
        note(f"Not in the costs: {text}.")
    note_waiting(tree)
