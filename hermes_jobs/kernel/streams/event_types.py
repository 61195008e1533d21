"""All event types of this installation: the kernel's, and those of the features."""

from __future__ import annotations

from typing import get_args

from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.features.gateway import events as gateway_events
from hermes_jobs.features.mcp import events as mcp_events
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.feature import parts

_UNIONS = (
    *(e.SessionEvent, memory_events.MemoryEvent, skills_events.SkillEvent, skills_events.CurationEvent),
    *(
        schedules_events.ScheduleEvent,
        e.WindowEvent,
        e.PauseEvent,
        gateway_events.GatewayEvent,
        memory_events.ListenerEvent,
    ),
    *(
        e.ApprovalRuleEvent,
        e.ForgettingEvent,
        e.ChildSlotEvent,
        mcp_events.McpEvent,
        replay_events.ReplayEvent,
        replay_events.ExperimentEvent,
    ),
    replay_events.VerificationEvent,
    recall_events.EmbeddingEvent,
    consolidation_events.ConsolidationEvent,
    *parts("events"),
)
EVENT_TYPES: dict[str, type[e.Event]] = {
    kind.__name__: kind for union in _UNIONS for kind in get_args(union) or (union,)
}

# The lowest build level that can read each type; 1 where a type is not listed.
# A stream's head records the highest level in it, so that older workers do not touch the stream.
SINCE: dict[str, int] = {}
READS_UP_TO = max(SINCE.values(), default=1)
