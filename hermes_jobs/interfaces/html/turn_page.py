"""A turn as a page: its timeline, each call with input and output, usage, events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo

import msgspec

from hermes_jobs.features.replay.replayed_requests import SentRequest
from hermes_jobs.features.usage.tables.usage import UnknownCost
from hermes_jobs.interfaces.html.render import Frame, Redact, prose, render
from hermes_jobs.interfaces.html.shown_files import ShownFile
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolMessage, UserMessage
from hermes_jobs.kernel.views.models import StepView, TurnView
from hermes_jobs.kernel.views.timeline import Timeline, Track, tracks
from hermes_jobs.kernel.views.tree import Tree
from hermes_jobs.kernel.views.turn_events import concerns
from hermes_jobs.text.figures import moment

HEAD = 1_500  # characters of a folded text
FACT = 6_000  # characters of an event
TICKS = 4


class Text(msgspec.Struct, frozen=True):
    """A text under a heading; `whole` is empty if the head is all of it."""

    title: str
    head: str
    whole: str = ""
    size: int = 0


class Bar(msgspec.Struct, frozen=True):
    """A span of a line, in percent of its width."""

    kind: str
    x: float
    width: float


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the timeline, with its details. `brief`: its call's arguments in a few words;
    `again`: the time of a future retry."""

    anchor: str
    track: Track
    brief: str
    bars: tuple[Bar, ...]
    texts: tuple[Text, ...]
    step: StepView | None
    again: str = ""


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A write of a file; `lines` are those of its diff, each with its class."""

    path: str
    call: str
    added: int
    removed: int
    lines: tuple[tuple[str, str], ...]


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the tree; `depth` counts its shown parents, `text` is its goal or its text in a line."""

    tree: Tree
    depth: int
    text: str


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the turn; `after` in seconds, `why` is its cause."""

    position: int
    after: float
    type: str
    by: str
    why: str
    data: str
    size: int


def turn_page(  # noqa: PLR0913, PLR0917 - all that a page shows
    turn: TurnView,
    timeline: Timeline,
    events: Sequence[RecordedEvent],
    redact: Redact,
    zone: tzinfo | None = None,
    unknown: Sequence[UnknownCost] = (),
    sent: SentRequest | None = None,
    tree: Tree | None = None,
    shown: Sequence[ShownFile] = (),
    frame: Frame | None = None,
) -> str:
    """The page, as HTML. `events` are those of the turn's stream; `turn` comes with its steps.

    Without a zone, times are in this machine's. `unknown`: usage without a cost. `sent`: the request of its
    last model call. `tree`: the turn with its sub-agents. `shown`: its pictures and files. `frame`: what
    stands around it; None: nothing.
    """
    own = [event for event in events if concerns(event.event, turn.id)]
    rows = list(_timeline_rows(turn, timeline, _texts(own, redact), zone))
    return render(
        "turn.html",
        redact,
        frame,
        title=_title(turn),
        turn=turn,
        unknown=unknown,
        submitted=moment(datetime.fromisoformat(turn.submitted_at).astimezone(zone), seconds=True),
        timeline=timeline,
        rows=rows,
        asks=any(span.kind == "question" for span in timeline.spans),
        ordered=any(span.after for span in timeline.spans),
        ticks=[index / TICKS for index in range(TICKS + 1)],
        said=_text("Asked", turn.text, redact),
        answer=prose(redact(turn.answer)) if turn.answer is not None else None,
        sent=sent,
        prompt=_prompt(sent, redact) if sent is not None else (),
        tree=tree,
        branches=list(_branches(tree)) if tree is not None and tree.children else [],
        changed=[_changed(event.event, redact) for event in own if isinstance(event.event, e.FileWritten)],
        shown=shown,
        facts=[_fact(event, timeline, redact) for event in own],
        anchors={row.track.last.step: row.anchor for row in rows},
    )


def _timeline_rows(
    turn: TurnView,
    timeline: Timeline,
    texts: Mapping[tuple[str, int], Sequence[Text]],
    zone: tzinfo | None,
) -> Iterable[TimelineRow]:
    steps = {(step.id, step.attempt): step for step in turn.steps}
    for number, track in enumerate(tracks(timeline.spans), 1):
        attempt = track.last.step, track.last.attempt
        yield TimelineRow(
            anchor=f"s{number}",
            track=track,
            brief=_brief(track.last.arguments),
            bars=tuple(_bars(track, timeline.seconds)),
            texts=tuple(texts.get(attempt, ())),
            step=steps.get(attempt),
            again=_again(track.last.retry_at, zone),
        )


def _branches(tree: Tree, depth: int = 0) -> Iterable[Branch]:
    yield Branch(tree=tree, depth=depth, text=_in_a_line(tree.about))
    for child in tree.children:
        yield from _branches(child, depth + 1)


def _title(turn: TurnView) -> str:
    return _in_a_line(turn.text)


def _in_a_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"


def _again(retry_at: float | None, zone: tzinfo | None) -> str:
    if retry_at is None:
        return ""
    return moment(datetime.fromtimestamp(retry_at, UTC).astimezone(zone), seconds=True)


def _bars(track: Track, seconds: float) -> Iterable[Bar]:
    """Each wide enough to be seen."""
    for span in track.spans:
        x = 100 * span.start / seconds if seconds else 0.0
        width = max(0.4, 100 * span.seconds / seconds if seconds else 100.0)
        kind = (
            span.kind
            if span.outcome in {"ok", "approved", "answered", "running", "waiting", "held"}
            else span.outcome
        )
        yield Bar(kind, round(min(x, 99.6), 3), round(min(width, 100.0), 3))


def _text(title: str, text: str, redact: Redact) -> Text:
    """The text, redacted before it is cut: half a secret would not be recognised."""
    clean = redact(text)
    if len(clean) <= HEAD:
        return Text(title, clean)
    return Text(title, clean[:HEAD] + "…", clean, len(clean))


def _texts(events: Iterable[RecordedEvent], redact: Redact) -> Mapping[tuple[str, int], Sequence[Text]]:
    """Inputs and outputs, by step and attempt."""
    texts: dict[tuple[str, int], list[Text]] = {}
    for recorded in events:
        match recorded.event:
            case e.ToolStarted() as event:
                message = [("Arguments", _indented(event.arguments))]
                key = (event.call, event.attempt)
            case e.ToolFinished() as event:
                waits = bool(event.rule) and not event.refused
                title = "Result" if event.ok else "Held" if waits else "Error"
                message = [(title, event.rule if waits else event.content)]
                message += [("All of it", f"results/{event.call}.txt")] * bool(event.spilled_to)
                key = (event.call, event.attempt)
            case e.ModelReplied() as event:
                calls = "\n".join(f"{call.name} {call.arguments}" for call in event.tool_calls)
                message = [("Reasoning", event.reasoning), ("Text", event.content), ("Calls", calls)]
                key = (event.step, event.attempt)
            case e.ReferenceReplied() as event:
                message = [("Reasoning", event.reasoning), ("Text", event.content)]
                key = (event.step, event.attempt)
            case e.ReferenceFailed() as event:
                message, key = [("Error", event.message)], (event.step, event.attempt)
            case e.ModelCallFailed() as event:
                message = [("Error", event.message), ("Hint", event.hint)]
                key = (event.step, event.attempt)
            case e.ContextFlushed() as event:
                message, key = [("Saved", event.saved)], (event.step, 1)
            case e.ContextCompressed() as event:
                message, key = [("Summary", event.summary)], (event.step, 1)
            case _:
                continue
        texts.setdefault(key, []).extend(_text(title, text, redact) for title, text in message if text)
    return texts


def _prompt(sent: SentRequest, redact: Redact) -> Sequence[Text]:
    """The parts of the request, in their order."""
    request = sent.request
    names = ", ".join(sorted(tool.name for tool in request.tools))
    notice = [("System prompt", request.system_prompt), (f"Tools ({len(request.tools)})", names)]
    for message in request.messages:
        match message:
            case UserMessage():
                notice.append(("User", message.content))
            case AssistantMessage():
                calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
                notice.append(("Assistant", "\n".join(filter(None, (message.content, *calls)))))
            case ToolMessage():
                notice.append((f"Tool {message.name}", message.content))
    return [_text(title, text, redact) for title, text in notice if text]


def _changed(event: e.FileWritten, redact: Redact) -> ChangedFile:
    """The write with its diff, redacted as a whole before it is split into lines."""
    lines = redact(event.diff).split("\n")
    if lines[0].startswith("--- ") and len(lines) > 2:
        lines = lines[2:]
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    return ChangedFile(
        path=event.change.path,
        call=event.call,
        added=event.added,
        removed=event.removed,
        lines=tuple((kinds.get(line[:1], ""), line) for line in lines),
    )


def _fact(recorded: RecordedEvent, timeline: Timeline, redact: Redact) -> EventRow:
    data = redact(msgspec.json.format(msgspec.json.encode(recorded.event), indent=1).decode())
    after = datetime.fromisoformat(recorded.recorded_at) - datetime.fromisoformat(timeline.began)
    return EventRow(
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
    return " ".join(" ".join(_words(value).split()) for value in values.values())


def _words(value: object) -> str:
    """A value without the brackets and names of JSON; values of a list are separated by dots."""
    match value:
        case str():
            return value
        case list():
            return " · ".join(map(_words, value))
        case dict():
            return " ".join(map(_words, value.values()))
        case _:
            return msgspec.json.encode(value).decode()


def _indented(arguments: str) -> str:
    """The arguments, one per line, if they are JSON."""
    try:
        return msgspec.json.format(arguments, indent=2)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return arguments
