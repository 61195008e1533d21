"""Events of a session's stream: texts, replies, tool calls, usage and costs.

Times inside an event (`retry_at`, `expires_at`) are seconds since the epoch, UTC.
"""

from hermes_jobs.kernel.events.helper_calls import HelperCallEvent
from hermes_jobs.kernel.events.session.compression import *
from hermes_jobs.kernel.events.session.delegation import *
from hermes_jobs.kernel.events.session.files import *
from hermes_jobs.kernel.events.session.input import *
from hermes_jobs.kernel.events.session.model_call import *
from hermes_jobs.kernel.events.session.reference import *
from hermes_jobs.kernel.events.session.review import *
from hermes_jobs.kernel.events.session.session import *
from hermes_jobs.kernel.events.session.step import *
from hermes_jobs.kernel.events.session.tool_call import *
from hermes_jobs.kernel.events.session.turn import *

CallEvent = ModelCallStarted | ModelReplied | ModelCallFailed | AnswerRejected | ReferenceEvent | ToolEvent
SessionEvent = (
    SessionStarted
    | SessionTitled
    | HelperCallEvent
    | SessionEnded
    | SessionUndone
    | SessionRested
    | ModelChanged
    | ModeChanged
    | RightsWithdrawn
    | TodosWritten
    | TurnEvent
    | BudgetWarned
    | CallEvent
    | FileWritten
    | FilesRestored
    | FilesDelivered
    | InputEvent
    | ServerTaskEvent
    | StepAbandoned
    | OutcomeDiscarded
    | ResponseBooked
    | CompressionEvent
    | ReviewEvent
    | ListenerTold
    | DelegationEvent
)
