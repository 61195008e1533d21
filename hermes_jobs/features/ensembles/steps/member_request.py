"""The request to a member of an ensemble: the turn's conversation, without tools.

Tool calls and their results become text: Anthropic's API refuses their blocks in a request that defines no
tools, and other providers' models would continue calling. A message is always rendered to the same text, so
that a member's prompt, too, only grows from turn to turn and stays cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.engine.handlers.request_builder import RequestBuilder, TurnLimits
from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.references import Reference
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn

NOTE = """\
# Your part
You are asked beside this agent, before it answers. You have none of its tools: what they did so far stands in
the conversation as text. Answer the user's newest message from what is there. Call no tool and claim no
action; say what you are unsure of, and what the agent should look up."""
REQUEST_SHARE = 0.85
"""The share of a member's window that its request may take; the rest is for its answer."""


class MemberRequests(msgspec.Struct, frozen=True, eq=False):
    """Makes the requests to members. `window_of(model)` and `estimate(request)` are in tokens."""

    requests: RequestBuilder
    limits: TurnLimits
    window_of: Callable[[str], int]
    estimate: Callable[[ModelRequest], int]

    def build(self, session: Session, turn: Turn, reference: Reference) -> ModelRequest:
        """The member's request; long results of tools are shortened where its window is too small for them.

        `max_tokens` is the reservation for the answer, if there is one.
        """
        assert session.started is not None, f"{session.stream} has no prompt"
        max_tokens = reference.max_tokens or self.limits.max_tokens
        messages = self.requests.messages(session, turn)
        request = ModelRequest(
            model=reference.model,
            system_prompt=f"{session.started.system_prompt.rstrip()}\n\n{NOTE}".lstrip(),
            messages=without_tools(messages),
            max_tokens=reference.reserved.max_tokens if reference.reserved else max_tokens,
            session=session.lineage,
        )
        if self.fits(request):
            return request
        return replace(request, messages=without_tools(messages, turn.preview_chars))

    def fits(self, request: ModelRequest) -> bool:
        """Whether the request leaves enough of its model's window for an answer."""
        return self.estimate(request) <= self.window_of(request.model) * REQUEST_SHARE


def without_tools(messages: Sequence[Message], result_chars: int | None = None) -> tuple[Message, ...]:
    """The history with the calls of tools, and their results, as texts; roles alternate there.

    Provider data beside replies is left out: it belongs to the model that made it. `result_chars`: characters
    of each result at most; None for all of them.
    """
    return tuple(_joined(_as_text(message, result_chars) for message in messages))


def _as_text(message: Message, result_chars: int | None) -> UserMessage | AssistantMessage:
    match message:
        case AssistantMessage():
            calls = (f"[Called {call.name} with {call.arguments or '{}'}]" for call in message.tool_calls)
            return AssistantMessage("\n".join(filter(None, (message.content, *calls))))
        case ToolMessage():
            text = f"[Result of {message.name}]\n{_shortened(message.content, result_chars)}"
            return UserMessage(text, message.attachments)
        case _:
            return message


def _shortened(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    return f"{text[:most]}\n[… {len(text) - most:,} more characters are left out]"


def _joined(messages: Iterable[UserMessage | AssistantMessage]) -> Iterator[Message]:
    """The messages, with consecutive user messages merged."""
    pending: UserMessage | AssistantMessage | None = None
    for message in messages:
        if isinstance(pending, UserMessage) and isinstance(message, UserMessage):
            text = f"{pending.content}\n\n{message.content}"
            pending = UserMessage(text, pending.attachments + message.attachments)
            continue
        if pending is not None:
            yield pending
        pending = message
    if pending is not None:
        yield pending
