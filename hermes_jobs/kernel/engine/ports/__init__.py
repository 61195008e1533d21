"""The engine's ports, as small protocols. Adapters are named in `hermes_jobs.bootstrap`."""

from hermes_jobs.kernel.engine.ports.context import (
    AskSummariser,
    CompressedHistory,
    ContextEngine,
    ContextEngines,
    ContextSize,
    History,
)
from hermes_jobs.kernel.engine.ports.host import CANCELLED, Cancel, Dispatcher
from hermes_jobs.kernel.engine.ports.listener import (
    AppendHook,
    FileSync,
    Listener,
    ListenerError,
)
from hermes_jobs.kernel.engine.ports.model import (
    ConfiguredModel,
    Ensemble,
    FailedCall,
    Model,
    ModelError,
    ModelRequest,
    Models,
    Pricing,
    Reply,
    RetryPlan,
    same_for_all,
)
from hermes_jobs.kernel.engine.ports.prompt import (
    Describe,
    Hear,
    HeardSound,
    NotYet,
    PaidCall,
    PromptBuilder,
    Recall,
    Recalled,
    Speak,
)
from hermes_jobs.kernel.engine.ports.step_handler import (
    BriefStepHandler,
    PaidStepHandler,
    Preflight,
    SpendingApproval,
    StepHandler,
    StepInterrupted,
    StepOutcome,
)
from hermes_jobs.kernel.engine.ports.toolbox import (
    DocumentPages,
    Documents,
    File,
    ProvidedSpec,
    Toolbox,
    ToolContext,
    ToolOutcome,
    ToolSpec,
    Verdict,
)
from hermes_jobs.kernel.engine.ports.vectors import Embedder, Vectors
