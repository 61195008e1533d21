"""An experiment as a page: its variants, their differences with intervals, and every answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.experiment import PREFIX, Cell, Experiment, judged_by_model, shown
from hermes_jobs.features.replay.rules.replay import required_plan
from hermes_jobs.features.replay.rules.results import ComparedVariant, Results, VariantResult
from hermes_jobs.interfaces.html.render import Redact, render
from hermes_jobs.text.paired_statistics import Difference

AXIS_MARGIN = 0.05  # the free share of the axis at each end


class IntervalMark(msgspec.Struct, frozen=True, kw_only=True):
    """A difference on the axis of its row, in percent of its width: the mean, and the interval.

    Zero is in the middle.
    """

    mean: float
    low: float
    width: float


class PageRow(msgspec.Struct, frozen=True):
    """A measure: its cells, and its mark."""

    cells: Sequence[str]
    mark: IntervalMark


class PageVariant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant with its results; `differs` describes how its requests differ from the recorded ones."""

    differs: str
    found: VariantResult


class PageAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of a cell; `findings` are the results of checks and judges."""

    variant: str
    sample: int
    content: str
    findings: str


def experiment_page(
    experiment: Experiment,
    results: Results,
    rows: Mapping[str, Sequence[Sequence[str]]],
    remarks: Sequence[str],
    texts: Mapping[str, str],
    redact: Redact,
    *,
    status: str,
) -> str:
    """The page, as HTML. `rows` are the cells of each compared variant's measures, `texts` those of turns."""
    plan, definition = required_plan(experiment), experiment.definition
    assert definition is not None, f"{experiment.stream} is not defined"
    name = experiment.stream.removeprefix(PREFIX)
    turns = [
        (turn.turn, texts[turn.turn], _answers(experiment, number)) for number, turn in enumerate(plan.turns)
    ]
    return render(
        "experiment.html",
        redact,
        title=f"Experiment {name}",
        name=name,
        query=definition.query,
        samples=plan.samples,
        checks=[check.name for check in definition.checks],
        judge=definition.judge,
        status=status,
        variants=[
            PageVariant(differs=_differs(variant), found=result)
            for variant, result in zip(plan.variants, results.variants, strict=True)
        ],
        first=plan.variants[0].name,
        compared=[
            (compared_variant.name, _measures(rows[compared_variant.name], compared_variant))
            for compared_variant in results.compared
        ],
        remarks=remarks,
        turns=turns,
    )


def _measures(rows: Sequence[Sequence[str]], compared: ComparedVariant) -> list[PageRow]:
    pairs = zip(rows, compared.differences.values(), strict=True)
    return [PageRow(cells, mark_of(difference)) for cells, difference in pairs]


def mark_of(difference: Difference) -> IntervalMark:
    """The mark of the difference on an axis with zero in the middle that shows the whole interval."""
    maximum = max(abs(difference.low), abs(difference.high)) or 1.0

    def at(value: float) -> float:
        return round(50 + (50 - 100 * AXIS_MARGIN) * value / maximum, 2)

    low, high = at(difference.low), at(difference.high)
    return IntervalMark(mean=at(difference.mean), low=low, width=round(max(high - low, 0.5), 2))


def _differs(variant: e.Variant) -> str:
    parts = [f"model {variant.model}"] if variant.model else []
    parts += ["another system prompt"] if variant.system is not None else []
    parts += [f"without {omitted.kind} {omitted.name}" for omitted in variant.without]
    return ", ".join(parts) or "as recorded"


def _answers(experiment: Experiment, turn: int) -> list[PageAnswer]:
    plan = required_plan(experiment)
    return [
        PageAnswer(
            variant=plan.variants[cell.variant].name,
            sample=cell.sample + 1,
            content=shown(experiment.answers[cell]),
            findings=", ".join(_findings(experiment, cell)),
        )
        for cell in sorted(experiment.answers)
        if cell.turn == turn
    ]


def _findings(experiment: Experiment, cell: Cell) -> Sequence[str]:
    definition = experiment.definition
    checked = experiment.checked.get(experiment.answers[cell].step)
    findings = []
    if checked is not None and definition is not None:
        for check, result in zip(definition.checks, checked.results, strict=True):
            findings.append(f"{check.name}: {'kept' if result.ok else 'not kept'}")
    has_judged, verdict = judged_by_model(experiment, cell)
    return [*findings, f"judge: {verdict or 'not readable'}"] if has_judged else findings
