"""The handlers of steps, one file for each kind, in terms of ports: nothing here appends or claims."""

from __future__ import annotations

from hermes_jobs.engine.handlers.ask_member import AskMember
from hermes_jobs.engine.handlers.call_model import CallModel
from hermes_jobs.engine.handlers.compress import Compress
from hermes_jobs.engine.handlers.compression_policy import CompressionPolicy
from hermes_jobs.engine.handlers.flush import Flush
from hermes_jobs.engine.handlers.member_request import MemberRequests
from hermes_jobs.engine.handlers.prefetch import Prefetch
from hermes_jobs.engine.handlers.record_usage import RecordUsage
from hermes_jobs.engine.handlers.request_builder import RequestBuilder, TurnLimits
from hermes_jobs.engine.handlers.run_tool import RunTool
