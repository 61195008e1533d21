"""`hermes-jobs turns show --prompt`: the request to the model, as JSON and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.output import print_heading, print_text
from hermes_jobs.kernel.events import ContextPrefetched
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.replay.replayed_requests import SentRequest
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.kernel.views.models import TurnView


def find_request(
    application: Application, turn: TurnView, events: Sequence[RecordedEvent], step: str = ""
) -> SentRequest:
    """The request of the turn's last model call, or of the call `step`. Raises `Rejected`."""
    from hermes_jobs.features.replay.replayed_requests import sent_request

    sessions = application.engine().sessions
    return sent_request(sessions, events, turn.id, application.build_request, step)


def find_recall(turn: TurnView, events: Sequence[RecordedEvent]) -> ContextPrefetched | None:
    """The recalled context of the turn, with its tracks, if there is any or a track was skipped."""
    prefetches = (
        event.event
        for event in events
        if isinstance(event.event, ContextPrefetched) and event.event.turn == turn.id
    )
    return next(
        (prefetched for prefetched in prefetches if prefetched.recall or prefetched.recall_failed), None
    )


def request_json(sent: SentRequest, turn: str, recall: ContextPrefetched | None) -> Mapping[str, object]:
    """The request for scripts."""
    request = sent.request
    return {
        "turn": turn,
        "recall": [
            {item.kind: item.name, "tracks": item.tracks} for item in (recall.recall if recall else ())
        ],
        "recall_failed": (recall and recall.recall_failed) or None,
        "step": sent.step,
        "attempt": sent.attempt,
        "model": request.model,
        "system_prompt": request.system_prompt,
        "messages": request.messages,
        "tools": request.tools,
        "tool_choice": request.tool_choice,
        "max_tokens": request.max_tokens,
    }


def print_request(sent: SentRequest, recall: ContextPrefetched | None) -> None:
    """Print the whole request as text, each part under its heading."""
    request = sent.request
    print_text(_summary(sent))
    if recall is not None:
        _print_part("recalled", "\n".join(_found(recall)))
    _print_part("system", request.system_prompt)
    if request.tools:
        names = ", ".join(sorted(tool.name for tool in request.tools))
        _print_part(pluralize(len(request.tools), "tool"), names)
    for message in request.messages:
        _print_part(_speaker(message), _message_text(message))


def _summary(sent: SentRequest) -> str:
    request = sent.request
    tries = f", try {sent.attempt}" if sent.attempt > 1 else ""
    maximum = f", an answer of at most {request.max_tokens:,} tokens" if request.max_tokens else ""
    no_tools = ", no tools offered" if request.tool_choice == "none" else ""
    call = f"model call {sent.number} of the turn" if sent.number else "a member's call"
    return (
        f"Sent to {request.model} with {sent.step}, {call}{tries}: "
        f"{pluralize(len(request.messages), 'message')}{maximum}{no_tools}. Tools are those of now; "
        "--json has their descriptions."
    )


def _found(recall: ContextPrefetched) -> Iterator[str]:
    """A line for each recalled text, with the tracks that found it."""
    for item in recall.recall:
        name = f"entry of memory write {item.name}" if item.kind == "memory" else f"turn {item.name}"
        yield f"{name}: by {' and '.join(item.tracks)}"
    if recall.recall_failed:
        yield f"nothing by meaning: {recall.recall_failed}"


def _print_part(heading: str, text: str) -> None:
    click.echo()
    print_heading(heading)
    print_text(text)


def _speaker(message: Message) -> str:
    match message:
        case UserMessage():
            return "user"
        case AssistantMessage():
            return "assistant"
        case ToolMessage():
            return f"tool {message.name} ({message.tool_call}{', failed' if message.failed else ''})"


def _message_text(message: Message) -> str:
    if not isinstance(message, AssistantMessage):
        return message.content
    calls = [f"→ {call.name} {call.arguments} ({call.id})" for call in message.tool_calls]
    return "\n".join(part for part in (message.content, *calls) if part)
