"""A field that has its default is not stored: what the defaults were is what such events say for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.event_types import EVENT_TYPES
from hermes_jobs.domain.usage import NO_USAGE, Usage
from hermes_jobs.eventlog.codec import Codec

FILE = Path(__file__).parent.parent / "golden" / "defaults.json"
CODEC = Codec()
STORED_WITHIN = (
    *(e.Opening, e.PlannedCall, e.CallPattern, e.McpTool, e.McpPrompt, e.McpPromptArgument, Usage),
    *(e.ReplayedTurn, e.Variant, e.Exclusion, e.Inclusion, e.Finding, e.FollowedCall, e.CheckResult),
)


def test_no_default_was_ever_changed() -> None:
    pinned = json.loads(FILE.read_text(encoding="utf-8"))
    for name, defaults in dict(current()).items():
        assert defaults.items() >= pinned.get(name, {}).items(), name
    assert dict(current()) == pinned, f"Add the new fields to {FILE.name}: nothing in it is changed."


def current() -> Iterator[tuple[str, dict[str, object]]]:
    """The defaults of each type that is stored, as they would be written."""
    kinds: list[type[msgspec.Struct]] = [*EVENT_TYPES.values(), *STORED_WITHIN]
    for kind in kinds:
        fields = msgspec.structs.fields(kind)
        never_stored = (msgspec.NODEFAULT, msgspec.UNSET)
        defaults = {field.name: field.default for field in fields if field.default not in never_stored}
        if defaults:
            yield kind.__name__, json.loads(msgspec.json.encode(defaults))


def test_stored_defaults_equal_omitted_ones() -> None:
    short = '{"turn":"t1","step":"t1-1","content":"Hi.","model":"m","finish_reason":"stop"}'
    usage = msgspec.json.encode(NO_USAGE).decode()
    whole = (
        short[:-1]
        + ',"attempt":1,"tool_calls":[],"plan":[],"usage":'
        + usage
        + ',"cost_usd":null,"purpose":"turn","reasoning":"","estimated":'
        + usage
        + ',"estimated_cost_usd":0.0}'
    )
    event = CODEC.decode("ModelReplied", whole, 1)
    assert event == CODEC.decode("ModelReplied", short, 1)
    assert event == e.ModelReplied(turn="t1", step="t1-1", content="Hi.", model="m", finish_reason="stop")
    assert CODEC.encode(CODEC.decode("ModelReplied", short, 1)).data == short
