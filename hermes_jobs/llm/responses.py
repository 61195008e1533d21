"""The Responses API: renders requests and assembles replies.

The whole history is sent and nothing is stored at the provider (`store: false`). So reasoning comes
encrypted, and is sent back before the calls that followed it.
Sources: https://platform.openai.com/docs/api-reference/responses,
https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.llm.answer_format import text_format
from hermes_jobs.llm.attachments import responses_content
from hermes_jobs.llm.dialect import Dialect
from hermes_jobs.llm.errors import ApiRefusal, parse_refusal
from hermes_jobs.llm.payloads import mapping_of
from hermes_jobs.llm.render import render
from hermes_jobs.llm.reply_builder import ReplyBuilder

Json = dict[str, Any]

_TEXT_EVENTS = ("response.output_text.delta", "response.refusal.delta")
_THOUGHT = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ENDS = ("response.completed", "response.incomplete", "response.done")
_EFFORTS = {"max": "xhigh"}
_INCOMPLETE = {"max_output_tokens": "length", "max_tokens": "length"}


def responses_body(request: ModelRequest, dialect: Dialect) -> Json:
    """The whole request body."""
    messages = render(request, dialect)
    system = [message["content"] for message in messages if message["role"] == "system"]
    body: Json = {"model": request.model, "store": False, "stream": dialect.streams}
    if system:
        body["instructions"] = system[0]
    body["input"] = [item for message in messages for item in _items(message)]
    if request.offered and dialect.tool_calls == "structured":
        body["tools"] = [
            {
                "type": "function",
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
                "strict": False,
            }
            for spec in request.offered
        ]
    if dialect.includes_reasoning:
        body["include"] = ["reasoning.encrypted_content"]
    if dialect.takes_effort and dialect.effort is not None:
        body["reasoning"] = {"effort": _EFFORTS.get(dialect.effort, dialect.effort)}
    if dialect.takes_cache_key and request.session:
        body["prompt_cache_key"] = request.session
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    if request.temperature is not None and dialect.takes_temperature:
        body["temperature"] = request.temperature
    return {**body, **text_format(request, dialect)}


def _items(message: Json) -> Iterator[Json]:
    """A Chat Completions message as input items; one item if it has no calls."""
    content = message["content"] or ""
    if message["role"] == "tool":
        output = content if isinstance(content, str) else responses_content(content)
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": output}
        return
    calls = {call["id"]: call["function"] for call in message.get("tool_calls", [])}
    has_text = message["role"] != "system" and bool(content or not calls)
    # By the API's types only the API's own items have parts of output; other texts of the model are a string.
    parts = content if message["role"] == "assistant" else responses_content(content)
    rendered = {"type": "message", "role": message["role"], "content": parts}
    for item in message.get("items", ()):
        if item["type"] == "reasoning":
            yield item
        elif item["type"] == "message" and has_text:
            has_text = False
            yield {
                **item,
                **rendered,
                "content": [{"type": "output_text", "text": content, "annotations": []}],
            }
        elif item["type"] == "function_call" and item["call_id"] in calls:
            yield {**item, **calls.pop(item["call_id"])}
    if has_text:
        yield rendered
    for call_id, function in calls.items():
        yield {"type": "function_call", "call_id": call_id, **function}


class ResponsesAssembler:
    """Assembles one answer from its events, in order, or from a complete one. For one thread."""

    HOLDS = "output"  # a whole answer must have this key

    def __init__(self, draft: ReplyBuilder) -> None:
        self.draft = draft
        self._streamed: set[object] = set()  # the items of which pieces have arrived

    def refusal(self, event: object) -> ApiRefusal | None:
        """The refusal in an event, also where the whole response failed."""
        if not isinstance(event, Mapping):
            return None
        if event.get("type") == "error" and "error" not in event:
            return parse_refusal({"error": {**event, "type": event.get("code")}})
        return parse_refusal(mapping_of(event.get("response"))) or parse_refusal(event)

    def feed(self, event: Mapping[str, object]) -> str:
        """Handle the next event, or a complete response; returns the text to show."""
        self.draft.has_begun = True
        kind, index = event.get("type"), _item_of(event)
        if kind in _TEXT_EVENTS or kind in _THOUGHT or kind == "response.function_call_arguments.delta":
            self._streamed.add(index)
            return self._add_delta(str(kind), index, event.get("delta"))
        if kind == "response.output_item.added":
            self._call(index, mapping_of(event.get("item")), arguments="")
        elif kind == "response.reasoning_summary_part.added":
            self.draft.think("\n")
        elif kind == "response.output_item.done":
            item = mapping_of(event.get("item"))
            self._keep(item)
            return "" if index in self._streamed else self._item(index, item)
        elif kind in _ENDS:
            self._end(mapping_of(event.get("response")))
        elif event.get("object") == "response":
            return self._whole(event)
        return ""

    def _add_delta(self, kind: str, index: object, delta: object) -> str:
        text = delta if isinstance(delta, str) else ""
        if kind in _TEXT_EVENTS:
            return self.draft.say(text)
        if kind in _THOUGHT:
            self.draft.think(text)
        else:
            self.draft.calls.feed([{"index": index, "function": {"arguments": text}}])
        return ""

    def _whole(self, response: Mapping[str, object]) -> str:
        output = response.get("output")
        items = enumerate(output) if isinstance(output, list) else ()
        texts = []
        for index, item in items:
            self._keep(mapping_of(item))
            texts.append(self._item(index, mapping_of(item)))
        self._end(response)
        return "".join(texts)

    def _keep(self, item: Mapping[str, object]) -> None:
        """Keep reasoning items complete, and of later items only their references."""
        if item.get("type") == "reasoning":
            self.draft.items.append(dict(item))
        elif item.get("type") in {"message", "function_call"}:
            names = ("type", "id", "call_id", "status", "phase")
            self.draft.items.append({name: item[name] for name in names if item.get(name) is not None})

    def _item(self, index: object, item: Mapping[str, object]) -> str:
        """Handle a complete item: a text is shown, a function call becomes a call."""
        if item.get("type") == "function_call":
            self._call(index, item, arguments=item.get("arguments"))
        elif item.get("type") == "reasoning":
            self.draft.think(_texts(item.get("summary")) + _texts(item.get("content")))
        elif item.get("type") == "message":
            return self.draft.say(_texts(item.get("content")))
        return ""

    def _call(self, index: object, item: Mapping[str, object], *, arguments: object) -> None:
        if item.get("type") == "function_call":
            function = {"name": item.get("name"), "arguments": arguments}
            self.draft.calls.feed([{"index": index, "id": item.get("call_id"), "function": function}])

    def _end(self, response: Mapping[str, object]) -> None:
        self.draft.report(response.get("usage"))
        model = response.get("model")
        self.draft.model = model if isinstance(model, str) else ""
        reason = mapping_of(response.get("incomplete_details")).get("reason")
        self.draft.finish_reason = _INCOMPLETE.get(str(reason), str(reason)) if reason else "stop"


def _item_of(event: Mapping[str, object]) -> object:
    """The key that an item's events share: its index; at llama.cpp only its id, or its call's id."""
    item = mapping_of(event.get("item"))
    names = (event.get("output_index"), event.get("item_id"), item.get("id"), item.get("call_id"))
    return next((name for name in names if name is not None), None)


def _texts(parts: object) -> str:
    """The text of typed parts, refusals included."""
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        return ""
    texts = [mapping_of(part).get("text") or mapping_of(part).get("refusal") for part in parts]
    return "".join(text for text in texts if isinstance(text, str))
