"""All event types: one module per kind of stream, a package for sessions.

Frozen, typed; never changed after release. A field may be added with a default; any other change is a new
type, or an upcast in `hermes_jobs.eventlog.upcasts`. Id, version, position, time and author are in the
envelope.
"""

from __future__ import annotations

from typing import get_args

from hermes_jobs.domain.events.approval import (
    ApprovalRuleAdded,
    ApprovalRuleEvent,
    ApprovalRuleRemoved,
    ApprovalScope,
    CallPattern,
    Mode,
    Ruling,
)
from hermes_jobs.domain.events.child_slots import (
    ChildrenQueued,
    ChildSlotEvent,
    ChildSlotFreed,
    ChildSlotTaken,
    QueuedChild,
)
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
from hermes_jobs.domain.events.embedding import (
    EmbeddedText,
    EmbeddingEnded,
    EmbeddingEvent,
    EmbeddingFailed,
    EmbeddingPlanned,
    EmbeddingStarted,
)
from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.forgetting import (
    ForgettingCause,
    ForgettingEvent,
    TextsForgotten,
    Tombstone,
)
from hermes_jobs.domain.events.gateway import ConversationOpened, GatewayEvent, GatewayTaken
from hermes_jobs.domain.events.listener import ListenerEvent, WritesTold
from hermes_jobs.domain.events.mcp import (
    McpCatalogue,
    McpEvent,
    McpPrompt,
    McpPromptArgument,
    McpServerFailed,
    McpServerRemoved,
    McpTool,
    McpToolLeftOut,
    McpToolsAccepted,
    McpToolsListed,
)
from hermes_jobs.domain.events.memory import (
    Author,
    Evidence,
    MemoryAdded,
    MemoryArranged,
    MemoryClass,
    MemoryConfirmed,
    MemoryConflicted,
    MemoryEvent,
    MemoryRemoved,
    MemoryReplaced,
    MemoryTarget,
)
from hermes_jobs.domain.events.model_pause import HelperPaused, PauseEvent
from hermes_jobs.domain.events.replay import (
    CellChecked,
    CellsJudged,
    Check,
    CheckResult,
    ExperimentDefined,
    ExperimentEvent,
    FollowedCall,
    Judge,
    LearnedKind,
    LeftOut,
    PutIn,
    RecordedCall,
    ReplayCallEnded,
    ReplayCallFailed,
    ReplayCallStarted,
    ReplayedTurn,
    ReplayEvent,
    ReplayPlanned,
    ReplayResumed,
    ReplayStopped,
    Variant,
    Verdict,
)
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
from hermes_jobs.domain.events.session.delegation import (
    ChildEnded,
    ChildRef,
    ChildrenStarted,
    ChildStatus,
    Delegation,
    Payer,
    TurnReleased,
)
from hermes_jobs.domain.events.session.files import FileChange, FilesRestored, FileState, FileWritten
from hermes_jobs.domain.events.session.input import (
    FieldKind,
    InputAction,
    InputAnswered,
    InputChoice,
    InputField,
    InputRequest,
    InputRequested,
)
from hermes_jobs.domain.events.session.model_call import (
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    ResponseBooked,
)
from hermes_jobs.domain.events.session.reference import (
    ReferenceFailed,
    ReferenceReplied,
    ReferenceStarted,
)
from hermes_jobs.domain.events.session.review import (
    ReviewCompleted,
    ReviewFailed,
    ReviewKind,
    ReviewRequested,
    ReviewStarted,
    VerifyMode,
)
from hermes_jobs.domain.events.session.server_task import ServerTaskBegun, ServerTaskPolled
from hermes_jobs.domain.events.session.session import (
    ModeChanged,
    ModelChanged,
    Opening,
    SessionEnded,
    SessionKind,
    SessionStarted,
    SessionTitled,
    SessionUndone,
    Todo,
    TodoStatus,
    TodosWritten,
)
from hermes_jobs.domain.events.session.step import AbandonReason, OutcomeDiscarded, StepAbandoned
from hermes_jobs.domain.events.session.subscription import ListenerTold
from hermes_jobs.domain.events.session.title import TitleEnded, TitleStarted
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
    AnswerRejected,
    BudgetWarned,
    BusyPolicy,
    ContextPrefetched,
    Rating,
    RecalledItem,
    RecallTrack,
    TurnCancelled,
    TurnCancelRequested,
    TurnCompleted,
    TurnEnd,
    TurnFailed,
    TurnLabelled,
    TurnMerged,
    TurnPostponed,
    TurnRated,
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
    SkillInstalled,
    SkillOrigin,
    SkillPatched,
    SkillProposed,
    SkillRequest,
    SkillWritten,
)
from hermes_jobs.domain.events.verification import (
    Finding,
    LearningDecided,
    LearningVerified,
    Standing,
    VerificationEvent,
    VerificationRequested,
)

_UNIONS = (
    *(SessionEvent, MemoryEvent, SkillEvent, CurationEvent),
    *(ScheduleEvent, DeliveryEvent, WindowEvent, PauseEvent, GatewayEvent, ListenerEvent),
    *(ApprovalRuleEvent, ForgettingEvent, ChildSlotEvent, McpEvent, ReplayEvent, ExperimentEvent),
    VerificationEvent,
    EmbeddingEvent,
)
EVENT_TYPES: dict[str, type[Event]] = {
    kind.__name__: kind for union in _UNIONS for kind in get_args(union) or (union,)
}

# The lowest build level that can read each type; 1 where a type is not listed.
# A stream's head records the highest level in it, so that older workers do not touch the stream.
SINCE: dict[str, int] = {}
READS_UP_TO = max(SINCE.values(), default=1)
