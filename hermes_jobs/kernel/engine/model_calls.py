"""What the handlers of steps that call a model are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from hermes_jobs.kernel.engine.budget_guard import Asking, BudgetGuard
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.handlers import RequestBuilder, TurnLimits
from hermes_jobs.kernel.engine.handlers.auxiliary_models import Helper
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.ports import ConfiguredModel, ModelRequest, Models, PromptBuilder
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.references import Reference
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn


class SetApart(Protocol):
    """See `__call__`."""

    def __call__(self, task: str, purpose: str = "") -> ConfiguredModel | None:
        """The model that `auxiliary` names for that task, whose calls are for `purpose` (default: of the same
        name); None where none is named."""


class ModelCalls(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The models by purpose, and how a call is made of a turn, paid and tried again.

    `own_model(lineage)` is the name of a conversation's model, `summarisers(session)` are the models that can
    summarise it, preferred first; `prompt` makes the prompts of new sessions; `engine` reads streams.
    `build_request` makes the request of a turn's next call, or of its reference with that id; `asking(call)`
    is the model call that a tool call makes, None for most; `rules()` are the standing rules in force for
    tool calls.
    """

    models: Models
    set_apart: SetApart
    own_model: Callable[[str], str]
    summarisers: Callable[[Session], tuple[Helper, ...]]
    prompt: PromptBuilder
    requests: RequestBuilder
    build_request: Callable[[Session, Turn, str], ModelRequest]
    limits: TurnLimits
    retries: Retries
    guard: BudgetGuard
    asking: Callable[[ToolCall], Asking | None]
    rules: Callable[[], tuple[ApprovalRule, ...]]
    engine: Engine


class AsksMember(Protocol):
    """The handler of `turn.reference`, as far as budgets and replays ask it."""

    def request(self, session: Session, turn: Turn, reference: Reference) -> ModelRequest:
        """The request to that member of the turn's ensemble."""
