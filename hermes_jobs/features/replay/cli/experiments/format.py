"""The results of an experiment, as JSON, as text and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.experiment import CANCELLED, NEW, PREFIX, Experiment
from hermes_jobs.features.replay.rules.replay import required_plan
from hermes_jobs.features.replay.rules.results import Results, VariantResult, results
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.output import cut, note, one_line, print_fields, print_heading
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, print_table
from hermes_jobs.text.figures import duration, money, pluralize
from hermes_jobs.text.moments import iso
from hermes_jobs.text.paired_statistics import Difference

MEASURES = {"cost_usd": "cost in USD", "output_tokens": "tokens of answers", "seconds": "seconds"}
"""What the measures that all experiments have are called."""
MAX_RESULT_COLUMNS = 160  # columns of a check's result


def status(experiment: Experiment) -> str:
    """The status, in a word."""
    if experiment.stopped is not None:
        return experiment.stopped.kind if experiment.stopped.kind in {NEW, CANCELLED} else "stopped"
    if experiment.waiting is not None:
        return "waiting"
    return "completed" if experiment.is_done else "running"


def waiting_line(experiment: Experiment) -> str:
    """The end of its wait for a day's budget; empty if it does not wait."""
    call = experiment.waiting
    return f"waiting until {format_time(iso(call.retry_at))}: {call.lacks}" if call is not None else ""


def _status_line(experiment: Experiment) -> str:
    stopped = experiment.stopped
    is_told = stopped is not None and stopped.kind not in {NEW, CANCELLED}
    return f"{status(experiment)}: {stopped.message}" if stopped and is_told else status(experiment)


def required_definition(experiment: Experiment) -> e.ExperimentDefined:
    """The definition of the experiment, which every found one has."""
    assert experiment.definition is not None, f"{experiment.stream} is not defined"
    return experiment.definition


def experiment_json(experiment: Experiment, limit: int | None = None) -> dict[str, object]:
    """The experiment as scripts get it; `limit` variants are compared at most."""
    plan, definition = required_plan(experiment), required_definition(experiment)
    outcome = results(experiment)
    return {
        "experiment": experiment.stream.removeprefix(PREFIX),
        "status": status(experiment),
        "waits_until": iso(experiment.waiting.retry_at) if experiment.waiting is not None else None,
        "query": definition.query,
        "turns": [turn.turn for turn in plan.turns],
        "samples": plan.samples,
        "follow": plan.follow,
        "checks": definition.checks,
        "judge": definition.judge,
        "judged_places": outcome.judged_places._asdict() if definition.judge else None,
        "seed": definition.seed,
        "budget_usd": experiment.budget_usd,
        "variants": outcome.variants,
        "compared": outcome.compared[:limit],
    }


def print_experiment(experiment: Experiment, limit: int | None = None) -> None:
    """The experiment for users; `limit` variants are compared at most."""
    plan, definition = required_plan(experiment), required_definition(experiment)
    outcome = results(experiment)
    judge = definition.judge
    print_fields(
        [
            ("Experiment", experiment.stream.removeprefix(PREFIX)),
            ("Status", waiting_line(experiment) or _status_line(experiment)),
            ("Turns", f"{len(plan.turns)} ({definition.query})"),
            ("Samples", f"{plan.samples} of each turn in each variant"),
            ("Judge", f"{judge.model}: {judge.rubric}" if judge else ""),
            ("Budget", money(experiment.budget_usd) if experiment.budget_usd is not None else ""),
        ]
    )
    click.echo()
    print_table(
        ("VARIANT", "ANSWERS", *(check.name for check in definition.checks), "TOKENS", "COST", "TOOK"),
        [_row(result) for result in outcome.variants],
        figures=("ANSWERS", *(check.name for check in definition.checks), "TOKENS", "COST", "TOOK"),
    )
    for variant in outcome.compared[:limit]:
        click.echo()
        print_heading(f"{variant.name} beside {plan.variants[0].name}")
        if variant.differences:
            rows = [difference_row(name, difference) for name, difference in variant.differences.items()]
            print_table(("MEASURE", "MEAN", "95 %", "ABOVE", "BELOW", "P"), rows, figures=("ABOVE", "BELOW"))
        else:
            click.echo("Nothing to compare yet.")
    for line in remarks(outcome):
        note(line)


def difference_row(name: str, difference: Difference) -> tuple[str, ...]:
    """A measure of a comparison as cells: its mean, its interval (one turn has none), the turns above and
    below zero, p."""
    mean, low, high = (
        f"{value:+.3g}" if value else "0" for value in (difference.mean, difference.low, difference.high)
    )
    return (
        MEASURES.get(name, name),
        mean,
        f"{low} to {high}" if difference.num_pairs > 1 else "",
        str(difference.better),
        str(difference.worse),
        f"{difference.p:.3g}",
    )


def remarks(results: Results) -> Iterator[str]:
    """Remarks on the figures."""
    for result in results.variants:
        if result.missing or result.failed:
            text = [pluralize(result.missing, "answer") + " missing"] if result.missing else []
            text += [f"{result.failed} failed"] if result.failed else []
            yield f"{result.name}: {', '.join(text)}."
        for check, why in result.messages.items():
            reason = cut(one_line(why), MAX_RESULT_COLUMNS)
            yield f"{result.name}: not all answers keep {check}, the first one: {reason}"
        if result.unreadable:
            yield f"{result.name}: {pluralize(result.unreadable, 'judgement')} could not be read."
    if results.judged_places.decide:
        yield f"{str(results.judged_places).capitalize()}, whichever that was: do not rely on what it says."


def _row(result: VariantResult) -> Sequence[str]:
    return (
        result.name,
        str(result.answers),
        *("" if share is None else f"{share:.0%}" for share in result.checks.values()),
        "" if result.output_tokens is None else f"{result.output_tokens:,.0f}",
        "" if result.cost_usd is None else money(result.cost_usd),
        "" if result.seconds is None else duration(result.seconds),
    )


def _variants(experiment: Experiment) -> str:
    return ", ".join(variant.name for variant in required_plan(experiment).variants)


def write_experiment(context: CliContext, experiment: Experiment) -> str:
    """The experiment as a page."""
    from hermes_jobs.features.replay.pages import experiment_page

    outcome = results(experiment)
    rows = {
        variant.name: [difference_row(name, one) for name, one in variant.differences.items()]
        for variant in outcome.compared
    }
    texts = {
        turn.turn: context.application.views.turn(turn.turn).text for turn in required_plan(experiment).turns
    }
    lines = list(remarks(outcome))
    return experiment_page(experiment, outcome, rows, lines, texts, context.redact, status=status(experiment))


EXPERIMENTS: Resource[Experiment] = Resource(
    (
        Column("EXPERIMENT", lambda item: item.stream.removeprefix(PREFIX)),
        Column("STATUS", status),
        Column("TURNS", lambda item: str(len(required_plan(item).turns)), right=True),
        Column("VARIANTS", _variants, is_main=True),
        Column("ANSWERS", lambda item: str(len(item.answers)), right=True),
    ),
    "No experiments yet: hermes-jobs experiments new --help",
    experiment_json,
)
