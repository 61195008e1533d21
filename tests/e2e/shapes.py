"""The JSON that the command line promises, as shapes, and whether a value has one.

A shape is a type, a tuple of alternatives, a list with the shape of its items, a dict with exactly those
keys, or a value that is meant as it is.
"""

from __future__ import annotations

from typing import Any

NUMBER = (int, float)
MAYBE_TEXT = (str, None)
USAGE = dict.fromkeys(
    (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "prompt_tokens",
        "total_tokens",
    ),
    int,
)
RESULT = {
    "turn": str,
    "session": str,
    "status": ("completed", "failed", "cancelled", "merged", "waiting", "queued", "running"),
    "into": MAYBE_TEXT,
    "result": MAYBE_TEXT,
    "error": (None, {"kind": str, "message": str, "hint": str}),
    "model": str,
    "num_model_calls": int,
    "num_tool_calls": int,
    "duration_ms": int,
    "usage": USAGE,
    "cost_usd": (*NUMBER, None),
    "compressed": bool,
    "stopped_by": MAYBE_TEXT,
    "is_error": bool,
    "warnings": [str],
}
STEP = {
    "kind": ("model_call", "tool_call"),
    "step": str,
    "name": str,
    "arguments": str,
    "attempt": int,
    "worker": MAYBE_TEXT,
    "start": MAYBE_TEXT,
    "end": MAYBE_TEXT,
    "outcome": str,
    "message": str,
    "finish_reason": str,
    "usage": USAGE,
    "cost_usd": (*NUMBER, None),
}
LISTED_TURN = {
    **RESULT,
    "text": str,
    "source": str,
    "submitted_at": str,
    "begun_at": MAYBE_TEXT,
    "ended_at": MAYBE_TEXT,
}
RATED_TURN = {**LISTED_TURN, "rating": ("up", "down"), "rating_note": str}
SESSION = {
    "session": str,
    "lineage": str,
    "parent": MAYBE_TEXT,
    "at": (int, None),
    "kind": ("conversation", "review", "scheduled", "child", "subagent"),
    "source": str,
    "workdir": MAYBE_TEXT,
    "title": MAYBE_TEXT,
    "preview": str,
    "model": str,
    "status": ("idle", "queued", "running", "waiting", "ended"),
    "ended_because": MAYBE_TEXT,
    "num_turns": int,
    "num_messages": int,
    "started_at": str,
    "last_at": str,
    "undone_into": MAYBE_TEXT,
    "root": MAYBE_TEXT,
    "place": (dict, None),
    "num_model_calls": int,
    "usage": USAGE,
    "cost_usd": (*NUMBER, None),
}
MESSAGE = {
    "position": int,
    "session": str,
    "turn": str,
    "role": ("user", "assistant", "tool"),
    "content": str,
    "call": MAYBE_TEXT,
    "name": MAYBE_TEXT,
    "arguments": MAYBE_TEXT,
    "at": str,
    "kept": bool,
}
EVENT = {
    "position": int,
    "stream": str,
    "version": int,
    "type": str,
    "data": dict,
    "meta": dict,
    "recorded_at": str,
}
LINE = (
    EVENT,
    {"type": "text", "turn": str, "step": str, "attempt": int, "at": int, "text": str},
    {"type": "turn", **RESULT},
)
"""A line of `--jsonl`."""
DELIVERY = {
    "delivery": str,
    "target": str,
    "status": ("unread", "read", "waiting", "sent", "failed"),
    "turn": MAYBE_TEXT,
    "session": MAYBE_TEXT,
    "source": str,
    "ok": bool,
    "text": str,
    "attempts": int,
    "message": str,
    "retry_at": (*NUMBER, None),
    "receipt": str,
    "requested_at": str,
    "changed_at": str,
}
TOOL = {
    "name": str,
    "toolset": str,
    "effect": ("read", "idempotent", "write"),
    "source": str,
    "state": ("on", "off", "unavailable"),
}
PROCESS = {"name": str, "queues": list, "running": int, "seen_seconds_ago": NUMBER, "kind": str}
QUEUES = {
    "queues": [
        {"name": str, "waiting": int, "running": int, "later": int, "oldest_seconds": (*NUMBER, None)}
    ],
    **{key: [PROCESS] for key in ("workers", "others")},
}
WAITED = {
    "period": str,
    "queue": str,
    "steps": int,
    "p50": NUMBER,
    "p95": NUMBER,
    "longest": NUMBER,
}
REPORT = {
    "since": str,
    "until": str,
    "period": ("day", "week", "month"),
    "periods": list,
    "turns": [{"period": str, "status": str, "turns": int}],
    "spending": [
        {
            "period": str,
            "model": str,
            "purpose": str,
            "requests": int,
            "unpriced": int,
            **USAGE,
            "cost_usd": (*NUMBER, None),
        }
    ],
    "waiting": [WAITED],
    "waited": [WAITED],
    "memory": [{"period": str, "target": ("memory", "user"), "entries": int, "chars": int}],
    "schedules": list,
}
MODELS = {"provider": str, "endpoint": str, "models": list, "aliases": dict, "ensembles": dict}
DOCTOR = {
    "ok": bool,
    "checks": [{"check": str, "status": ("ok", "warn", "fail"), "message": str, "hint": str}],
}
EXPORTED = dict
REPLAYED = {
    "model": str,
    "content": str,
    "tool_calls": list,
    "usage": USAGE,
    "cost_usd": (*NUMBER, None),
    "seconds": NUMBER,
    "error": MAYBE_TEXT,
}
REPLAY = {
    "replay": str,
    "turn": str,
    "status": "completed",
    "calls": [
        {
            "step": MAYBE_TEXT,
            "sample": int,
            **dict.fromkeys(("same_calls", "same_arguments", "same_text", "diverged"), bool),
            "recorded": (REPLAYED, None),
            "replayed": REPLAYED,
        }
    ],
    "first_divergence": MAYBE_TEXT,
    "tools_run": int,
    "settings": {"model": str, "others": list},
    "cost_usd": (*NUMBER, None),
}
CONVERSATION = {"id": str, "model": str, "conversations": [{"from": str, "value": str}]}
RATED_CONVERSATION = {**CONVERSATION, "ratings": list}
IMPORTED = {"num_events": int, "streams": list, "known": list, "rested": dict}
VIEWS = {"last_position": int, "generations": list, "stopped": MAYBE_TEXT}
VERIFIED = {
    **dict.fromkeys(("num_events", "num_streams", "num_steps", "num_forgotten", "num_blobs"), int),
    "findings": [],
    "unread": list,
    "opaque": list,
}
FORGOTTEN = {
    "forgetting": MAYBE_TEXT,
    "dry_run": bool,
    "is_complete": bool,
    "streams": dict,
    **dict.fromkeys(("num_events", "num_results", "num_blobs", "num_keys", "num_names"), int),
}
CHANGED_FILES = {
    "turn": str,
    "session": str,
    "workdir": MAYBE_TEXT,
    "files": list,
    "num_commands": int,
    "unknown_calls": list,
    "restored": list,
}
PROMPT = {
    "turn": str,
    "recall": list,
    "recall_failed": (str, None),
    "step": str,
    "attempt": int,
    "model": str,
    "system_prompt": str,
    "messages": list,
    "tools": list,
    "tool_choice": ("auto", "none"),
    "max_tokens": (int, None),
}
RULING = {"decision": ("allow", "ask", "deny"), "reason": str, "by": str, "beyond": list}
SERVICE = {"name": str, "file": str, "installed": bool, "running": bool, "up": bool}


def ids_without_a_name(value: Any, where: str = "it") -> list[str]:
    """Where a key is `id`: an id stands under what it is the id of (`turn`, `session`, `review`)."""
    if isinstance(value, list):
        return [
            found for at, each in enumerate(value) for found in ids_without_a_name(each, f"{where}[{at}]")
        ]
    if not isinstance(value, dict):
        return []
    inside = [found for key, each in value.items() for found in ids_without_a_name(each, f"{where}.{key}")]
    return [f"{where}.id", *inside] if "id" in value else inside


def complaint(value: Any, shape: Any, where: str = "it") -> str | None:
    """What keeps the value from having the shape; null where nothing does."""
    if isinstance(shape, tuple):
        found = [complaint(value, each, where) for each in shape]
        return None if None in found else found[-1]
    if isinstance(shape, type):
        fits = isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
        return None if fits else f"{where} is {value!r}, no {shape.__name__}"
    if isinstance(shape, list) and isinstance(value, list):
        found = (
            [complaint(each, shape[0], f"{where}[{at}]") for at, each in enumerate(value)] if shape else value
        )
        return next((each for each in found if each is not None), None)
    if isinstance(shape, dict) and isinstance(value, dict):
        if value.keys() != shape.keys():
            return f"{where} has the keys {list(value)}, not {list(shape)}"
        found = [complaint(value[key], shape[key], f"{where}.{key}") for key in shape]
        return next((each for each in found if each is not None), None)
    return None if value == shape else f"{where} is {value!r}, not {shape!r}"
