"""Experiments: a replay of several turns in several variants, whose answers are checked and compared.

A cell is one turn in one variant, once. Its answer is that of its last call. A judge compares it with the
answer of the first variant, when both exist: one more call of the replay, numbered `JUDGE`. A verification is
an experiment that begins with a request and ends with findings: see `verification`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple, assert_never

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules import replay as replays
from hermes_jobs.features.replay.rules.replay import JUDGE, WINDOW, Replay, ReplayCall, required_plan, step_id
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.kernel.turns.steps import Step, StepKind
from hermes_jobs.text.json_objects import json_objects
from hermes_jobs.text.paired_statistics import sign_test

PREFIX = "experiment-"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
NEW = "new"
CANCELLED = "cancelled"
BY_PLACE = 0.01
"""The significance level of the test whether a judge prefers a position rather than an answer."""


class Cell(NamedTuple):
    """One turn in one variant, once: indexes of the plan."""

    variant: int
    turn: int
    sample: int


class Experiment(Replay, frozen=True, kw_only=True):
    """The fold of one stream. `answers` are the last answers of cells, `unchecked` the ids of those calls
    that wait for checks; `checked` is by the same ids. For a verification: its `request`, its last
    `findings`, whether it `is_concluded`, and a person's decisions by kind and name.
    """

    definition: e.ExperimentDefined | None = None
    answers: Mapping[Cell, e.ReplayCallEnded] = {}
    unchecked: tuple[str, ...] = ()
    checked: Mapping[str, e.CellChecked] = {}
    request: e.VerificationRequested | None = None
    findings: tuple[e.Finding, ...] = ()
    is_concluded: bool = False
    decided: Mapping[tuple[e.LearnedKind, str], bool] = {}

    @property
    def is_done(self) -> bool:
        """See `Replay.is_done`."""
        return (self.plan is not None or self.is_concluded) and not next_steps(self)


def stream_of(name: str) -> str:
    """The stream of the experiment with that name."""
    return f"{PREFIX}{name}"


def next_steps(experiment: Experiment) -> tuple[Step, ...]:
    """The due calls of the replay, and the checks of answers; for a verification first its plan, and its
    conclusion when nothing else is left."""
    checks = (
        Step(id=f"{call}-check", stream=experiment.stream, kind="experiment.check")
        for call in experiment.unchecked[:WINDOW]
    )
    steps = (*replays.next_steps(experiment), *checks)
    if steps or experiment.request is None or experiment.is_concluded:
        return steps
    kind: StepKind = "verification.plan" if experiment.plan is None else "verification.conclude"
    name = experiment.request.experiment
    return (Step(id=f"{name}-{kind.partition('.')[2]}", stream=experiment.stream, kind=kind),)


def evolve(
    experiment: Experiment, event: e.ReplayEvent | e.ExperimentEvent | e.VerificationEvent
) -> Experiment:
    """The experiment after one more event."""
    version = experiment.version + 1
    match event:
        case e.ExperimentDefined():
            return replace(experiment, version=version, definition=event)
        case e.CellChecked():
            return replace(
                experiment,
                version=version,
                unchecked=tuple(step for step in experiment.unchecked if step != event.step),
                checked={**experiment.checked, event.step: event},
            )
        case e.CellsJudged():
            return replace(experiment, version=version)  # of an older build
        case e.VerificationRequested() | e.LearningVerified() | e.LearningDecided():
            return replace(_verified(experiment, event), version=version)
        case e.ReplayResumed():
            resumed: Experiment = replays.evolve(experiment, event)  # type: ignore[assignment]
            return replace(resumed, is_concluded=False)
        case e.ReplayCallEnded():
            call = experiment.helper_call(event.step)
            after: Experiment = replays.evolve(experiment, event)  # type: ignore[assignment]
            is_end = call is not None and call.number != JUDGE and not event.followed
            return _answered(after, call, event) if call is not None and is_end else after
        case _:
            return replays.evolve(experiment, event)  # type: ignore[return-value]


def _verified(experiment: Experiment, event: e.VerificationEvent) -> Experiment:
    match event:
        case e.VerificationRequested():
            return replace(experiment, request=event)
        case e.LearningVerified():
            return replace(experiment, findings=event.findings, is_concluded=True)
        case e.LearningDecided():
            return replace(experiment, decided={**experiment.decided, (event.kind, event.name): event.keep})
        case _:
            assert_never(event)


def _answered(experiment: Experiment, call: ReplayCall, event: e.ReplayCallEnded) -> Experiment:
    """The experiment with the answer of a cell, which is then checked and judged."""
    cell = Cell(call.variant, call.turn, call.sample)
    experiment = replace(experiment, answers={**experiment.answers, cell: event})
    definition = experiment.definition
    if definition is None:
        return experiment
    if definition.checks:
        experiment = replace(experiment, unchecked=(*experiment.unchecked, event.step))
    if definition.judge is None:
        return experiment
    calls = tuple(_judgements(experiment, cell))
    all_calls = {**experiment.calls, **{replay_call.id: replay_call for replay_call in calls}}
    return replace(experiment, open=(*experiment.open, *calls), calls=all_calls)


def _judgements(experiment: Experiment, cell: Cell) -> Iterator[ReplayCall]:
    """The calls of the judge that become possible with this cell's answer."""
    num_variants = len(required_plan(experiment).variants)
    for variant in range(1, num_variants) if cell.variant == 0 else [cell.variant]:
        pair = (cell._replace(variant=0), cell._replace(variant=variant))
        if all(compared in experiment.answers for compared in pair):
            call = ReplayCall(id="", variant=variant, turn=cell.turn, sample=cell.sample, number=JUDGE)
            call = replace(call, id=step_id(experiment, call))
            if call.id not in experiment.calls:
                yield call


# --- the judge ----------------------------------------------------------------------------------


def shows_first(seed: int, cell: Cell) -> bool:
    """Whether a judge sees the answer of that cell before the one that it is compared with."""
    return sha256(f"{seed} {tuple(cell)}".encode()).digest()[0] % 2 == 0


def verdict_of(answer: str, *, first: bool) -> e.Verdict | None:
    """The judge's verdict on a cell whose answer was shown `first` or second; None if the reply has no
    verdict."""
    verdicts: dict[str, e.Verdict] = {
        "1": "better" if first else "worse",
        "2": "worse" if first else "better",
        "same": "same",
    }
    named = (str(said["better"]).strip().lower() for said in json_objects(answer) if "better" in said)
    return next((verdicts[name] for name in named if name in verdicts), None)


def judged_by_model(experiment: Experiment, cell: Cell) -> tuple[bool, e.Verdict | None]:
    """Whether the judge has answered about the cell, and its verdict; None if that is unreadable."""
    call = ReplayCall(id="", variant=cell.variant, turn=cell.turn, sample=cell.sample, number=JUDGE)
    outcome = experiment.outcomes.get(step_id(experiment, call))
    if experiment.definition is None or not isinstance(outcome, e.ReplayCallEnded):
        return False, None
    return True, verdict_of(outcome.content, first=shows_first(experiment.definition.seed, cell))


class JudgedPlaces(NamedTuple):
    """How often a judge preferred the first position, and the second. The order is random, so an unbiased
    judge prefers either position about equally often."""

    first: int
    second: int

    @property
    def decide(self) -> bool:
        """Whether the judge is biased towards a position, at the significance level of 1 %."""
        return sign_test(self.first, self.second) < BY_PLACE

    def __str__(self) -> str:
        place = "first" if self.first > self.second else "second"
        most = max(self)
        return f"the judge preferred the answer that it saw {place} in {most} of {sum(self)} judgements"


def judged_places(experiment: Experiment) -> JudgedPlaces:
    """The positions that the judge has preferred in all judgements so far."""
    definition, places = experiment.definition, Counter[bool]()
    for cell in experiment.answers if definition is not None and definition.judge is not None else ():
        _, verdict = judged_by_model(experiment, cell)
        if definition is not None and verdict in {"better", "worse"}:
            places[shows_first(definition.seed, cell) == (verdict == "better")] += 1
    return JudgedPlaces(places[True], places[False])


def shown(answer: e.ReplayCallEnded) -> str:
    """An answer as judges see it, with its tool calls."""
    calls = (f"[It asks for the tool {call.name}: {call.arguments}]" for call in answer.tool_calls)
    return "\n".join((*filter(None, (answer.content,)), *calls))


# --- decisions ----------------------------------------------------------------------------------


def define(defined: e.ExperimentDefined, planned: e.ReplayPlanned) -> Decision:
    """Define an experiment; nothing is due before it is run. Raises `Rejected` if its name is taken."""
    stream = stream_of(defined.experiment)

    def change(load: StateLoader) -> DecisionResult:
        if load(stream).version:
            raise Rejected(
                f"There is an experiment {defined.experiment!r}.", kind="usage", hint="Give it another name."
            )
        waits = e.ReplayStopped(kind=NEW, message="it has not been run yet")
        return DecisionResult.of(stream, defined, planned, waits)

    return change


def cancel(stream: str) -> Decision:
    """Start no further calls; running ones end. Raises `Rejected` if no call is open."""

    def change(load: StateLoader) -> DecisionResult:
        experiment: Experiment = load(stream)
        if experiment.stopped is not None:
            if experiment.stopped.kind == CANCELLED:
                return DecisionResult()
            why = f"It asks nothing: {experiment.stopped.message}."
            raise Rejected(why.replace("..", "."), kind="not_running")
        if not experiment.open:
            raise Rejected("It asks nothing any more: every answer is there.", kind="not_running")
        event = e.ReplayStopped(kind=CANCELLED, message="it was cancelled")
        return DecisionResult.of(stream, event)

    return change
