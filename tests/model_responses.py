"""The scripted server's answers in the form of the Responses API."""

from __future__ import annotations

from typing import Any

from tests.model_script import Answer, Seen, asked_calls, counted_usage

Json = dict[str, Any]


def response_events(seen: Seen, answer: Answer, items: list[Json] | None = None) -> list[Json]:
    """The answer as the events of a stream, the last one the whole response; `items` are its output."""
    items = output_of(seen, answer) if items is None else items
    events: list[Json] = [
        {"type": "response.created", "response": _response(seen, answer, [], "in_progress")}
    ]
    for index, item in enumerate(items):
        events.append(_event("output_item.added", index, item={**item, **_emptied(item)}))
        events += [_event(kind, index, delta=text) for kind, text in _deltas(item, answer.piece)]
        events.append(_event("output_item.done", index, item=item))
    status = "incomplete" if answer.finish_reason else "completed"
    return [*events, {"type": f"response.{status}", "response": _response(seen, answer, items, status)}]


def whole_response(seen: Seen, answer: Answer) -> Json:
    """The answer as one response."""
    status = "incomplete" if answer.finish_reason else "completed"
    return _response(seen, answer, output_of(seen, answer), status)


def output_of(seen: Seen, answer: Answer) -> list[Json]:
    """The items that an answer consists of."""
    items: list[Json] = []
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
    for number, call in enumerate(asked_calls(seen, answer)):
        items.append(
            {"type": "function_call", "id": f"fc_{number}", "call_id": call["id"], **call["function"]}
        )
    return items


def _emptied(item: Json) -> Json:
    return {key: type(item[key])() for key in ("content", "summary", "arguments") if key in item}


def _deltas(item: Json, piece: int) -> list[tuple[str, str]]:
    kinds = {
        "reasoning": ("reasoning_summary_text.delta", lambda: item["summary"][0]["text"]),
        "message": ("output_text.delta", lambda: item["content"][0]["text"]),
        "function_call": ("function_call_arguments.delta", lambda: item["arguments"]),
    }
    kind, text_of = kinds[item["type"]]
    text = text_of() if item["type"] != "reasoning" or item["summary"] else ""
    return [(kind, text[at : at + piece]) for at in range(0, len(text), piece)]


def _event(kind: str, index: int, **more: Any) -> Json:
    return {"type": f"response.{kind}", "output_index": index, **more}


def _response(seen: Seen, answer: Answer, output: list[Json], status: str) -> Json:
    counted = counted_usage(seen.body, answer)
    usage = answer.usage or {
        "input_tokens": counted["prompt_tokens"],
        "output_tokens": counted["completion_tokens"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": f"resp_{seen.number}",
        "object": "response",
        "status": status,
        "model": seen.body.get("model", "scripted"),
        "output": output,
        "error": None,
        "incomplete_details": {"reason": answer.finish_reason} if answer.finish_reason else None,
        "usage": usage if status != "in_progress" else None,
    }
