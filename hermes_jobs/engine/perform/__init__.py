"""How each kind of step is performed, one file a kind, in terms of ports: nothing here appends or claims."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_jobs.domain.steps import StepKind
from hermes_jobs.engine.perform.by_kind import ByKind
from hermes_jobs.engine.perform.call_model import CallModel
from hermes_jobs.engine.perform.compress import Compress
from hermes_jobs.engine.perform.flush import Flush
from hermes_jobs.engine.perform.limits import Limits
from hermes_jobs.engine.perform.prefetch import Prefetch
from hermes_jobs.engine.perform.record_usage import RecordUsage
from hermes_jobs.engine.perform.requests import Requests
from hermes_jobs.engine.perform.run_tool import RunTool
from hermes_jobs.engine.perform.sizing import Sizing
from hermes_jobs.engine.ports import Performer

__all__ = [
    "ByKind",
    "CallModel",
    "Compress",
    "Flush",
    "Limits",
    "Prefetch",
    "RecordUsage",
    "Requests",
    "RunTool",
    "Sizing",
    "performers",
]


def performers(
    *,
    prefetch: Performer,
    call_model: Performer,
    run_tool: RunTool,
    flush: Flush | None = None,
    compress: Compress | None = None,
) -> Mapping[StepKind, Performer]:
    """The table that the engine acts by."""
    compression: dict[StepKind, Performer] = {}
    if flush is not None and compress is not None:
        compression = {"compression.flush": flush, "compression.compress": compress}
    return {
        **compression,
        "turn.prefetch": prefetch,
        "turn.call_model": call_model,
        "turn.run_tool": run_tool,
        "turn.record_usage": RecordUsage(),
    }
