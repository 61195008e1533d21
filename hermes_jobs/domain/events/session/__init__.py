"""Events of a session's stream: texts, replies, tool calls, usage and costs.

Times inside an event (`retry_at`, `expires_at`) are seconds since the epoch, UTC.
"""

from hermes_jobs.domain.events.session.compression import (
    CompressionFailed,
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
    ReviewRequested,
    ReviewStarted,
)
from hermes_jobs.domain.events.session.session import (
    ModelChanged,
    SessionEnded,
    SessionStarted,
    SessionTitled,
    TodosWritten,
)
from hermes_jobs.domain.events.session.step import OutcomeDiscarded, StepAbandoned
from hermes_jobs.domain.events.session.subscription import ListenerTold
from hermes_jobs.domain.events.session.tool_call import (
    ApprovalDenied,
    ApprovalGiven,
    ApprovalRequested,
    ToolFinished,
    ToolInterrupted,
    ToolStarted,
)
from hermes_jobs.domain.events.session.turn import (
    ContextPrefetched,
    TurnCancelled,
    TurnCancelRequested,
    TurnCompleted,
    TurnFailed,
    TurnMerged,
    TurnResumed,
    TurnSubmitted,
    UsageRecorded,
    WaitEnded,
)

SessionEvent = (
    SessionStarted
    | SessionTitled
    | SessionEnded
    | ModelChanged
    | TodosWritten
    | TurnSubmitted
    | ContextPrefetched
    | TurnMerged
    | TurnCancelRequested
    | TurnResumed
    | WaitEnded
    | UsageRecorded
    | TurnCompleted
    | TurnFailed
    | TurnCancelled
    | ModelCallStarted
    | ModelReplied
    | ModelCallFailed
    | ToolStarted
    | ToolFinished
    | ToolInterrupted
    | ApprovalRequested
    | ApprovalGiven
    | ApprovalDenied
    | StepAbandoned
    | OutcomeDiscarded
    | ResponseBooked
    | ContextPressure
    | CompressionRequested
    | CompressionStarted
    | ContextFlushed
    | ContextCompressed
    | CompressionFailed
    | ReviewRequested
    | ReviewStarted
    | ReviewCompleted
    | ReviewFailed
    | ListenerTold
)
