"""The handlers of steps, one file for each kind, in terms of ports: nothing here appends or claims."""

from __future__ import annotations

from hermes_jobs.kernel.engine.handlers.call_model import CallModel
from hermes_jobs.kernel.engine.handlers.prefetch import Prefetch
from hermes_jobs.kernel.engine.handlers.record_usage import RecordUsage
from hermes_jobs.kernel.engine.handlers.request_builder import RequestBuilder, TurnLimits
from hermes_jobs.kernel.engine.handlers.run_tool import RunTool
