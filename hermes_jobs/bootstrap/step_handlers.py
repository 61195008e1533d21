"""The handlers of all kinds of steps, made of the parts of an application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from hermes_jobs.bootstrap.api_options import cache_ttl_of
from hermes_jobs.bootstrap.models_by_purpose import ModelsByPurpose
from hermes_jobs.errors import LogUnavailable, Rejected
from hermes_jobs.features.attachments.parts import perception_of
from hermes_jobs.features.compression.steps.compression_policy import CompressionPolicy
from hermes_jobs.features.compression.steps.idle import IdleCompression
from hermes_jobs.features.mcp.parts import frozen_servers
from hermes_jobs.kernel.engine.budget_guard import BudgetGuard
from hermes_jobs.kernel.engine.handlers import (
    CallModel,
    Prefetch,
    RecordUsage,
    RequestBuilder,
    RunTool,
    TurnLimits,
)
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.handlers.prefetch import brought_along
from hermes_jobs.kernel.engine.model_calls import AsksMember, ModelCalls
from hermes_jobs.kernel.engine.ports import (
    ConfiguredModel,
    Ensemble,
    Listener,
    Models,
    Preflight,
    StepHandler,
)
from hermes_jobs.kernel.feature import parts as declared
from hermes_jobs.kernel.live import OnDelta
from hermes_jobs.kernel.streams import approval_rules
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.kernel.streams.budgets import Budgets
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import StepKind
from hermes_jobs.llm.retry import delay
from hermes_jobs.llm.windows import estimated_tokens
from hermes_jobs.prompt.builder import SessionPrompt
from hermes_jobs.prompt.fences import with_recall
from hermes_jobs.settings.durations import seconds_of
from hermes_jobs.settings.turn_settings import set_by_turn

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.agent_parts import AgentParts
    from hermes_jobs.kernel.engine.budget_guard import Asking
    from hermes_jobs.kernel.engine.ports import ModelRequest
    from hermes_jobs.kernel.turns.messages import ToolCall
    from hermes_jobs.kernel.turns.references import Reference
    from hermes_jobs.kernel.turns.turn import Turn
    from hermes_jobs.settings import Settings

REFERENCE: StepKind = "turn.reference"
OPERATIONS = ("turn.", "compression.")
"""How the kinds of steps begin whose starts and ends are events of a session."""


class StepHandlers:
    """The step handlers of one process, with its budget guard and preflight."""

    def __init__(self, parts: AgentParts, on_delta: OnDelta) -> None:
        """`on_delta` is called with answers as they are written."""
        settings = parts.settings
        self._settings = settings
        self._parts = parts
        self._on_delta = on_delta
        self._engine = parts.shared.deciding
        self._perception = perception_of(
            parts.endpoints, parts.views, parts.intake, parts.attached_content, settings.auxiliary.speech
        )
        self._clock, self._ids = parts.clock, parts.ids
        self._retries = Retries(delay, self._clock, self._ids)
        self._limits = _limits(settings, (parts.providers.listener, parts.contexts.listener))
        self._by_purpose = helpers = ModelsByPurpose(settings, parts.endpoints, self._engine)
        main = helpers.main
        self._prompt = _session_prompt(parts)
        self._models = Models(
            turn=main,
            review=helpers.set_apart("review") or main,
            flush=helpers.set_apart("compression", "flush") or main,
        )
        self._sizing = CompressionPolicy(
            parts.contexts, parts.toolbox, self._models.window_of, automatic=settings.compression.enabled
        )
        self.preflight: Preflight = self._sizing.preflight
        self._requests = RequestBuilder(
            parts.toolbox, self._limits, with_recall, parts.endpoints.by_name.longest_answer
        )
        self.budget_guard = self._create_budget_guard(main)
        self._of_features = self._handlers_of_features(
            ModelCalls(
                models=self._models,
                set_apart=helpers.set_apart,
                own_model=helpers.model_of,
                summarisers=helpers.summarisers,
                prompt=self._prompt,
                requests=self._requests,
                build_request=self.build_request,
                limits=self._limits,
                retries=self._retries,
                guard=self.budget_guard,
                asking=self._asking,
                rules=self._rules,
                engine=self._engine,
            )
        )

    def _create_budget_guard(self, main: ConfiguredModel) -> BudgetGuard:
        flusher = self._models.flush
        return BudgetGuard(
            request=self._requests.build,
            reference=self._member_request,
            estimate=estimated_tokens,
            pricing=main.pricing,
            budgets=_budgets(self._settings),
            clock=self._clock,
            zone=self._parts.days,
            summariser=self._by_purpose.summary_prices,
            flusher=(flusher.name, flusher.pricing) if flusher.name else None,
            reviews=self._models.review.pricing,
            asking=self._asking,
            perceiving=self._perceiving,
            of_turn=set_by_turn(self._settings),
        )

    def _perceiving(self, session: Session, turn: Turn) -> list[Asking]:
        """The calls that perceive what goes with a turn that has not begun."""
        name = turn.model or session.model or self._settings.main_model.model
        ensemble = self._ensemble_of(turn.ensemble or name)
        model = ensemble.aggregator if ensemble is not None else name
        asked = (self._perception.asking(model, turn.id, each) for each in brought_along(session, turn))
        return [each for each in asked if each is not None]

    def build_request(self, session: Session, turn: Turn, step: str = "") -> ModelRequest:
        """The request of the turn's next model call, or of its reference with that id."""
        member = turn.reference(step)
        if member is None:
            return self._requests.build(session, turn)
        return self._member_request(session, turn, member)

    def _member_request(self, session: Session, turn: Turn, member: Reference) -> ModelRequest:
        if REFERENCE not in self._of_features:
            raise Rejected(
                "This installation has no ensembles.", kind="models", hint="Name one model: -m NAME."
            )
        return cast("AsksMember", self._of_features[REFERENCE]).request(session, turn, member)

    def _ensemble_of(self, model: str) -> Ensemble | None:
        return ensemble_of(self._settings, model) if REFERENCE in self._of_features else None

    def all(self) -> Mapping[StepKind, StepHandler]:
        """The handlers of all steps, by operation or else by kind; those of operations are traced."""
        handlers = {**self._of_turns(), **self._of_features}
        tracing = self._parts.shared.tracing
        if tracing is None:
            return handlers
        return {
            kind: tracing.traced(handler) if kind.startswith(OPERATIONS) else handler
            for kind, handler in handlers.items()
        }

    def _handlers_of_features(self, calls: ModelCalls) -> Mapping[StepKind, StepHandler]:
        made: dict[StepKind, StepHandler] = {}
        for make in declared("steps"):
            made |= make(self._parts)
        for make in declared("model_steps"):
            made |= make(self._parts, calls)
        return made

    def _asking(self, call: ToolCall) -> Asking | None:
        """The model calls that a tool call makes, at most; None where it makes none."""
        asked = (asking(self._parts, call) for asking in declared("asking"))
        return next((each for each in asked if each is not None), None)

    def _of_turns(self) -> Mapping[StepKind, StepHandler]:
        parts = self._parts
        return {
            "turn.prefetch": Prefetch(
                prompt=self._prompt,
                limits=self._limits,
                window_of=self._models.window_of,
                recall=parts.providers.recall,
                toolsets_on=parts.toolbox.toolsets_on,
                ensemble_of=self._ensemble_of,
                hear=self._perception.hear,
                describe=self._perception.describe,
                describes=self._perception.describe.describes,
                follows_rhythm=self._settings.model.cache_ttl == "auto",
                clock=self._clock,
                ids=self._ids,
            ),
            "turn.call_model": CallModel(
                models=self._models,
                toolbox=parts.toolbox,
                retry=delay,
                clock=self._clock,
                ids=self._ids,
                limits=self._limits,
                on_delta=self._on_delta,
                sizing=self._sizing,
                requests=self._requests,
                rules=self._rules,
            ),
            "turn.run_tool": RunTool(
                parts.toolbox,
                save_result=parts.shared.results.save,
                rules=self._rules,
                on_delta=self._on_delta,
                attach=parts.intake.attach_each,
                describe=self._perception.describe,
            ),
            "turn.record_usage": RecordUsage(self._idle().finish, self._perception.speak),
        }

    def _idle(self) -> IdleCompression:
        settings, models = self._settings, self._models
        return IdleCompression(
            sizing=self._sizing,
            helpers=self._by_purpose.summarisers,
            flush=models.flush,
            pricing=models.turn.pricing,
            ttl_of=partial(cache_ttl_of, settings),
            clock=self._clock,
            least=settings.compression.idle_tokens if settings.compression.enabled else None,
            stays=settings.compression.threshold * settings.compression.target_ratio,
            always_rests=settings.model.cache_ttl == "auto",
        )

    def _rules(self) -> tuple[ApprovalRule, ...]:
        """The standing rules for tool calls that are in force."""
        try:
            state = self._engine.state(approval_rules.STREAM)
        except LogUnavailable:  # what was read last holds until the log is back
            cached = self._engine.sessions.cached(approval_rules.STREAM)
            if cached is None:
                raise
            state = cached
        assert isinstance(state, approval_rules.ApprovalRules)
        return state.rules


def ensemble_of(settings: Settings, model: str) -> Ensemble | None:
    """The ensemble of that name or alias; None where it is a model."""
    name = settings.ensemble_name(model)
    if name is None:
        return None
    entry = settings.models.ensembles[name]
    return Ensemble(name=name, members=entry.members, aggregator=entry.aggregator)


def _session_prompt(parts: AgentParts) -> SessionPrompt:
    settings, window_of = parts.settings, parts.endpoints.by_name.read_window
    return SessionPrompt(
        soul=settings.paths.soul,
        default_model=settings.model_name,
        workdir=settings.agent.workdir,
        clock=parts.clock,
        zone=settings.zone,
        tools=parts.toolbox.specs,
        blocks=tuple(section(parts) for section in declared("prompt")),
        servers=partial(frozen_servers, parts.mcp, parts.toolbox, window_of) if parts.mcp.config else None,
        window_of=window_of,
        small=parts.toolbox.small,
    )


def _limits(settings: Settings, listeners: Sequence[Listener | None]) -> TurnLimits:
    return TurnLimits(
        max_iterations=settings.agent.max_iterations,
        max_tokens=settings.model.max_tokens,
        approval_seconds=settings.terminal.approval_seconds,
        result_chars=settings.tools.result_chars,
        turn_chars=settings.tools.turn_chars,
        preview_chars=settings.tools.preview_chars,
        memory_nudge=settings.memory.nudge_interval,
        skill_nudge=settings.skills.creation_nudge_interval,
        listeners=tuple(listener.name for listener in listeners if listener is not None),
        wait_for_quota=seconds_of(settings.model.wait_for_quota),
        wait_for_required=seconds_of(settings.mcp.wait_for_required),
        fallback=settings.model.fallback,
    )


def _budgets(settings: Settings) -> Budgets:
    return Budgets(
        turn_usd=settings.budgets.turn_usd,
        turn_tokens=settings.budgets.turn_tokens,
        session_usd=settings.budgets.session_usd,
        day_usd=settings.budgets.day_usd,
    )
