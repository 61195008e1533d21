"""Turns as training data: what was said in each, in order, whatever form it is written in afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.messages import AssistantMessage, Message, ToolMessage, UserMessage

ANSWERING = "turn"  # the purpose of replies that are part of the conversation


class ToldTurn(msgspec.Struct, kw_only=True):
    """A turn so far. `reasoning` is that of the replies in `said`, by their index. `rated`: the last rating.

    `calls` are the provider's id and the tool of each call, by our id.
    """

    turn: str
    at: str
    said: list[Message] = msgspec.field(default_factory=list)
    reasoning: dict[int, str] = msgspec.field(default_factory=dict)
    calls: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    completed: bool = False
    model: str = ""
    rated: e.TurnRated | None = None

    @property
    def rating(self) -> e.Rating:
        """The rating that counts."""
        return self.rated.rating if self.rated is not None else "none"


def told_turns(
    events: Iterable[tuple[e.Event, str]], interrupted: Mapping[e.InterruptReason, str]
) -> list[ToldTurn]:
    """The turns of a stream, in order of their start; each event with its time.

    `interrupted` is the result of a call that ended without one, by its reason. Recalled context, reviews,
    summaries and failed attempts are left out.
    """
    waiting: dict[str, ToldTurn] = {}
    begun: dict[str, ToldTurn] = {}
    for event, at in events:
        match event:
            case e.TurnSubmitted():
                waiting[event.turn] = ToldTurn(turn=event.turn, at=at, said=[UserMessage(event.text)])
            case e.ContextPrefetched() if event.turn in waiting:
                begun.setdefault(event.turn, waiting[event.turn])
            case e.TurnMerged():
                into = begun.get(event.into) or waiting[event.into]
                into.said.extend(waiting[event.turn].said)
            case e.ModelReplied() if event.turn in begun and event.purpose == ANSWERING:
                _reply(begun[event.turn], event)
            case e.ToolFinished() if event.turn in begun:
                _answer(begun[event.turn], event.call, event.content)
            case e.ToolInterrupted() if event.turn in begun:
                _answer(begun[event.turn], event.call, interrupted[event.reason])
            case e.TurnCompleted() if event.turn in begun:
                begun[event.turn].completed = True
            case e.TurnRated() if event.turn in begun:
                begun[event.turn].rated = event
            case _:
                pass
    return list(begun.values())


def _reply(told: ToldTurn, reply: e.ModelReplied) -> None:
    if reply.reasoning:
        told.reasoning[len(told.said)] = reply.reasoning
    told.calls.update(
        (plan.call, (call.id, call.name)) for plan, call in zip(reply.plan, reply.tool_calls, strict=False)
    )
    told.model = reply.model
    told.said.append(AssistantMessage(reply.content, reply.tool_calls))


def _answer(told: ToldTurn, call: str, content: str) -> None:
    id_, name = told.calls.get(call, (call, ""))
    told.said.append(ToolMessage(id_, name, content))
