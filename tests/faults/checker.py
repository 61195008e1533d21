"""An independent judge of a finished log: it reads the lines of `log events --json` and nothing else.

No view, no fold and no type of the product is used here, so that a mistake in those cannot hide itself.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tests.faults.child_checker import children_violations

Line = Mapping[str, Any]

ENDS = {"TurnCompleted", "TurnFailed", "TurnCancelled", "TurnMerged"}
RESULTS = {"ToolFinished", "ToolInterrupted"}
WORK = {"ModelCallStarted", "ModelReplied", "ToolStarted", *RESULTS}
BOOKED_BY = {
    "ModelReplied",
    "ModelCallFailed",
    "ResponseBooked",
    "OutcomeDiscarded",
    "ScheduleWorded",
    "ReplayCallEnded",
    "HelperCallEnded",
    "HelperCallFailed",
}
_REPLAYED = re.compile(r"(?P<replay>.+)-v\d+t(?P<turn>\d+)s\d+c\d+")
ESTIMATED_BY = {"ModelReplied", "ModelCallFailed", "ResponseBooked", "StepAbandoned"}


class Given(msgspec.Struct, frozen=True):
    """A response that the model's server gave in full. `output_tokens` is its own among all responses.

    `request` stands in the text of the turn that asked for it; empty for a flush or a summary.
    """

    output_tokens: int
    request: str = ""


def violations(lines: Sequence[Line], given: Iterable[Given] = ()) -> list[str]:
    """What is wrong with the log of an installation in which nothing is due any more; a line for each."""
    checks: tuple[Callable[[Sequence[Line]], Iterator[str]], ...] = (
        _broken_chains,
        _turns_without_one_end,
        _rounds_without_their_results,
        _writes_started_twice,
        _work_after_the_end,
        _requests_without_an_end,
        _doubled_firings,
        children_violations,
    )
    found = [each for check in checks for each in check(lines)]
    return [*found, *_unbooked(lines, list(given))]


def _broken_chains(lines: Sequence[Line]) -> Iterator[str]:
    """Positions grow; each stream's versions are 1, 2, 3 and so on."""
    versions: Counter[str] = Counter()
    last = 0
    for line in lines:
        if line["position"] <= last:
            yield f"position {line['position']} stands behind position {last}"
        last = line["position"]
        versions[line["stream"]] += 1
        if line["version"] != (expected := versions[line["stream"]]):
            yield f"{line['stream']}: version {line['version']} stands where {expected} belongs"


def _turns_without_one_end(lines: Sequence[Line]) -> Iterator[str]:
    """Each accepted text has one end; one more for each time that it was taken up again."""
    submitted = Counter(_named(lines, {"TurnSubmitted"}, "turn"))
    resumed = Counter(_named(lines, {"TurnResumed"}, "turn"))
    ended = Counter(_named(lines, ENDS, "turn"))
    for turn, times in submitted.items():
        if times != 1:
            yield f"turn {turn} was submitted {times} times"
        if ended[turn] != 1 + resumed[turn]:
            yield f"turn {turn} ended {ended[turn]} times and was resumed {resumed[turn]} times"
    for turn in ended.keys() - submitted.keys():
        yield f"turn {turn} ended and was never submitted"


def _rounds_without_their_results(lines: Sequence[Line]) -> Iterator[str]:
    """Every call has one result, before the turn's next model call and before its end."""
    open_calls: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        kind, data = line["type"], line["data"]
        turn = data.get("turn")
        if kind == "ModelReplied":
            open_calls[turn].update(plan["call"] for plan in data["plan"])
        elif kind in RESULTS:
            if data["call"] not in open_calls[turn]:
                yield f"call {data['call']} got a result that nobody waited for ({kind})"
            open_calls[turn].discard(data["call"])
        elif kind in ENDS or kind == "ModelCallStarted":
            for call in sorted(open_calls[turn]):
                yield f"call {call} had no result when {kind} was appended (position {line['position']})"
            open_calls[turn].clear()
    for turn, calls in open_calls.items():
        for call in sorted(calls):
            yield f"call {call} of turn {turn} never got a result"


def _writes_started_twice(lines: Sequence[Line]) -> Iterator[str]:
    """Once, and once more for each time that its server has asked for input in the place of a result."""
    writes = (line for line in lines if line["type"] == "ToolStarted" and line["data"]["effect"] == "write")
    asked = (line for line in lines if line["type"] == "InputRequested" and not line["data"].get("live"))
    allowed = Counter(line["data"]["call"] for line in asked)
    for call, times in Counter(line["data"]["call"] for line in writes).items():
        if times > 1 + allowed[call]:
            yield f"call {call}, which writes, was started {times} times"


def _work_after_the_end(lines: Sequence[Line]) -> Iterator[str]:
    """Nothing is done for a turn that is over; each reply is the only one of its step."""
    over: set[str] = set()
    replies: Counter[str] = Counter()
    for line in lines:
        kind, turn = line["type"], line["data"].get("turn")
        if kind == "TurnResumed":
            over.discard(turn)
        elif kind in ENDS:
            over.add(turn)
        elif kind in WORK and turn in over:
            yield f"{kind} at position {line['position']} comes after the end of turn {turn}"
        if kind == "ModelReplied":
            replies[line["data"]["step"]] += 1
    yield from (f"step {step} was replied to {times} times" for step, times in replies.items() if times > 1)


def _requests_without_an_end(lines: Sequence[Line]) -> Iterator[str]:
    """What was asked for beside turns ended once: reviews, scheduled runs, deliveries, compressions."""
    pairs = (
        ("review", "ReviewRequested", ("ReviewCompleted", "ReviewFailed")),
        ("turn", "ScheduleFired", ("ScheduleRunEnded",)),
        ("delivery", "DeliveryRequested", ("DeliverySent", "DeliveryFailed")),
    )
    for name, begun, ended in pairs:
        final = [line for line in lines if line["data"].get("retry_at") is None]
        ends = Counter(_named(final, set(ended), name))
        asked = [line for line in lines if line["data"].get("target") != "cli"]  # the inbox: already there
        for each, times in Counter(_named(asked, {begun}, name)).items():
            if times != 1 or ends[each] != 1:
                yield f"{name} {each}: {times} times {begun}, {ends[each]} times {' or '.join(ended)}"
    yield from _manual_compressions(lines)


def _manual_compressions(lines: Sequence[Line]) -> Iterator[str]:
    """A person's compression ends, or is given up after its workers have died."""
    waiting: dict[str, int] = {}
    for line in lines:
        kind, stream, data = line["type"], line["stream"], line["data"]
        if kind == "CompressionRequested" and data["reason"] == "manual":
            waiting[stream] = line["position"]
        failed = kind == "CompressionFailed" and data["retry_at"] is None
        given_up = kind == "StepAbandoned" and data["attempt"] > 1
        if kind == "ContextCompressed" or failed or given_up:
            waiting.pop(stream, None)
    for stream, position in waiting.items():
        yield f"{stream}: the compression asked for at position {position} never ended"


def _doubled_firings(lines: Sequence[Line]) -> Iterator[str]:
    fired = (line["data"] for line in lines if line["type"] == "ScheduleFired")
    for key, times in Counter((data["schedule"], data["due"]) for data in fired).items():
        if times > 1:
            yield f"schedule {key[0]} fired {times} times for {key[1]}"


def _lost_helper_calls(lines: Sequence[Line]) -> Iterator[str]:
    """The turn of each helper call that died with its worker, empty if it has none: its next start books what
    it had reserved."""
    asked = {
        (planned["replay"], number): turn["turn"]
        for planned in _data(lines, "ReplayPlanned")
        for number, turn in enumerate(planned["turns"], 1)
    }
    for started in _data(lines, "HelperCallStarted"):
        named = _REPLAYED.fullmatch(started["step"])
        if started["lost"]:
            yield asked.get((named["replay"], int(named["turn"])), "") if named else ""


def _unbooked(lines: Sequence[Line], given: Sequence[Given]) -> Iterator[str]:
    """Every response is booked once, or an estimate of the turn that asked for it stands in its place."""
    booked: Counter[int] = Counter()
    estimates: Counter[str] = Counter()
    for line in lines:
        data = line["data"]
        if line["type"] in BOOKED_BY and _tokens(data["usage"]):
            booked[data["usage"]["output_tokens"]] += 1
        if line["type"] in ESTIMATED_BY and _tokens(data["estimated"]):
            beside = "-flush-" in data["step"] or "-compress-" in data["step"]
            estimates["" if beside else data["turn"]] += 1
    estimates.update(_lost_helper_calls(lines))
    known = {each.output_tokens for each in given}
    for tokens, times in booked.items():
        if tokens in known and times > 1:
            yield f"the response of {tokens} output tokens was booked {times} times"
    texts = {data["turn"]: data["text"] for data in _data(lines, "TurnSubmitted")}
    missing = Counter(each.request for each in given if not booked[each.output_tokens])
    for request, times in missing.items():
        turns = [turn for turn, text in texts.items() if request in text] if request else list(estimates)
        estimated = sum(estimates[turn] for turn in turns)
        if times > estimated:
            asked = f"of {request!r}" if request else "of flushes and summaries"
            yield f"{times} responses {asked} are not booked, {estimated} were estimated"


def _data(lines: Iterable[Line], kind: str) -> Iterator[Mapping[str, Any]]:
    return (line["data"] for line in lines if line["type"] == kind)


def _tokens(usage: Mapping[str, int]) -> int:
    return sum(usage.values())


def _named(lines: Iterable[Line], kinds: set[str], name: str) -> Iterator[str]:
    return (line["data"][name] for line in lines if line["type"] in kinds)
