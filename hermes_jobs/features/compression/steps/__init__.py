"""The handlers of its steps, and the notifications of a context engine that listens to sessions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs.features.compression.steps.compress import Compress
from hermes_jobs.features.compression.steps.compression_policy import CompressionPolicy
from hermes_jobs.features.compression.steps.flush import Flush
from hermes_jobs.features.titles.api import next_title
from hermes_jobs.kernel.engine.handlers.notify_listener import NotifyListener
from hermes_jobs.kernel.turns.steps import StepKind

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.engine.model_calls import ModelCalls
    from hermes_jobs.kernel.engine.ports import StepHandler


def handlers(application: Application, calls: ModelCalls) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    contexts, toolbox, flusher = application.contexts, application.toolbox, calls.models.flush
    sizing = CompressionPolicy(
        contexts, toolbox, calls.models.window_of, automatic=application.settings.compression.enabled
    )
    return {
        "compression.flush": Flush(
            flusher.model,
            toolbox,
            flusher.pricing,
            sizing,
            flusher.window_of,
            application.clock,
            flusher.name,
            before=application.providers.before_compression,
        ),
        "compression.compress": Compress(
            contexts=contexts,
            helpers=calls.summarisers,
            retries=calls.retries,
            prompt=calls.prompt,
            sizing=sizing,
            ids=application.ids,
            title_of=partial(next_title, calls.engine),
        ),
        "listener.context": NotifyListener(contexts.listener, application.clock, application.ids),
    }
