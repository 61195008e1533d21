"""Verifications: experiments that repeat past turns with and without the items that a review saved.

The first variant is the recorded one; each other variant includes one saved item. An answer with it is
compared with the one without it, by these rules, then by the judge if there is one:

| rule                                                                             | the answer is |
|----------------------------------------------------------------------------------|---------------|
| it fails for what was asked, is empty or cut off, and the other one is not        | worse         |
| the other way round                                                              | better        |
| an unrelated turn: it wants other tool calls, or is more than twice as long      | worse         |
| else                                                                             | the same      |

An item is harmful if more turns are worse than better with it, and the mean of all turns is -0.25 or less. If
half of the comparisons failed, it stays open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from hermes_jobs.errors import Rejected
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.comparison import normalised
from hermes_jobs.features.replay.rules.experiment import (
    CANCELLED,
    Cell,
    Experiment,
    judged_by_model,
    judged_places,
    stream_of,
)
from hermes_jobs.features.replay.rules.replay import Outcome, ReplayCall, required_plan, step_id
from hermes_jobs.kernel.events import HelperCallFailed, TurnEnd
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.turns import review_rules
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.text.figures import pluralize

NAMES = "verify-"
"""Prefix of the names of these experiments; those of users do not have it."""
VERIFY = "verify"
"""The purpose of their calls in usage records."""
UNDONE = "undone by a person"
HARM = -0.25
LONGER, SPARE = 2, 200  # an answer this many times as long, and this many tokens longer, is worse
FROM_THE_REQUEST = frozenset({"bad_request", "content_policy", "context_overflow", "payload_too_large"})
"""Kinds of failures caused by the request, not by the model or the provider."""
VALUES = {"better": 1.0, "same": 0.0, "worse": -1.0}


def purpose_of(stream: str) -> str:
    """The purpose of a replay's calls: `verify` or `replay`."""
    return VERIFY if stream.startswith(stream_of(NAMES)) else "replay"


class Compared(NamedTuple):
    """The verdict on an answer with the item, None if unknown; `why` in a few words."""

    verdict: e.Verdict | None
    why: str = ""


# --- beginning ----------------------------------------------------------------------------------


def requested(session: Session, end: TurnEnd, _load: StateLoader) -> Iterator[StreamEvents]:
    """The verification that is requested at the end of a review's turn, if it saved anything."""
    turn = session.find(end.turn)
    if turn is not None and session.forked_from is not None and review_rules.is_its_turn(session, turn):
        yield from _requested(session, turn)


def _requested(review: Session, turn: Turn) -> Iterator[StreamEvents]:
    started = review.started
    if started is None or started.verify == "off" or started.at is None or not turn.saves:
        return
    again = f"-{turn.times_resumed}" if turn.times_resumed else ""
    name = f"{NAMES}{review.lineage}{again}"
    event = e.VerificationRequested(
        experiment=name,
        review=review.lineage,
        session=review.forked_from or "",
        at=started.at,
        mode=started.verify,
    )
    yield StreamEvents(stream_of(name), (event,))


def plan(stream: str, defined: e.ExperimentDefined, planned: e.ReplayPlanned) -> Decision:
    """Record the plan, once."""

    def change(load: StateLoader) -> DecisionResult:
        experiment: Experiment = load(stream)
        if experiment.plan is not None or experiment.is_concluded:
            return DecisionResult()
        return DecisionResult.of(stream, defined, planned)

    return change


def give_up(stream: str, items: Sequence[e.Inclusion], why: str) -> Decision:
    """Conclude without calls, because no turn can be repeated: the items stay provisional."""

    def change(load: StateLoader) -> DecisionResult:
        experiment: Experiment = load(stream)
        if experiment.plan is not None or experiment.is_concluded or experiment.request is None:
            return DecisionResult()
        findings = tuple(
            e.Finding(kind=item.kind, name=item.name, standing="open", why=why) for item in items
        )
        event = e.LearningVerified(review=experiment.request.review, findings=findings)
        return DecisionResult.of(stream, event)

    return change


# --- conclusion ---------------------------------------------------------------------------


def conclude(stream: str) -> Decision:
    """Record the findings, when no call is left or can be made."""

    def change(load: StateLoader) -> DecisionResult:
        experiment: Experiment = load(stream)
        if experiment.request is None or experiment.is_concluded or experiment.plan is None:
            return DecisionResult()
        event = e.LearningVerified(review=experiment.request.review, findings=findings(experiment))
        return DecisionResult.of(stream, event)

    return change


def findings(experiment: Experiment) -> tuple[e.Finding, ...]:
    """The current findings, one for each variant but the first."""
    return tuple(_finding(experiment, at) for at in range(1, len(required_plan(experiment).variants)))


def _finding(experiment: Experiment, variant: int) -> e.Finding:
    plan = required_plan(experiment)
    item = plan.variants[variant].including[0]
    cells = [Cell(variant, turn, at) for turn in range(len(plan.turns)) for at in range(plan.samples)]
    comparisons = {cell: compared(experiment, cell) for cell in cells}
    verdicts = {cell: pair.verdict for cell, pair in comparisons.items() if pair.verdict is not None}
    text = Counter(
        pair.why for pair in comparisons.values() if pair.verdict is None or pair.verdict == "worse"
    )
    standing, why = _standing(experiment, verdicts, len(cells), next(iter(text.most_common(1)), ("", 0))[0])
    return e.Finding(
        kind=item.kind,
        name=item.name,
        standing=standing,
        why=why,
        pairs=len(cells),
        better=sum(verdict == "better" for verdict in verdicts.values()),
        worse=sum(verdict == "worse" for verdict in verdicts.values()),
        unknown=len(cells) - len(verdicts),
        tokens_with=_tokens(experiment, cells),
        tokens_without=_tokens(experiment, [cell._replace(variant=0) for cell in cells]),
    )


def _standing(
    experiment: Experiment, verdicts: dict[Cell, e.Verdict], num_pairs: int, why: str
) -> tuple[e.VerificationStatus, str]:
    if experiment.stopped is not None:
        return "open", experiment.stopped.message
    if 2 * len(verdicts) <= num_pairs:
        missing = num_pairs - len(verdicts)
        return "open", f"{missing} of {pluralize(num_pairs, 'comparison')} came to nothing: {why}"
    by_turn: dict[int, list[float]] = {}
    for cell, verdict in verdicts.items():
        by_turn.setdefault(cell.turn, []).append(VALUES[verdict])
    means = [fmean(values) for values in by_turn.values()]
    worse, better = sum(mean < 0 for mean in means), sum(mean > 0 for mean in means)
    turns = pluralize(len(means), "turn")
    if worse > better and fmean(means) <= HARM:
        return "harmful", f"worse with it in {worse} of {turns}: {why}"
    helped = f"better with it in {better} of {turns}"
    return "kept", helped if better > worse else f"it did no harm in {turns}"


def compared(experiment: Experiment, cell: Cell) -> Compared:
    """The answer of a cell compared with the one without the item."""
    own, other = (_outcome(experiment, compared) for compared in (cell, cell._replace(variant=0)))
    if not isinstance(other, e.ReplayCallEnded):
        return Compared(None, f"without it there is no answer{_failure(other)}")
    if not isinstance(own, e.ReplayCallEnded):
        failed = own is not None and own.kind in FROM_THE_REQUEST
        return Compared("worse" if failed else None, f"with it there is no answer{_failure(own)}")
    if _is_complete(own) != _is_complete(other):
        return (
            Compared("better") if _is_complete(own) else Compared("worse", "the answer is empty or cut off")
        )
    if required_plan(experiment).turns[cell.turn].unrelated:
        if _calls(own) != _calls(other):
            return Compared("worse", "an unrelated turn wants other tool calls")
        if _output(own) > LONGER * _output(other) + SPARE:
            return Compared("worse", "the answer to an unrelated turn is more than twice as long")
    has_judge = experiment.definition is not None and experiment.definition.judge is not None
    return _judged(experiment, cell) if has_judge else Compared("same")


def _judged(experiment: Experiment, cell: Cell) -> Compared:
    places = judged_places(experiment)
    if places.decide:
        return Compared(None, str(places))
    answered, verdict = judged_by_model(experiment, cell)
    if verdict is None:
        text = "what the judge answered cannot be read" if answered else "the judge did not answer"
        return Compared(None, text)
    return Compared(verdict, "the judge prefers the answer without it" if verdict == "worse" else "")


def _outcome(experiment: Experiment, cell: Cell) -> Outcome | None:
    call = ReplayCall(id="", variant=cell.variant, turn=cell.turn, sample=cell.sample, number=1)
    return experiment.outcomes.get(step_id(experiment, call))


def _failure(outcome: Outcome | None) -> str:
    return f" ({outcome.kind}: {outcome.message})" if isinstance(outcome, HelperCallFailed) else ""


def _is_complete(answer: e.ReplayCallEnded) -> bool:
    return bool(answer.content.strip() or answer.tool_calls) and answer.finish_reason != "length"


def _calls(answer: e.ReplayCallEnded) -> set[tuple[str, str]]:
    return {normalised(call) for call in answer.tool_calls}


def _output(answer: e.ReplayCallEnded) -> int:
    return answer.usage.output_tokens or answer.estimated.output_tokens


def _tokens(experiment: Experiment, cells: Sequence[Cell]) -> float:
    outcomes = (_outcome(experiment, cell) for cell in cells)
    return fmean(
        [float(_output(answer)) for answer in outcomes if isinstance(answer, e.ReplayCallEnded)] or [0.0]
    )


# --- a person's decision ------------------------------------------------------------------------


def decide(
    stream: str, kind: e.LearnedKind, name: str, by: str, taking_back: Decision | None = None
) -> Decision:
    """Accept a provisional item, or undo it by that decision, in one append. Raises `Rejected` if there is no
    finding about it, or a person has decided before.
    """

    def change(load: StateLoader) -> DecisionResult:
        experiment: Experiment = load(stream)
        has_finding = any((kind, name) == (finding.kind, finding.name) for finding in experiment.findings)
        if experiment.request is None or not has_finding:
            raise Rejected(f"Nothing was found of {kind}:{name} yet.", kind="not_verified")
        decided = experiment.decided.get((kind, name))
        if decided is not None:
            outcome = "is kept for good" if decided else "was undone"
            raise Rejected(f"{kind}:{name} {outcome} already.", kind="decided")
        done = taking_back(load) if taking_back is not None else DecisionResult()
        event = e.LearningDecided(
            review=experiment.request.review, kind=kind, name=name, keep=taking_back is None, by=by
        )
        return DecisionResult(writes=(*done.writes, StreamEvents(stream, (event,))), answer=done.answer)

    return change


def undone(stream: str, kind: e.LearnedKind, name: str, by: str) -> Decision:
    """Record that a person undid an item by a separate write; the verification stops if it tests nothing
    else. No event if a person has decided before, or the verification is about other items."""

    def change(load: StateLoader) -> DecisionResult:
        experiment: Experiment = load(stream)
        about = {(item.kind, item.name) for item in _verified(experiment)}
        is_other = experiment.plan is not None and (kind, name) not in about
        if experiment.request is None or is_other or (kind, name) in experiment.decided:
            return DecisionResult()
        decided = e.LearningDecided(review=experiment.request.review, kind=kind, name=name, keep=False, by=by)
        is_last = about <= {(kind, name), *experiment.decided} and not experiment.is_concluded
        stops = is_last and experiment.open and experiment.stopped is None
        stopped = e.ReplayStopped(kind=CANCELLED, message=UNDONE)
        return DecisionResult.of(stream, decided, *((stopped,) if stops else ()))

    return change


def _verified(experiment: Experiment) -> Iterator[e.Inclusion]:
    for variant in experiment.plan.variants if experiment.plan is not None else ():
        yield from variant.including
