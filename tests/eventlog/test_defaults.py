"""A field that has its default is not stored: what the defaults were is what such events say for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.kernel.streams.usage import NO_USAGE
from tests.eventlog.stored import stored_structs

FILE = Path(__file__).parent.parent / "golden" / "defaults.json"
CODEC = Codec()


def test_no_default_was_ever_changed() -> None:
    pinned = json.loads(FILE.read_text(encoding="utf-8"))
    for name, defaults in dict(current()).items():
        assert defaults.items() >= pinned.get(name, {}).items(), name
    assert dict(current()) == pinned, f"New fields: python -m tests.eventlog.golden adds them to {FILE.name}."


def current() -> Iterator[tuple[str, dict[str, object]]]:
    """The defaults of each type that is stored, as they would be written."""
    for kind in stored_structs():
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
