"""Builds one reply from incoming text: answer, reasoning and tool calls.

OpenAI numbers the deltas of calls by `index`. Others send no index, index 0 for every call, whole calls,
arguments as an object, or ids late, twice or not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from hermes_jobs.kernel.engine.ports import ModelRequest, Reply
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall
from hermes_jobs.llm.call_values import typed
from hermes_jobs.llm.dialect import PLAIN, Dialect
from hermes_jobs.llm.harmony import ChannelFilter
from hermes_jobs.llm.payloads import PayloadFields, WholeCharacters, payload_of, text_of, well_formed
from hermes_jobs.llm.reasoning_filter import ReasoningFilter, Split, end_of_unopened
from hermes_jobs.llm.tail import TailFilter
from hermes_jobs.llm.text_calls import TextCallFilter
from hermes_jobs.llm.usage import canonical_usage
from hermes_jobs.llm.written_calls import WrittenCall


class ReplyBuilder:
    """Takes the deltas of one reply in order. One instance per reply, for one thread.

    `calls_in_text`: calls are parsed from the text too; `used_ids` are ids of the history. `parameters` are
    the schemas of the offered tools. `has_begun`: some
    data has arrived. `finish_reason`, in canonical form, is empty until the answer is complete. `attached`
    and `items` are the payload: fields of the message, or the output items of the Responses API.
    """

    def __init__(
        self,
        *,
        calls_in_text: bool = False,
        used_ids: Collection[str] = (),
        dialect: Dialect = PLAIN,
        model: str = "",
        tool_names: Collection[str] = (),
        parameters: Mapping[str, Mapping[str, object]] = {},
    ) -> None:
        self.calls = ToolCallJoiner(dialect.family.call_fields)
        self.payload_fields = PayloadFields(dialect.family.fields)
        self.items: list[dict[str, object]] = []
        self._dialect = dialect
        self._choose_model = model
        self.has_begun = False
        self.finish_reason = ""
        self.model = ""
        self._reported: object = None
        self._used_ids = used_ids
        self._text = WholeCharacters()
        self._calls_in_text = calls_in_text
        self._tool_names = tool_names
        self._parameters = parameters
        self._channels = ChannelFilter()
        self._raw: list[str] = []
        self._begin_text()
        self._reasoning: list[str] = []  # from fields of their own

    def _begin_text(self, thoughts: str = "") -> None:
        """Reset the text filters to the beginning of a text."""
        self._thinking = ReasoningFilter()
        self._tail = (
            TailFilter(self._tool_names, tagged=not self._calls_in_text) if self._tool_names else None
        )
        self._text_calls = TextCallFilter() if self._calls_in_text else None
        self._content: list[str] = []
        self._thoughts: list[str] = [thoughts]  # from blocks in the text

    def say(self, text: str) -> str:
        """Add a delta of text; returns the text to show."""
        return self._say(self._channels.feed(self._text.feed(text)))

    def _say(self, delta: Split) -> str:
        """Add a delta of the answer, and of the reasoning in a channel of its own."""
        self.think(delta.reasoning)
        self._raw.append(delta.visible)
        return self._keep(self._thinking.feed(delta.visible))

    def think(self, text: str) -> None:
        """Add a delta of reasoning."""
        self._reasoning.append(text)

    def report(self, usage: object) -> None:
        """Record the usage as the endpoint reports it, so far or in all; ignored if it is not usable."""
        self._reported = usage or self._reported

    @property
    def says_something(self) -> bool:
        """Whether any text, reasoning or call has arrived."""
        has_text = any(self._content) or any(self._reasoning) or any(self._thoughts)
        return has_text or bool(self.calls.calls())

    @property
    def usage(self) -> Usage:
        """The usage reported so far."""
        return canonical_usage(self._reported) if self._reported else NO_USAGE

    def finish(self) -> tuple[Reply, str]:
        """The reply, and the last of its text to show."""
        native = self.calls.calls()
        text = self.say(self._text.finish()) + self._say(self._channels.finish())
        text += self._finish_text(native)
        if self._thinking.had_stray and (parts := end_of_unopened("".join(self._raw))):
            self._begin_text(thoughts=parts[0])
            self._keep(self._thinking.feed(parts[1]))
            self._finish_text(native)
        content, reasoning = "".join(self._content), self._all_reasoning()
        written = () if native and self._channels.calls else self._written_calls()
        if not (content.strip() or native or written):
            written = self._calls_in_reasoning(reasoning)
        calls = (*native, *written)
        reason = self.finish_reason or "stop"
        reply = Reply(
            content=content,
            tool_calls=calls,
            reasoning=reasoning,
            finish_reason="tool_calls" if calls and reason == "stop" else reason,
            usage=self.usage,
            model=self.model,
            payload=payload_of(self._attached(), self._dialect, self._choose_model),
        )
        return reply, text

    def _all_reasoning(self) -> str:
        return well_formed(f"{''.join(self._reasoning)}\n{''.join(self._thoughts)}").strip()

    def _calls_in_reasoning(self, reasoning: str) -> list[ToolCall]:
        """The calls at the end of the reasoning of a reply without an answer: the model forgot to end it."""
        if not self._tool_names or not reasoning:
            return []
        tail = TailFilter(self._tool_names, tagged=True, bare=False)
        tail.feed(reasoning)
        tail.finish()
        return self._numbered(tail.calls)

    def _attached(self) -> dict[str, object]:
        if self.items:
            return {"items": self.items} if any(item["type"] == "reasoning" for item in self.items) else {}
        of_calls = self.calls.extras()
        return {**self.payload_fields.values(), **({"tool_calls": of_calls} if of_calls else {})}

    def _keep(self, split: Split) -> str:
        self._thoughts.append(split.reasoning)
        return self._keep_text(split.visible if self._tail is None else self._tail.feed(split.visible))

    def _keep_text(self, text: str) -> str:
        visible = text if self._text_calls is None else self._text_calls.feed(text)
        self._content.append(visible)
        return visible

    def _finish_text(self, native: Sequence[ToolCall]) -> str:
        """The end of the text; returns its part to show."""
        text = self._keep(self._thinking.finish())
        if self._tail is not None:
            text += self._keep_text(self._tail.finish([call.name for call in native]))
        if self._text_calls is not None:
            rest = self._text_calls.finish()
            self._content.append(rest)
            text += rest
        if self._tail is not None and self._tail.calls and self._content:
            self._content = ["".join(self._content).rstrip()]
        return text

    def _written_calls(self) -> list[ToolCall]:
        """The calls in the text."""
        return self._numbered(
            [
                *self._channels.calls,
                *(self._tail.calls if self._tail is not None else ()),
                *(self._text_calls.calls if self._text_calls is not None else ()),
            ]
        )

    def _numbered(self, written: Sequence[WrittenCall]) -> list[ToolCall]:
        """The calls with values by their tools' schemas, and with ids.

        Ids of nine letters and digits are accepted by every endpoint, Mistral's too.
        """
        calls = [typed(call, self._parameters.get(call.name, {})) for call in written]
        used_ids = {*self._used_ids, *(call.id for call in self.calls.calls())}
        numbers = range(len(self._used_ids), len(self._used_ids) + len(used_ids) + len(calls))
        new_ids = (name for number in numbers if (name := f"call{number:05d}") not in used_ids)
        return [ToolCall(key, call.name, call.arguments) for key, call in zip(new_ids, calls, strict=False)]


def builder_for(request: ModelRequest, dialect: Dialect) -> ReplyBuilder:
    """The builder for the request's reply.

    Calls are parsed from the text if the tools are in the prompt's text, or if the history has such calls.
    """
    earlier_calls = [
        message.tool_calls for message in request.messages if isinstance(message, AssistantMessage)
    ]
    used_ids = [call.id for calls in earlier_calls for call in calls]
    # Where tools are withheld, a model still writes calls: they are no answer.
    used_names = {call.name: None for calls in earlier_calls for call in calls}
    return ReplyBuilder(
        calls_in_text=dialect.tool_calls == "text" and bool(request.offered or used_ids),
        used_ids=used_ids,
        dialect=dialect,
        model=request.model,
        tool_names=[spec.name for spec in request.tools] or list(used_names),
        parameters={spec.name: spec.parameters for spec in request.tools},
    )


@dataclass
class _Draft:
    id: str = ""
    name: str = ""
    arguments: str = ""
    extras: dict[str, object] = field(default_factory=dict)


_MARKS_AFTER = re.compile(r"<\|.*", re.DOTALL)
"""Marks of gpt-oss's format behind a name: `terminal<|channel|>commentary`, by vLLM and llama.cpp."""


class ToolCallJoiner:
    """Takes the deltas of one reply's tool calls in order. For one thread."""

    def __init__(self, extra_fields: Sequence[str] = ()) -> None:
        """`extra_fields` are the payload fields of a call."""
        self._extra_fields = extra_fields
        self._drafts: list[_Draft] = []
        self._by_index: dict[int, _Draft] = {}

    def feed(self, deltas: object) -> None:
        """Handle a `tool_calls` list of a streamed delta or of a complete message.

        Entries that are not calls are skipped.
        """
        if isinstance(deltas, Sequence) and not isinstance(deltas, str | bytes):
            for delta in deltas:
                if isinstance(delta, Mapping):
                    self._feed_one(delta)

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, in the order of their first deltas, each with a unique id."""
        ids = _unique([well_formed(draft.id) for draft in self._drafts])
        return tuple(
            ToolCall(key, well_formed(draft.name), well_formed(draft.arguments))
            for key, draft in zip(ids, self._drafts, strict=True)
        )

    def extras(self) -> dict[str, dict[str, object]]:
        """The extra fields of the calls that have any, by the call's index."""
        return {str(index): draft.extras for index, draft in enumerate(self._drafts) if draft.extras}

    def _feed_one(self, delta: Mapping[object, object]) -> None:
        function = delta.get("function")
        function = function if isinstance(function, Mapping) else {}
        key, name = text_of(delta.get("id")), _MARKS_AFTER.sub("", text_of(function.get("name")))
        arguments = _arguments(function.get("arguments"))
        index = delta.get("index")
        draft = self._draft(index if isinstance(index, int) else None, key, name)
        if key and key == draft.id and arguments == draft.arguments and _is_whole(arguments):
            return  # a repetition of the complete call
        draft.id = draft.id or key
        if name != draft.name:
            draft.name += name
        draft.arguments += arguments
        draft.extras.update({name: delta[name] for name in self._extra_fields if delta.get(name)})

    def _draft(self, index: int | None, key: str, name: str) -> _Draft:
        draft = self._by_index.get(index) if index is not None else self._without_index(key, name)
        if draft is None or _is_another(draft, key, name):
            draft = _Draft()
            self._drafts.append(draft)
        if index is not None:
            self._by_index[index] = draft
        return draft

    def _without_index(self, key: str, name: str) -> _Draft | None:
        if key:
            return next((draft for draft in self._drafts if draft.id == key), None)
        return self._drafts[-1] if self._drafts and not name else None


def _is_another(draft: _Draft, key: str, name: str) -> bool:
    """Whether a delta with that id and name begins another call, although its index is in use."""
    if key and draft.id:
        return key != draft.id
    return bool(name and draft.arguments and (name != draft.name or _is_whole(draft.arguments)))


def _is_whole(arguments: str) -> bool:
    """Whether the arguments are a complete JSON object."""
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return False


def _arguments(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _unique(ids: list[str]) -> Iterator[str]:
    used: set[str] = set()
    new_ids = (name for number in range(2 * len(ids)) if (name := f"call_{number}") not in ids)
    for call_id in ids:
        chosen = call_id if call_id and call_id not in used else next(new_ids)
        used.add(chosen)
        yield chosen
