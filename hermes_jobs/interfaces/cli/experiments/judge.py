"""`hermes-jobs experiments judge`: a blind comparison of answers by a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hermes_jobs.domain.replay.experiment import Cell, Experiment, judge_cell, shown, shows_first
from hermes_jobs.domain.replay.replay import required_plan
from hermes_jobs.interfaces.cli.output import print_heading, print_text
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.domain import events as e

KEYS = ("1", "2", "s", "q")
BY = "user"


def judge_all(application: Application, experiment: Experiment) -> str:
    """Ask about every unjudged cell; returns the result, in a sentence."""
    definition = experiment.definition
    assert definition is not None, f"{experiment.stream} is not defined"
    waiting = list(_waiting(experiment))
    num_judged = 0
    for position, cell in enumerate(waiting, 1):
        first = shows_first(definition.seed, cell)
        answers = [shown(experiment.answers[pair_cell]) for pair_cell in (cell, cell._replace(variant=0))]
        if not first:
            answers.reverse()
        turn = required_plan(experiment).turns[cell.turn].turn
        click.echo()
        print_heading(f"{position} of {len(waiting)}: {turn}")
        print_text(application.views.turn(turn).text)
        for number, answer in enumerate(answers, 1):
            click.echo()
            print_heading(f"Answer {number}")
            print_text(answer)
        click.echo()
        key = click.prompt("Better: 1, 2, s (the same), q (leave)", type=click.Choice(KEYS), err=True)
        if key == "q":
            break
        verdict = _verdict(key, first=first)
        application.engine().change(judge_cell(experiment.stream, cell, verdict, BY), "experiments judge")
        num_judged += 1
    remaining = len(waiting) - num_judged
    return (
        f"{pluralize(num_judged, 'pair')} judged, {remaining} left."
        if waiting
        else "There is nothing to judge."
    )


def _waiting(experiment: Experiment) -> Iterator[Cell]:
    """The cells with an answer, also of the first variant, that no user has judged."""
    for cell in sorted(experiment.answers):
        has_other = cell._replace(variant=0) in experiment.answers
        if cell.variant and has_other and cell not in experiment.judged:
            yield cell


def _verdict(key: str, *, first: bool) -> e.Verdict:
    if key == "s":
        return "same"
    return "better" if (key == "1") == first else "worse"
