"""All models of an installation behind one port: each request is asked where its model's name leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes_jobs.domain.decision import Decision
from hermes_jobs.domain.usage import Usage
from hermes_jobs.engine.ports import Cancel, ModelRequest, Reply
from hermes_jobs.settings import Choice, Settings

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.endpoints import ModelEndpoints


class ModelRouter:
    """The `Model` and `Pricing` of every name that the settings can place, as `Settings.choice` reads it."""

    def __init__(self, settings: Settings, endpoints: ModelEndpoints) -> None:
        self._settings = settings
        self._endpoints = endpoints

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`. The reply's model is a name that leads to the same place again."""
        choice = self._settings.choice(request.model)
        asked = request if choice.model == request.model else replace(request, model=choice.model)
        reply = self._endpoints.model(choice).reply(asked, cancel, on_text)
        return replace(reply, model=self._booked(choice, reply.model or choice.model))

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """See `Pricing.cost_usd`."""
        choice = self._settings.choice(model)
        return self._endpoints.prices(choice.base_url).cost_usd(choice.model, usage)

    def window_of(self, model: str) -> int:
        """What that model takes at a time, in tokens."""
        choice = self._settings.choice(model)
        return self._endpoints.windows(choice.base_url).of(choice.model)

    def longest_answer(self, model: str) -> int | None:
        """How many tokens an answer of that model can have; None where that is not known."""
        choice = self._settings.choice(model)
        if choice.at.api != "anthropic":
            return None
        from hermes_jobs.agent.llm.anthropic.abilities import abilities

        return abilities(choice.model).longest

    def learn(self, model: str, window: int) -> Decision | None:
        """How to remember a window that a refusal names; null where no more was assumed anyway."""
        choice = self._settings.choice(model)
        return self._endpoints.learn(choice.base_url, choice.model, window)

    def _booked(self, asked: Choice, answered_by: str) -> str:
        """Under which name the reply is booked: what answered, unless its price was set under another."""
        own = self._settings.models.prices
        name = asked.model if asked.model in own and answered_by not in own else answered_by
        if asked.rehearsal or self._settings.choice(name).endpoint == asked.endpoint:
            return name
        return f"{asked.provider}:{name}"
