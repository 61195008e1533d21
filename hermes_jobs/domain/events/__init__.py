"""All event types: one module per kind of stream, a package for sessions.

Frozen, typed; never changed after release. A field may be added with a default; any other change is a new
type, or an upcast in `hermes_jobs.eventlog.upcasts`. Id, version, position, time and author are in the
envelope.
"""

from __future__ import annotations

from typing import get_args

from hermes_jobs.domain.events.context_window import WindowEvent, WindowForgotten, WindowLearned
from hermes_jobs.domain.events.curation import (
    ArchiveProposed,
    CurationEvent,
    MergeProposed,
    ProposalApplied,
)
from hermes_jobs.domain.events.delivery import (
    DeliveryEvent,
    DeliveryFailed,
    DeliveryPlaced,
    DeliveryRequested,
    DeliverySent,
)
from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.gateway import ConversationOpened, GatewayEvent, GatewayTaken
from hermes_jobs.domain.events.listener import ListenerEvent, WritesTold
from hermes_jobs.domain.events.memory import (
    Author,
    Evidence,
    MemoryAdded,
    MemoryArranged,
    MemoryConflicted,
    MemoryEvent,
    MemoryRemoved,
    MemoryReplaced,
    MemoryTarget,
)
from hermes_jobs.domain.events.model_pause import HelperPaused, PauseEvent
from hermes_jobs.domain.events.schedule import (
    MissedPolicy,
    MissedReason,
    OverlapPolicy,
    Plan,
    RunStatus,
    ScheduleAdded,
    ScheduleEdited,
    ScheduleEvent,
    ScheduleFired,
    ScheduleMissed,
    SchedulePaused,
    ScheduleQueued,
    ScheduleRemoved,
    ScheduleResumed,
    ScheduleRunEnded,
    ScheduleWorded,
    TimingKind,
)
from hermes_jobs.domain.events.session import SessionEvent
from hermes_jobs.domain.events.session.compression import (
    CompressionFailed,
    CompressionReason,
    CompressionRequested,
    CompressionStarted,
    ContextCompressed,
    ContextFlushed,
    ContextPressure,
)
from hermes_jobs.domain.events.session.model_call import (
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    ResponseBooked,
)
from hermes_jobs.domain.events.session.review import (
    ReviewCompleted,
    ReviewFailed,
    ReviewKind,
    ReviewRequested,
    ReviewStarted,
)
from hermes_jobs.domain.events.session.session import (
    ModelChanged,
    Opening,
    SessionEnded,
    SessionKind,
    SessionStarted,
    SessionTitled,
    Todo,
    TodoStatus,
    TodosWritten,
)
from hermes_jobs.domain.events.session.step import AbandonReason, OutcomeDiscarded, StepAbandoned
from hermes_jobs.domain.events.session.subscription import ListenerTold
from hermes_jobs.domain.events.session.tool_call import (
    ApprovalDenied,
    ApprovalGiven,
    ApprovalRequested,
    Effect,
    InterruptReason,
    PlannedCall,
    ToolFinished,
    ToolInterrupted,
    ToolStarted,
)
from hermes_jobs.domain.events.session.turn import (
    BusyPolicy,
    ContextPrefetched,
    TurnCancelled,
    TurnCancelRequested,
    TurnCompleted,
    TurnEnd,
    TurnFailed,
    TurnMerged,
    TurnResumed,
    TurnSubmitted,
    UsageRecorded,
    WaitEnded,
)
from hermes_jobs.domain.events.skill import (
    SkillAction,
    SkillApproved,
    SkillCreated,
    SkillDeleted,
    SkillDenied,
    SkillEdited,
    SkillEvent,
    SkillFile,
    SkillFileRemoved,
    SkillFileWritten,
    SkillPatched,
    SkillProposed,
    SkillRequest,
    SkillWritten,
)

_UNIONS = (
    *(SessionEvent, MemoryEvent, SkillEvent, CurationEvent),
    *(ScheduleEvent, DeliveryEvent, WindowEvent, PauseEvent, GatewayEvent, ListenerEvent),
)
EVENT_TYPES: dict[str, type[Event]] = {
    kind.__name__: kind for union in _UNIONS for kind in get_args(union) or (union,)
}

# The lowest build level that can read each type; 1 where a type is not listed.
# A stream's head records the highest level in it, so that older workers do not touch the stream.
SINCE: dict[str, int] = {}
READS_UP_TO = max(SINCE.values(), default=1)
