"""`hermes-jobs experiments`: past turns asked again in several variants, checked and compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import (
    Json,
    Name,
    budget_option,
    example,
    exclude,
    limit_option,
    wait_option,
)
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.output_file import html_option, write_page
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.replay import events as e
    from hermes_jobs.features.replay.rules.experiment import Experiment
    from hermes_jobs.kernel.views.models import TurnView

_BUDGET = budget_option("Most it may cost.")
SEED_BITS = 48
QUEUE = "experiments"


@group(
    epilog=example(
        'hermes-jobs experiments new brief --turns "rated:down" --variants brief.yaml',
        "hermes-jobs experiments run brief --budget 2",
        "hermes-jobs experiments show brief --html brief.html",
    )
)
def experiments() -> None:
    """Replay past turns in several variants, and compare the answers. No tool runs."""


@experiments.command(
    "new",
    epilog=example('hermes-jobs experiments new brief --turns "rated:down newest:20" --variants brief.yaml'),
)
@click.option(
    "--turns", "query", required=True, metavar="QUERY", type=NonEmpty(), help="Query that selects past turns."
)
@click.option(
    "--variants",
    "file",
    required=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with variants, checks and judge, as YAML or JSON.",
)
@click.option("--follow", is_flag=True, help="Replay whole turns, as `turns replay --follow` does.")
@click.option("--allow-reads", is_flag=True, help="With --follow: run tools that only read.")
@_BUDGET
def new_experiment(  # noqa: PLR0913, PLR0917 - its options
    context: CliContext,
    name: Name,
    query: str,
    file: Path,
    follow: bool,
    allow_reads: bool,
    budget: float | None,
    as_json: Json,
) -> None:
    """Define an experiment: turns and variants. Nothing is run.

    The last model call of each turn is replayed, with its history and recorded tool results; with --follow,
    the whole turn. QUERY consists of words of the turns' texts, and of keys: label:NAME, rated:up,
    rated:down, status:failed, session:ID, model:NAME, source:NAME, since:DAY, cost:USD, turn:ID, expensive:N,
    newest:N.
    """
    from hermes_jobs.features.replay import events as e
    from hermes_jobs.features.replay.cli.experiments.file import read_design
    from hermes_jobs.features.replay.cli.experiments.format import experiment_json
    from hermes_jobs.features.replay.rules.experiment import define
    from hermes_jobs.interfaces.cli.turns.query import chosen_turns
    from hermes_jobs.system.randomness import random_bits

    if allow_reads and not follow:
        raise click.UsageError("--allow-reads requires --follow.")
    _check_name(name)
    application = context.application
    design = read_design(application, file)
    turns = _recorded(application, chosen_turns(application, query), is_whole=follow)
    for model in design.models:
        application.check(model or None)
    _require_effects(application, turns, design.variants)
    defined = e.ExperimentDefined(
        experiment=name, query=query, seed=random_bits(SEED_BITS), checks=design.checks, judge=design.judge
    )
    planned = e.ReplayPlanned(
        replay=name,
        turns=turns,
        variants=design.variants,
        samples=design.samples,
        follow=follow,
        allow_reads=allow_reads,
        budget_usd=budget,
    )
    application.engine().change(define(defined, planned), "experiments new")
    experiment = find(application, name)
    cells = len(turns) * len(design.variants) * design.samples
    text = f"Experiment {name}: {pluralize(len(turns), 'turn')}, {pluralize(cells, 'answer')} to ask for."
    print_result(lambda: experiment_json(experiment), text, as_json=as_json)


def _check_name(name: str) -> None:
    from hermes_jobs.features.replay.rules.experiment import NAME
    from hermes_jobs.features.replay.rules.verification import NAMES

    if not NAME.fullmatch(name):
        raise click.UsageError(
            "A name has up to 40 lower-case letters, digits and hyphens, such as brief-answers."
        )
    if name.startswith(NAMES):
        raise click.UsageError(f"Names that begin with {NAMES} belong to verifications: choose another one.")


@experiments.command(
    "run",
    epilog=example(
        "hermes-jobs experiments run brief --budget 2", "hermes-jobs experiments run brief --no-wait"
    ),
)
@_BUDGET
@wait_option("Run cells here until all are done (the default), or leave them to workers.")
def run_experiment(context: CliContext, name: Name, budget: float | None, wait: bool, as_json: Json) -> int:
    """Run the cells without a result, then the checks and the judge.

    This process runs cells together with live workers. Interrupted, stopped, cancelled and failed cells are
    run again; existing answers are kept.
    """
    from hermes_jobs.features.replay.cli.experiments.format import (
        experiment_json,
        print_experiment,
        waiting_line,
    )
    from hermes_jobs.features.replay.cli.replay import ask
    from hermes_jobs.features.replay.rules.experiment import CANCELLED
    from hermes_jobs.features.replay.rules.replay import resume
    from hermes_jobs.interfaces.cli.exit_codes import FAILED

    application = context.application
    experiment = find(application, name)
    for variant in experiment.plan.variants if experiment.plan else ():
        application.check(variant.model or None)
    application.engine().change(resume(experiment.stream, "user", budget), "experiments run")
    if not wait:
        return _leave_to_workers(context, find(application, name), as_json=as_json)
    ask(context, experiment.stream, f"hermes-jobs experiments run {name}")
    ended = find(application, name)
    print_result(lambda: experiment_json(ended), lambda: print_experiment(ended), as_json=as_json)
    if ended.stopped is not None:
        cancelled = ended.stopped.kind == CANCELLED
        note("It was cancelled." if cancelled else f"It was stopped: {ended.stopped.message}")
        note(f"It continues with: hermes-jobs experiments run {name}{'' if cancelled else ' --budget USD'}")
    if ended.waiting is not None:
        note(f"It is {waiting_line(ended)}")
        note("Workers continue then; with a higher budgets.day_usd the same command continues now.")
    failed = sum(hasattr(outcome, "kind") for outcome in ended.outcomes.values())
    if failed:
        note(f"{pluralize(failed, 'call')} failed. To ask again: hermes-jobs experiments run {name}")
    return FAILED if failed or ended.stopped is not None or ended.waiting is not None else 0


def _leave_to_workers(context: CliContext, experiment: Experiment, *, as_json: bool) -> int:
    """Print what is left to workers, and a note if there are none."""
    from hermes_jobs.features.replay.cli.experiments.format import experiment_json
    from hermes_jobs.features.replay.rules.experiment import PREFIX

    name = experiment.stream.removeprefix(PREFIX)
    calls = pluralize(len(experiment.open), "call")
    text = f"Experiment {name}: {calls} to ask." if experiment.open else f"Experiment {name}: nothing to ask."
    print_result(lambda: experiment_json(experiment), text, as_json=as_json)
    if experiment.open and not context.application.workers.has_consumer(QUEUE):
        note(f"No worker of the queue {QUEUE} is alive: it waits for one. `hermes-jobs up` starts workers;")
        note(f"  hermes-jobs experiments run {name}   asks here.")
    return 0


@experiments.command("cancel", epilog=example("hermes-jobs experiments cancel brief"))
def cancel_experiment(context: CliContext, name: Name, as_json: Json) -> None:
    """Cancel an experiment.

    Running calls finish and are recorded; no further ones start. `run` continues the experiment.
    """
    from hermes_jobs.features.replay.cli.experiments.format import experiment_json
    from hermes_jobs.features.replay.rules.experiment import cancel

    application = context.application
    application.engine().change(cancel(find(application, name).stream), "experiments cancel")
    after = find(application, name)
    text = f"Experiment {name} is cancelled; {pluralize(len(after.answers), 'answer')} there."
    print_result(lambda: experiment_json(after), text, as_json=as_json)
    if not as_json:
        note(f"It continues with: hermes-jobs experiments run {name}")


@experiments.command("show", epilog=example("hermes-jobs experiments show brief --html brief.html"))
@html_option
@limit_option("variants beside the first", default=None)
def show_experiment(
    context: CliContext, name: Name, html: Path | None, limit: int | None, as_json: Json
) -> None:
    """Show the variants, each compared with the first.

    Differences are paired by turn: mean with a 95 % bootstrap interval, number of turns above and below zero,
    and p of the exact sign test.
    """
    from hermes_jobs.features.replay.cli.experiments.format import (
        experiment_json,
        print_experiment,
        write_experiment,
    )

    exclude({"--html": html, "--json": as_json})
    experiment = find(context.application, name)
    if html is not None:
        write_page(html, write_experiment(context, experiment))
        return
    print_result(
        lambda: experiment_json(experiment, limit),
        lambda: print_experiment(experiment, limit),
        as_json=as_json,
    )


@experiments.command("list", epilog=example("hermes-jobs experiments list"))
@limit_option("experiments")
def list_experiments(context: CliContext, limit: int, as_json: Json) -> None:
    """List experiments."""
    from hermes_jobs.features.replay.cli.experiments.format import EXPERIMENTS
    from hermes_jobs.features.replay.rules.experiment import PREFIX, Experiment

    engine = context.application.engine()
    states = (engine.state(head.stream) for head in context.application.log.streams(PREFIX))
    planned = [state for state in states if isinstance(state, Experiment) and state.plan is not None]
    EXPERIMENTS.print_list(planned[:limit], as_json=as_json)


def find_experiment(application: Application, name: str) -> str:
    """The name of that experiment. Raises `Rejected` if there is none."""
    from hermes_jobs.features.replay.rules.experiment import PREFIX

    return find(application, name).stream.removeprefix(PREFIX)


def find(application: Application, name: str) -> Experiment:
    """The experiment of that name. Raises `Rejected`."""
    from hermes_jobs.features.replay.rules.experiment import Experiment, stream_of

    state = application.engine().state(stream_of(name))
    assert isinstance(state, Experiment), f"{name} is not an experiment"
    if state.definition is None:
        raise Rejected(
            f"There is no experiment {name!r}.", kind="usage", hint="See `hermes-jobs experiments list`."
        )
    return state


def _recorded(
    application: Application, chosen: Sequence[TurnView], *, is_whole: bool
) -> tuple[e.ReplayedTurn, ...]:
    """The turns with their calls, or with the last one of each, without those that cannot be repeated.
    Raises `Rejected` if none remains."""
    from msgspec.structs import replace

    from hermes_jobs.features.replay.cli.replay import recorded_turn

    turns: list[e.ReplayedTurn] = []
    rejections: list[Rejected] = []
    for chosen_turn in chosen:
        try:
            turns.append(recorded_turn(application, chosen_turn.id))
        except Rejected as error:
            rejections.append(error)
    if not turns:
        raise rejections[0]
    if rejections:
        note(f"{pluralize(len(rejections), 'turn')} left out: {rejections[0].message}")
    return tuple(turn if is_whole else replace(turn, calls=turn.calls[-1:]) for turn in turns)


def _require_effects(
    application: Application, turns: Sequence[e.ReplayedTurn], variants: Sequence[e.Variant]
) -> None:
    """Raises `Rejected` for a variant that omits something unknown, or equals another one."""
    from hermes_jobs.features.replay.replays import require_effect

    requests = application.replayed_requests
    for index, variant in enumerate(variants):
        require_effect(requests, turns, variant)
        for other in variants[:index]:
            if all(requests.varied(turn, 1, variant) == requests.varied(turn, 1, other) for turn in turns):
                raise Rejected(
                    f"The variants {other.name!r} and {variant.name!r} ask the same of all these turns.",
                    kind="usage",
                    hint="Give a variant another model, another system prompt, or something to leave out.",
                )
