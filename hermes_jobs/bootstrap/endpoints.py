"""The endpoints that models are asked at: the client, windows and prices of each, made when first wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, assert_never
from urllib.parse import urlsplit, urlunsplit

from hermes_jobs.agent.llm.price import FREE, OwnPrices
from hermes_jobs.bootstrap.model_router import ModelRouter
from hermes_jobs.domain.context_windows import (
    LEAST_WINDOW,
    LearnedWindow,
    LearnedWindows,
    Place,
    record_limit,
)
from hermes_jobs.domain.decision import Decision
from hermes_jobs.engine.ports import Cancel, Clock, Model, ModelError, ModelRequest, Pricing, Reply
from hermes_jobs.settings import SETUP, Choice, Settings, missing_key

if TYPE_CHECKING:
    from hermes_jobs.agent.llm.anthropic.client import AnthropicModel
    from hermes_jobs.agent.llm.cache_support import PromptCaching
    from hermes_jobs.agent.llm.catalogue import Listing
    from hermes_jobs.agent.llm.client import EndpointModel, OpenAIModel
    from hermes_jobs.agent.llm.diagnosis import DiagnosingModel
    from hermes_jobs.agent.llm.dialect import ApiOptions
    from hermes_jobs.agent.llm.providers import ProviderName
    from hermes_jobs.agent.llm.windows import Recalled, Windows


K = TypeVar("K")
T = TypeVar("T")


class ModelEndpoints:
    """One of each for every `base_url`, null for OpenAI's own; a client for each key and provider too.

    `by_name` leads each request to the endpoint of its model. Safe for many threads; close it at the end.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        learned: Callable[[], LearnedWindows],
        *,
        watch: Callable[[Any], None] | None = None,
    ) -> None:
        """`learned` gives the windows that are remembered; `watch` is given each HTTP client."""
        self._settings = settings
        self._clock = clock
        self._learned = learned
        self._watch = watch
        self._lock = threading.RLock()
        self._models: dict[tuple[str | None, str, ProviderName], DiagnosingModel] = {}
        self._windows: dict[str | None, Windows] = {}
        self._prices: dict[str | None, OwnPrices] = {}
        self.by_name = ModelRouter(settings, self)

    def close(self) -> None:
        """Release the connections of all clients."""
        with self._lock:
            models, self._models = list(self._models.values()), {}
        for model in models:
            model.close()

    def model(self, choice: Choice) -> Model:
        """The client for that choice; the rehearsal where it is chosen.

        Where the key is missing, every call is refused with what is missing.
        """
        if choice.rehearsal:
            from hermes_jobs.agent.llm.rehearsal import RehearsalModel

            return RehearsalModel()
        missing = missing_key(choice, self._settings.secrets)
        if missing is not None:
            return KeylessModel(missing)
        return self._made(self._models, choice.endpoint, lambda _: self._explained(choice))

    def listing(self, choice: Choice) -> Listing:
        """What the choice's endpoint offers. Asks it."""
        from hermes_jobs.agent.llm.catalogue import listing
        from hermes_jobs.agent.llm.dialect import OPENAI_URL

        key = self._settings.secrets.get(choice.key)
        return listing(choice.base_url or OPENAI_URL, key, choice.at.api)

    def windows(self, base_url: str | None) -> Windows:
        """What the endpoint's models take at a time, as known, configured and learned."""
        return self._made(self._windows, base_url, self._known_windows)

    def name(self, base_url: str | None) -> str:
        """What the endpoint is called where it is remembered."""
        return endpoint_name(base_url)

    def prices(self, base_url: str | None) -> Pricing:
        """What the endpoint's models cost: as the settings say, else by the list."""
        from hermes_jobs.agent.llm.pricing import PriceList

        own = {name: price or FREE for name, price in self._settings.models.prices.items()}
        return self._made(self._prices, base_url, lambda url: OwnPrices(own, PriceList(url, self._clock)))

    def learn(self, base_url: str | None, model: str, window: int) -> Decision | None:
        """How to remember a window that the endpoint has named; None where no more was assumed anyway, where
        it cannot be one, and where the settings name another."""
        known = self.windows(base_url)
        assumed = known.assumed(model)
        if not LEAST_WINDOW <= window < assumed or known.window(model).source == "setting":
            return None
        return record_limit(endpoint_name(base_url), model, LearnedWindow(window, assumed, self._clock.now()))

    def _made(self, known: dict[K, T], which: K, make: Callable[[K], T]) -> T:
        with self._lock:
            if which not in known:
                known[which] = make(which)
            return known[which]

    def _explained(self, choice: Choice) -> DiagnosingModel:
        from hermes_jobs.agent.llm.diagnosis import DiagnosingModel

        return DiagnosingModel(self._client(choice), lambda: self.listing(choice))

    def _client(self, choice: Choice) -> EndpointModel:
        return _kind_of_client(choice)(
            api_key=self._settings.secrets.get(choice.key),
            base_url=choice.base_url,
            idle_timeout=self._settings.model.idle_timeout,
            timeout=self._settings.model.timeout,
            manner=_manner(self._settings, choice),
            windows=self.windows(choice.base_url),
            watch=self._watch,
        )

    def _known_windows(self, base_url: str | None) -> Windows:
        from hermes_jobs.agent.llm.windows import Windows, known_window

        settings = self._settings
        endpoint = endpoint_name(base_url)
        return Windows(
            override=settings.model.context_length if base_url == settings.main_model.base_url else None,
            known=lambda name: known_window(name, base_url),
            recalled=lambda name: _recalled(self._learned(), (endpoint, name)),
            now=self._clock.now,
        )


def _kind_of_client(choice: Choice) -> type[AnthropicModel | OpenAIModel]:
    """The client of the API that the choice's provider has, which alone is imported."""
    match choice.at.api:
        case "anthropic":
            from hermes_jobs.agent.llm.anthropic.client import AnthropicModel

            return AnthropicModel
        case "openai":
            from hermes_jobs.agent.llm.client import OpenAIModel

            return OpenAIModel
        case _:
            assert_never(choice.at.api)


def _recalled(known: LearnedWindows, place: Place) -> Recalled:
    from hermes_jobs.agent.llm.windows import Recalled

    return Recalled(known.windows.get(place), known.forgotten.get(place, 0))


class KeylessModel:
    """A model whose key is missing: nothing is asked, and every call says what is missing."""

    def __init__(self, missing: str) -> None:
        self._missing = missing

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`."""
        raise ModelError("auth", self._missing, hint=SETUP)


def caching_of(settings: Settings, choice: Choice) -> PromptCaching:
    """How the prompts of a model are cached where it is asked."""
    from hermes_jobs.agent.llm.cache_support import prompt_caching

    return prompt_caching(choice.provider, choice.base_url, choice.model, _manner(settings, choice))


def _manner(settings: Settings, choice: Choice) -> ApiOptions:
    from hermes_jobs.agent.llm.dialect import ApiOptions

    model = settings.model
    return ApiOptions(
        api=model.api,
        provider=choice.provider,
        reasoning_effort=model.reasoning_effort,
        tool_calling=model.tool_calling,
        prompt_cache=model.prompt_cache,
        cache_ttl=model.cache_ttl,
    )


def endpoint_name(base_url: str | None) -> str:
    """What an endpoint is called where it is remembered: its address, without what may be secret in it."""
    from hermes_jobs.agent.llm.dialect import OPENAI_URL

    parts = urlsplit(base_url or OPENAI_URL)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
