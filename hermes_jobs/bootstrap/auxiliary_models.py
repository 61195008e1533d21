"""Who flushes, summarises and reviews: the models that the settings name, else the main one."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs.agent.prompt.fences import FenceStripper
from hermes_jobs.domain.model_pauses import STREAM, Pauses, Place, pause
from hermes_jobs.domain.session.session import Session, stream_of
from hermes_jobs.engine.cached_stream import RecentState
from hermes_jobs.engine.handlers.auxiliary_models import Helper, StandIn, nothing_noted
from hermes_jobs.engine.ports import Model, ModelError
from hermes_jobs.errors import HermesJobsError

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.application import Application
    from hermes_jobs.settings import Choice

logger = logging.getLogger(__name__)

COMPRESSION = "compression"


class AuxiliaryModels:
    """The models beside the main one. Which of them failed lately stands in the log, for every process."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._engine = application.engine()
        self._pauses = RecentState[Pauses](application.log, application.clock, STREAM)

    def standing_in(self, purpose: str, choice: Choice) -> Model:
        """The chosen model, for which the session's own answers while it fails."""
        of = self._application
        return StandIn(
            FenceStripper(of.endpoints.model(choice)),
            FenceStripper(of.endpoints.by_name),
            self._own_name,
            paused=lambda model: self._is_paused(self._place(purpose, model, choice)),
            failed=lambda model, error: self._failed(self._place(purpose, model, choice), error),
        )

    def summarisers(self, session: Session) -> tuple[Helper, ...]:
        """Who can summarise the session: the model for that, unless it rests, then the session's own."""
        settings = self._application.settings
        chosen, main = settings.auxiliary_model(COMPRESSION), settings.main_model
        own = self._own(session.model or settings.model_name)
        if chosen == main:
            return (self._helper(main), *((own,) if own.name != main.model else ()))
        place = self._place(COMPRESSION, chosen.model, chosen)
        if self._is_paused(place):
            return (own,)
        return (self._helper(chosen, place), own)

    def _own_name(self, lineage: str) -> str:
        """The session's own model; of a review, that of the conversation that it looks at."""
        session = self._engine.sessions.load(stream_of(lineage))
        default = self._application.settings.model_name
        if not session.is_review:
            return session.model or default
        if session.forked_from is None:
            return default
        return self._engine.sessions.load(stream_of(session.forked_from)).model or default

    def _own(self, name: str) -> Helper:
        """The model as sessions ask it."""
        models = self._application.endpoints.by_name
        return Helper(model=models, name=name, window_of=partial(models.window_of, name), pricing=models)

    def _helper(self, choice: Choice, place: Place | None = None) -> Helper:
        endpoints = self._application.endpoints
        return Helper(
            model=endpoints.model(choice),
            name=choice.model,
            window_of=partial(endpoints.windows(choice.base_url).of, choice.model),
            pricing=endpoints.prices(choice.base_url),
            failed=nothing_noted if place is None else partial(self._failed, place),
        )

    def _is_paused(self, place: Place) -> bool:
        return self._pauses().at(place, self._application.clock.now()) is not None

    def _failed(self, place: Place, error: ModelError) -> None:
        """Do not ask it again for a while; where the log cannot take that, it is asked again."""
        purpose, model, _ = place
        logger.warning("the model %s for %s failed (%s): %s", model, purpose, error.kind, error.message)
        try:
            self._engine.change(
                pause(place, error.kind, error.message, self._application.clock.now()), f"{purpose} failed"
            )
        except HermesJobsError as failure:
            logger.warning("that could not be remembered: %s", failure)
        self._pauses.forget()

    def _place(self, purpose: str, model: str, choice: Choice) -> Place:
        return purpose, model, self._application.endpoints.name(choice.base_url)
