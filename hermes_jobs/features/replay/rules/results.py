"""The results of an experiment so far: the answers of each variant, and their differences to the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

import msgspec

from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.experiment import (
    Cell,
    Experiment,
    JudgedPlaces,
    judged_by_model,
    judged_places,
)
from hermes_jobs.features.replay.rules.replay import JUDGE, required_plan, step_id
from hermes_jobs.features.replay.rules.replay import ReplayCall as Call
from hermes_jobs.kernel.events import HelperCallFailed
from hermes_jobs.text.paired_statistics import DIGITS, Difference, paired

VERDICTS: Mapping[e.Verdict, float] = {"better": 1.0, "same": 0.0, "worse": -1.0}
JUDGED = "better, by the judge"


class VariantResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a variant: the numbers of answers that exist, are missing, have failed, or have an
    unreadable verdict; the share that passes each check, and the check's message for the first failure;
    average tokens, cost and seconds per answer, None if one is unknown."""

    name: str
    answers: int
    missing: int
    failed: int
    unreadable: int
    checks: dict[str, float | None]
    messages: dict[str, str]
    output_tokens: float | None
    cost_usd: float | None
    seconds: float | None


class ComparedVariant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant compared with the first one: the paired difference of each measure, by turn."""

    name: str
    differences: dict[str, Difference]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """All variants in order, the comparisons with the first, and the positions that the judge preferred."""

    variants: list[VariantResult]
    compared: list[ComparedVariant]
    judged_places: JudgedPlaces = JudgedPlaces(0, 0)


Measure = Callable[[Experiment, Cell], float | None]


def results(experiment: Experiment) -> Results:
    """The results as of now."""
    plan = required_plan(experiment)
    numbers = range(len(plan.variants))
    return Results(
        variants=[_variant(experiment, number) for number in numbers],
        compared=[
            ComparedVariant(name=plan.variants[number].name, differences=_differences(experiment, number))
            for number in numbers[1:]
        ],
        judged_places=judged_places(experiment),
    )


def _variant(experiment: Experiment, number: int) -> VariantResult:
    plan, definition = required_plan(experiment), experiment.definition
    assert definition is not None, f"{experiment.stream} is not defined"
    cells = list(_cells(experiment, number))
    there = [cell for cell in cells if cell in experiment.answers]
    failed = _failed(experiment, number)
    return VariantResult(
        name=plan.variants[number].name,
        answers=len(there),
        missing=len(cells) - len(there) - failed,
        failed=failed,
        unreadable=sum(judged_by_model(experiment, cell) == (True, None) for cell in cells),
        checks={
            check.name: _mean(experiment, there, _check(at)) for at, check in enumerate(definition.checks)
        },
        messages={
            check.name: text
            for at, check in enumerate(definition.checks)
            if (text := _first_failure(experiment, there, at))
        },
        output_tokens=_mean(experiment, there, _output_tokens),
        cost_usd=_mean(experiment, there, _cost),
        seconds=_mean(experiment, there, _seconds),
    )


def _first_failure(experiment: Experiment, cells: Sequence[Cell], at: int) -> str:
    """The check's message for the first of these answers that fails it; empty for none."""
    checked = (experiment.checked.get(experiment.answers[cell].step) for cell in cells)
    failed = (
        event.results[at].message for event in checked if event is not None and not event.results[at].ok
    )
    return next(failed, "")


def _failed(experiment: Experiment, number: int) -> int:
    """The number of the variant's cells without an answer because a call failed."""
    calls = (experiment.calls[step] for step, end in experiment.outcomes.items() if not _is_answer(end))
    return sum(call.variant == number and call.number != JUDGE for call in calls)


def _is_answer(outcome: e.ReplayCallEnded | HelperCallFailed) -> bool:
    return isinstance(outcome, e.ReplayCallEnded)


def _mean(experiment: Experiment, cells: Sequence[Cell], measure: Measure) -> float | None:
    values = [value for cell in cells if (value := measure(experiment, cell)) is not None]
    return fmean(values) if values and len(values) == len(cells) else None


def _differences(experiment: Experiment, number: int) -> dict[str, Difference]:
    """The paired differences of a variant to the first one; unknown ones are left out."""
    definition = experiment.definition
    assert definition is not None, f"{experiment.stream} is not defined"
    measures: dict[str, Measure] = {check.name: _check(at) for at, check in enumerate(definition.checks)} | {
        "cost_usd": _cost,
        "output_tokens": _output_tokens,
        "seconds": _seconds,
    }
    by_measure = {name: _paired(experiment, number, measure) for name, measure in measures.items()}
    by_measure[JUDGED] = _by_turn(experiment, number, _verdict_of_model)
    seed = definition.seed
    return {name: paired(differences, seed) for name, differences in by_measure.items() if differences}


def _paired(experiment: Experiment, number: int, measure: Measure) -> list[float]:
    def difference(experiment: Experiment, cell: Cell) -> float | None:
        values = [measure(experiment, compared) for compared in (cell, cell._replace(variant=0))]
        return None if None in values else (values[0] or 0.0) - (values[1] or 0.0)

    return _by_turn(experiment, number, difference)


def _by_turn(experiment: Experiment, number: int, measure: Measure) -> list[float]:
    """The mean of each turn's samples: turns are independent of each other, samples of one turn are not."""
    by_turn: dict[int, list[float]] = {}
    for cell in _cells(experiment, number):
        value = measure(experiment, cell)
        if value is not None:
            by_turn.setdefault(cell.turn, []).append(value)
    return [round(fmean(values), DIGITS) for _, values in sorted(by_turn.items())]


def _cells(experiment: Experiment, variant: int) -> Iterator[Cell]:
    plan = required_plan(experiment)
    for turn in range(len(plan.turns)):
        for sample in range(plan.samples):
            yield Cell(variant, turn, sample)


def _check(at: int) -> Measure:
    def measure(experiment: Experiment, cell: Cell) -> float | None:
        answer = experiment.answers.get(cell)
        checked = experiment.checked.get(answer.step) if answer is not None else None
        return None if checked is None else float(checked.results[at].ok)

    return measure


def _verdict_of_model(experiment: Experiment, cell: Cell) -> float | None:
    _, verdict = judged_by_model(experiment, cell)
    return None if verdict is None else VERDICTS[verdict]


def _calls(experiment: Experiment, cell: Cell) -> list[e.ReplayCallEnded]:
    """All answers of the cell (several if calls are followed); none before the last one exists."""
    answer = experiment.answers.get(cell)
    if answer is None:
        return []
    last = experiment.calls[answer.step]
    steps = (
        step_id(
            experiment, Call(id="", variant=last.variant, turn=last.turn, sample=last.sample, number=number)
        )
        for number in range(1, last.number + 1)
    )
    outcomes = (experiment.outcomes.get(step) for step in steps)
    return [answer for answer in outcomes if isinstance(answer, e.ReplayCallEnded)]


def _cost(experiment: Experiment, cell: Cell) -> float | None:
    costs = [call.cost_usd for call in _calls(experiment, cell)]
    return None if not costs or None in costs else sum(cost for cost in costs if cost is not None)


def _output_tokens(experiment: Experiment, cell: Cell) -> float | None:
    calls = _calls(experiment, cell)
    return float(sum(call.usage.output_tokens for call in calls)) if calls else None


def _seconds(experiment: Experiment, cell: Cell) -> float | None:
    calls = _calls(experiment, cell)
    return sum(call.seconds for call in calls) if calls else None
