"""Conversations as training data: ShareGPT's form, OpenAI's, and rated pairs of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.forgetting import ENDED_BECAUSE
from hermes_jobs.kernel.streams.streams import SESSIONS
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.synthetic_messages import INTERRUPTED
from hermes_jobs.llm.training_data import (
    ShareGptMessage,
    TrainingTurn,
    example,
    is_calling,
    pair,
    share_gpt,
    training_turns,
)
from hermes_jobs.settings.secrets import REDACTED
from hermes_jobs.text.scan.credentials import redact_credentials

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.engine.ports import ToolSpec
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.log.log import EventLog

TrainingFormat = Literal["sharegpt", "openai", "preferences"]
KINDS = ("conversation", "scheduled")


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The selected lineages (empty: all), the earliest turn (ISO 8601, UTC; empty: any), with the system
    prompt or without."""

    lineages: tuple[str, ...] = ()
    since: str = ""
    system: bool = True


class RatedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A user's rating of a turn."""

    turn: str
    rating: e.Rating
    note: str


class TrainingConversation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line in ShareGPT's form. `ratings` are those of its turns; omitted if there are none."""

    id: str
    model: str
    conversations: list[ShareGptMessage]
    ratings: list[RatedTurn] = []


class ConversationTurns(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of a stream, after those of its parents; the selected ones begin at `since`."""

    stream: str
    system: str
    turns: list[TrainingTurn]
    since: str

    @property
    def chosen(self) -> list[TrainingTurn]:
        """The selected completed turns."""
        return [turn for turn in self.turns if turn.completed and turn.at >= self.since]


def training_lines(application: Application, form: TrainingFormat, selection: Selection) -> Iterator[bytes]:
    """One JSON object for each conversation with a completed turn, or for each pair of preferences.

    This process's secrets and suspected credentials are redacted.
    """
    streams = [stream_of(lineage) for lineage in selection.lineages]
    streams = streams or [head.stream for head in application.log.streams(SESSIONS)]
    conversations = (_conversation(application.log, stream, selection) for stream in streams)
    chosen = (
        conversation for conversation in conversations if conversation is not None and conversation.chosen
    )
    lines: Iterable[object]
    if form == "sharegpt":
        lines = map(_share_gpt, chosen)
    elif form == "openai":
        lines = (_example(application, item) for item in chosen)
    else:
        lines = _pairs(application, chosen)
    secrets = application.settings.secrets

    def redact(text: str) -> str:
        return redact_credentials(secrets.redact(text), REDACTED)

    for line in lines:
        yield msgspec.json.encode(_redact_values(msgspec.to_builtins(line), redact)) + b"\n"


def _share_gpt(conversation: ConversationTurns) -> TrainingConversation:
    prompt = [ShareGptMessage("system", conversation.system)] if conversation.system else []
    rated = [turn.rated for turn in conversation.chosen if turn.rated is not None and turn.rating != "none"]
    return TrainingConversation(
        id=conversation.stream.removeprefix(SESSIONS),
        model=conversation.chosen[-1].model,
        conversations=[*prompt, *(line for turn in conversation.chosen for line in share_gpt(turn))],
        ratings=[
            RatedTurn(turn=turn_rated.turn, rating=turn_rated.rating, note=turn_rated.note)
            for turn_rated in rated
        ],
    )


def _example(application: Application, conversation: ConversationTurns) -> dict[str, Any]:
    calling = is_calling(message for turn in conversation.chosen for message in turn.messages)
    return example(
        conversation.system, conversation.chosen, _tools(application, conversation.stream) if calling else ()
    )


def _pairs(application: Application, conversations: Iterable[ConversationTurns]) -> Iterator[dict[str, Any]]:
    """Pairs of an answer that was rated up and one that was rated down, to the same text after the same
    messages: a turn that was asked again in a fork, after `/undo`, or in a new session. Tool calls are not
    compared; the system prompt is that of the answer rated up."""
    groups: dict[bytes, dict[str, dict[str, tuple[ConversationTurns, int]]]] = {}
    for text in conversations:
        for index, turn in enumerate(text.turns):
            if turn in text.chosen and turn.rating != "none" and _answer(turn):
                prompt = msgspec.json.encode(_before(text, index))
                group = groups.setdefault(prompt, {"up": {}, "down": {}})
                group[turn.rating].setdefault(turn.turn, (text, index))
    for group in groups.values():
        for (good, index), (bad, bad_at) in product(group["up"].values(), group["down"].values()):
            history = _before(good, index)
            tools = _tools(application, good.stream) if is_calling(history) else ()
            yield pair(good.system, history, _answer(good.turns[index]), _answer(bad.turns[bad_at]), tools)


def _before(conversation: ConversationTurns, index: int) -> Sequence[Message]:
    """The messages before the turn's answer."""
    return [
        *(message for turn in conversation.turns[:index] for message in turn.messages),
        conversation.turns[index].messages[0],
    ]


def _answer(turn: TrainingTurn) -> str:
    last = turn.messages[-1]
    return last.content if isinstance(last, AssistantMessage) else ""


def _tools(application: Application, stream: str) -> Sequence[ToolSpec]:
    """The tools of that session, with their current descriptions."""
    session = application.engine().state(stream)
    assert isinstance(session, Session), f"{stream} is not a session"
    toolsets = session.started.toolsets if session.started else None
    return application.toolbox.of(session).specs(toolsets)


def _redact_values(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case list():
            return [_redact_values(item, redact) for item in value]
        case dict():
            return {key: _redact_values(item, redact) for key, item in value.items()}
        case _:
            return value


def _conversation(log: EventLog, stream: str, selection: Selection) -> ConversationTurns | None:
    recorded = _history(log, stream, None)
    started = [event.event for event in recorded if isinstance(event.event, e.SessionStarted)]
    if not started or started[-1].kind not in KINDS or _is_deleted(recorded):
        return None
    return ConversationTurns(
        stream=stream,
        system=started[0].system_prompt if selection.system else "",
        turns=training_turns([(event.event, event.recorded_at) for event in recorded], INTERRUPTED),
        since=selection.since,
    )


def _is_deleted(recorded: Sequence[RecordedEvent]) -> bool:
    ends = [event.event for event in recorded if isinstance(event.event, e.SessionEnded)]
    return bool(ends) and ends[-1].reason == ENDED_BECAUSE


def _history(log: EventLog, stream: str, upto: int | None) -> list[RecordedEvent]:
    """The stream's events after those of its parents."""
    own = list(log.read(stream, upto=upto))
    first = own[0].event if own else None
    if isinstance(first, e.SessionStarted) and first.parent is not None and first.at is not None:
        return [*_history(log, stream_of(first.parent), first.at), *own]
    return own
