"""A turn as a page: its timeline, each call with what went in and came out, the books, the facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.html.figures import moment
from hermes_jobs.interfaces.html.render import Redact, prose, render
from hermes_jobs.views.models import StepView, TurnView
from hermes_jobs.views.timeline import Timeline, Track, tracks
from hermes_jobs.views.turn_events import concerns

HEAD = 1_500  # characters of a text that stand there before it is opened
FACT = 6_000  # characters of a fact
TICKS = 4


class Text(msgspec.Struct, frozen=True):
    """A text under a heading; `whole` is empty where the head is all of it."""

    title: str
    head: str
    whole: str = ""
    size: int = 0


class Bar(msgspec.Struct, frozen=True):
    """A stretch of a line, in percent of its width."""

    kind: str
    x: float
    width: float


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the timeline, with what opens below it. `brief`: its call's arguments in a few words."""

    anchor: str
    track: Track
    brief: str
    bars: tuple[Bar, ...]
    texts: tuple[Text, ...]
    step: StepView | None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the turn; `after` in seconds, `why` is what caused it."""

    position: int
    after: float
    type: str
    by: str
    why: str
    data: str
    size: int


def turn_page(
    turn: TurnView,
    found: Timeline,
    events: Sequence[RecordedEvent],
    redact: Redact,
    zone: tzinfo | None = None,
) -> str:
    """The page, as HTML. `events` are those of the turn's stream; `turn` comes with its steps.

    Without a zone, its moment is of this machine's.
    """
    own = [each for each in events if concerns(each.event, turn.id)]
    texts = _texts(own, redact)
    steps = {(step.id, step.attempt): step for step in turn.steps}
    rows = [
        Row(
            anchor=f"s{at}",
            track=track,
            brief=_brief(track.last.arguments),
            bars=tuple(_bars(track, found.seconds)),
            texts=tuple(texts.get((track.last.step, track.last.attempt), ())),
            step=steps.get((track.last.step, track.last.attempt)),
        )
        for at, track in enumerate(tracks(found.spans), 1)
    ]
    return render(
        "turn.html",
        redact,
        title=_title(turn),
        turn=turn,
        submitted=moment(turn.submitted_at, zone),
        timeline=found,
        rows=rows,
        ticks=[at / TICKS for at in range(TICKS + 1)],
        said=_text("Asked", turn.text, redact),
        answer=prose(redact(turn.answer)) if turn.answer is not None else None,
        facts=[_fact(each, found, redact) for each in own],
        anchors={row.track.last.step: row.anchor for row in rows},
    )


def _title(turn: TurnView) -> str:
    line = " ".join(turn.text.split())
    return line if len(line) <= 120 else line[:119] + "…"


def _bars(track: Track, seconds: float) -> Iterable[Bar]:
    """Each wide enough to be seen."""
    for span in track.spans:
        x = 100 * span.start / seconds if seconds else 0.0
        width = max(0.4, 100 * span.seconds / seconds if seconds else 100.0)
        kind = span.kind if span.outcome in {"ok", "approved", "running", "waiting"} else span.outcome
        yield Bar(kind, round(min(x, 99.6), 3), round(min(width, 100.0), 3))


def _text(title: str, text: str, redact: Redact) -> Text:
    """The text, redacted before it is cut: half a secret is none to be recognised by."""
    clean = redact(text)
    if len(clean) <= HEAD:
        return Text(title, clean)
    return Text(title, clean[:HEAD] + "…", clean, len(clean))


def _texts(events: Iterable[RecordedEvent], redact: Redact) -> Mapping[tuple[str, int], Sequence[Text]]:
    """What went in and came out, by step and attempt."""
    found: dict[tuple[str, int], list[Text]] = {}
    for recorded in events:
        match recorded.event:
            case e.ToolStarted() as event:
                told = [("Arguments", _indented(event.arguments))]
                key = (event.call, event.attempt)
            case e.ToolFinished() as event:
                told = [("Result" if event.ok else "Error", event.content)]
                told += [("All of it", f"results/{event.call}.txt")] * bool(event.spilled_to)
                key = (event.call, event.attempt)
            case e.ModelReplied() as event:
                calls = "\n".join(f"{call.name} {call.arguments}" for call in event.tool_calls)
                told = [("Reasoning", event.reasoning), ("Text", event.content), ("Calls", calls)]
                key = (event.step, event.attempt)
            case e.ModelCallFailed() as event:
                told = [("Error", event.message), ("Hint", event.hint)]
                key = (event.step, event.attempt)
            case e.ContextFlushed() as event:
                told, key = [("Saved", event.saved)], (event.step, 1)
            case e.ContextCompressed() as event:
                told, key = [("Summary", event.summary)], (event.step, 1)
            case _:
                continue
        found.setdefault(key, []).extend(_text(title, text, redact) for title, text in told if text)
    return found


def _fact(recorded: RecordedEvent, found: Timeline, redact: Redact) -> Fact:
    data = redact(msgspec.json.format(msgspec.json.encode(recorded.event), indent=1).decode())
    after = datetime.fromisoformat(recorded.recorded_at) - datetime.fromisoformat(found.began)
    return Fact(
        position=recorded.position,
        after=max(0.0, after.total_seconds()),
        type=recorded.type,
        by=recorded.meta.worker,
        why=recorded.meta.causation or "",
        data=data[:FACT],
        size=len(data),
    )


def _brief(arguments: str) -> str:
    try:
        values = msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return arguments
    return " ".join(" ".join(str(value).split()) for value in values.values())


def _indented(arguments: str) -> str:
    """The arguments a line each, where they are JSON."""
    try:
        return msgspec.json.format(arguments, indent=2)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return arguments
