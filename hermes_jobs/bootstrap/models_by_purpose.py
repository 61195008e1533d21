"""The model for each purpose of a call: the one that `auxiliary` names for it, else the main one."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.kernel.engine.handlers.auxiliary_models import Helper, StandIn
from hermes_jobs.kernel.engine.ports import ConfiguredModel, Model, ModelError, Pricing
from hermes_jobs.kernel.engine.repository import RecentState
from hermes_jobs.kernel.events import HelperPaused
from hermes_jobs.kernel.streams.model_pauses import STREAM, Pauses, Place, pause
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.prompt.fences import FenceStripper

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.endpoints import ModelEndpoints
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.settings import Choice, Settings

logger = logging.getLogger(__name__)

COMPRESSION = "compression"


class ModelsByPurpose:
    """The main model and the others. Pauses of those that failed lately are in the log, for all
    processes."""

    def __init__(self, settings: Settings, endpoints: ModelEndpoints, engine: Engine) -> None:
        """`engine` reads sessions and appends pauses."""
        self._settings = settings
        self._endpoints = endpoints
        self._engine = engine
        self._pauses = RecentState[Pauses](engine.log, engine.clock, STREAM)

    @property
    def main(self) -> ConfiguredModel:
        """The model of conversations: each session names its own."""
        models = self._endpoints.by_name
        return ConfiguredModel(
            model=FenceStripper(models), pricing=models, window_of=models.window_of, learn=models.learn
        )

    def set_apart(self, task: str, purpose: str = "") -> ConfiguredModel | None:
        """The model that `auxiliary` names for that task, whose calls are for `purpose` (default: of the same
        name); the session's own model answers in its place while it fails. None where none is named."""
        choice = self._settings.set_apart(task)
        if choice is None:
            return None
        endpoints = self._endpoints
        return ConfiguredModel(
            model=self._with_stand_in(purpose or task, choice),
            name=choice.model,
            pricing=endpoints.prices(choice.base_url),
            window_of=endpoints.windows(choice.base_url).of,
            learn=partial(endpoints.learn, choice.base_url),
        )

    def summary_prices(self) -> tuple[str, Pricing]:
        """The name and the prices of the model that summarises."""
        chosen = self._settings.auxiliary_model(COMPRESSION)
        return chosen.model, self._endpoints.prices(chosen.base_url)

    def model_of(self, lineage: str) -> str:
        """The name of a conversation's model."""
        session = self._engine.sessions.load(stream_of(lineage))
        return session.model or self._settings.model_name

    def _with_stand_in(self, purpose: str, choice: Choice) -> Model:
        return StandIn(
            FenceStripper(self._endpoints.model(choice)),
            FenceStripper(self._endpoints.by_name),
            self._own_name,
            paused=lambda model: self._is_paused(self._place(purpose, model, choice)),
            failed=lambda model, error: self._failed(self._place(purpose, model, choice), error),
        )

    def summarisers(self, session: Session) -> tuple[Helper, ...]:
        """The models that can summarise the session, preferred first: the configured one, then the session's
        own."""
        settings = self._settings
        chosen, main = settings.auxiliary_model(COMPRESSION), settings.main_model
        own = self._own(session.model or settings.model_name)
        if chosen == main:
            return (self._helper(main), *((own,) if own.name != main.model else ()))
        place = self._place(COMPRESSION, chosen.model, chosen)
        return (self._helper(chosen, place), own)

    def _own_name(self, lineage: str) -> str:
        """The session's own model; for a review, that of the conversation that it reviews."""
        session = self._engine.sessions.load(stream_of(lineage))
        default = self._settings.model_name
        if not session.is_review:
            return session.model or default
        if session.forked_from is None:
            return default
        return self._engine.sessions.load(stream_of(session.forked_from)).model or default

    def _own(self, name: str) -> Helper:
        """That model at the endpoint to which its name leads."""
        models = self._endpoints.by_name
        return Helper(model=models, name=name, window_of=partial(models.window_of, name), pricing=models)

    def _helper(self, choice: Choice, place: Place | None = None) -> Helper:
        endpoints = self._endpoints
        return Helper(
            model=endpoints.model(choice),
            name=choice.model,
            window_of=partial(endpoints.windows(choice.base_url).of, choice.model),
            pricing=endpoints.prices(choice.base_url),
            failed=None if place is None else partial(self._failed, place),
            paused="" if place is None or (pause := self._pause(place)) is None else pause.message,
        )

    def _is_paused(self, place: Place) -> bool:
        return self._pause(place) is not None

    def _pause(self, place: Place) -> HelperPaused | None:
        return self._pauses().at(place, self._engine.clock.now())

    def _failed(self, place: Place, error: ModelError) -> None:
        """Pause the model. If the log cannot be written, the next call tries the model again."""
        purpose, model, _ = place
        logger.warning("the model %s for %s failed (%s): %s", model, purpose, error.kind, error.message)
        try:
            self._engine.change(
                pause(place, error.kind, error.message, self._engine.clock.now()), f"{purpose} failed"
            )
        except HermesJobsError as failure:
            logger.warning("the pause could not be recorded: %s", failure)
        self._pauses.forget()

    def _place(self, purpose: str, model: str, choice: Choice) -> Place:
        return purpose, model, self._endpoints.name(choice.base_url)
