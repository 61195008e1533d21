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
from hermes_jobs.domain.events.session.delegation import ChildEnded, ChildrenStarted, TurnReleased
from hermes_jobs.domain.events.session.files import FilesRestored, FileWritten
from hermes_jobs.domain.events.session.input import InputAnswered, InputRequested
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
    ReviewRequested,
    ReviewStarted,
)
from hermes_jobs.domain.events.session.server_task import ServerTaskBegun, ServerTaskPolled
from hermes_jobs.domain.events.session.session import (
    ModeChanged,
    ModelChanged,
    SessionEnded,
    SessionStarted,
    SessionTitled,
    SessionUndone,
    TodosWritten,
)
from hermes_jobs.domain.events.session.step import OutcomeDiscarded, StepAbandoned
from hermes_jobs.domain.events.session.subscription import ListenerTold
from hermes_jobs.domain.events.session.title import TitleEnded, TitleStarted
from hermes_jobs.domain.events.session.tool_call import (
    ApprovalDenied,
    ApprovalGiven,
    ApprovalRequested,
    ToolFinished,
    ToolInterrupted,
    ToolStarted,
)
from hermes_jobs.domain.events.session.turn import (
    AnswerRejected,
    BudgetWarned,
    ContextPrefetched,
    RecalledItem,
    RecallTrack,
    TurnCancelled,
    TurnCancelRequested,
    TurnCompleted,
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

SessionEvent = (
    SessionStarted
    | SessionTitled
    | TitleStarted
    | TitleEnded
    | SessionEnded
    | SessionUndone
    | ModelChanged
    | ModeChanged
    | TodosWritten
    | TurnSubmitted
    | ContextPrefetched
    | TurnPostponed
    | TurnMerged
    | TurnCancelRequested
    | TurnResumed
    | WaitEnded
    | UsageRecorded
    | BudgetWarned
    | AnswerRejected
    | TurnCompleted
    | TurnFailed
    | TurnCancelled
    | TurnRated
    | TurnLabelled
    | ModelCallStarted
    | ModelReplied
    | ModelCallFailed
    | ReferenceStarted
    | ReferenceReplied
    | ReferenceFailed
    | ToolStarted
    | ToolFinished
    | ToolInterrupted
    | FileWritten
    | FilesRestored
    | ApprovalRequested
    | ApprovalGiven
    | ApprovalDenied
    | InputRequested
    | InputAnswered
    | ServerTaskBegun
    | ServerTaskPolled
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
    | ChildrenStarted
    | ChildEnded
    | TurnReleased
)
