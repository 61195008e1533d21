"""Events of a session's stream: texts, replies, tool calls, usage and costs.

Times inside an event (`retry_at`, `expires_at`) are seconds since the epoch, UTC.
"""

from hermes_jobs.domain.events.session.compression import *
from hermes_jobs.domain.events.session.delegation import *
from hermes_jobs.domain.events.session.files import *
from hermes_jobs.domain.events.session.input import *
from hermes_jobs.domain.events.session.model_call import *
from hermes_jobs.domain.events.session.reference import *
from hermes_jobs.domain.events.session.review import *
from hermes_jobs.domain.events.session.session import *
from hermes_jobs.domain.events.session.step import *
from hermes_jobs.domain.events.session.tool_call import *
from hermes_jobs.domain.events.session.turn import *

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
