"""What the engine needs from the world, as small protocols. Adapters are named in `hermes_jobs.bootstrap`."""

from hermes_jobs.engine.ports.cancel import CANCELLED, Cancel
from hermes_jobs.engine.ports.clock import Clock
from hermes_jobs.engine.ports.context import (
    Ask,
    ContextEngine,
    ContextEngines,
    ContextSize,
    History,
    Shortened,
)
from hermes_jobs.engine.ports.dispatcher import Carrier
from hermes_jobs.engine.ports.ids import Ids
from hermes_jobs.engine.ports.listener import Follow, Listener, NotHeard, Witness, WriteListener
from hermes_jobs.engine.ports.model import (
    FailedCall,
    Model,
    ModelError,
    ModelRequest,
    Pricing,
    Reply,
    RetryPlan,
)
from hermes_jobs.engine.ports.prompt import PromptBuilder, Recall
from hermes_jobs.engine.ports.step_handler import Job, Performer, Preflight, Stopped
from hermes_jobs.engine.ports.toolbox import (
    ProvidedSpec,
    Toolbox,
    ToolContext,
    ToolOutcome,
    ToolSpec,
    Verdict,
)

__all__ = [
    "CANCELLED",
    "Ask",
    "Cancel",
    "Carrier",
    "Clock",
    "ContextEngine",
    "ContextEngines",
    "ContextSize",
    "FailedCall",
    "Follow",
    "History",
    "Ids",
    "Job",
    "Listener",
    "Model",
    "ModelError",
    "ModelRequest",
    "NotHeard",
    "Performer",
    "Preflight",
    "Pricing",
    "PromptBuilder",
    "ProvidedSpec",
    "Recall",
    "Reply",
    "RetryPlan",
    "Shortened",
    "Stopped",
    "ToolContext",
    "ToolOutcome",
    "ToolSpec",
    "Toolbox",
    "Verdict",
    "Witness",
    "WriteListener",
]
