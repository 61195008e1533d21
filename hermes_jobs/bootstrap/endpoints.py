"""Model endpoints: the client, windows and prices of each, made on first use, and the router by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, assert_never

from msgspec.structs import replace

from hermes_jobs.bootstrap.api_options import api_options
from hermes_jobs.kernel.engine.ports import (
    Cancel,
    Embedder,
    Model,
    ModelError,
    ModelRequest,
    Pricing,
    Reply,
)
from hermes_jobs.kernel.streams.context_windows import (
    LEAST_WINDOW,
    LearnedWindow,
    LearnedWindows,
    Place,
    Refused,
    record_limit,
    record_refusal,
)
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.llm.endpoint_name import endpoint_name
from hermes_jobs.llm.price import FREE, OwnPrices
from hermes_jobs.llm.unusable import UnusableEmbedder, UnusableModel
from hermes_jobs.settings import SETUP, Choice, Settings, missing_key
from hermes_jobs.system.clock import Clock

if TYPE_CHECKING:
    from hermes_jobs.llm.catalogue import DiagnosingModel, Listing
    from hermes_jobs.llm.client import AnthropicModel, EndpointModel, OpenAIModel
    from hermes_jobs.llm.embeddings_client import EmbeddingsEndpoint, SmallEndpoint
    from hermes_jobs.llm.providers import ProviderName
    from hermes_jobs.llm.refusals import Refusals
    from hermes_jobs.llm.speech_client import SpeechEndpoint
    from hermes_jobs.llm.transcription_client import TranscriptionEndpoint
    from hermes_jobs.llm.windows import RecalledWindow, Windows
    from hermes_jobs.tools.summaries import SummaryModel


K = TypeVar("K")
T = TypeVar("T")
S = TypeVar("S", bound="SmallEndpoint")


class ModelEndpoints:
    """Windows and prices for each `base_url` (None: OpenAI's), and a client for each URL, key and provider.

    `by_name` routes each request to the endpoint of its model. Safe for many threads; close it at the end.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        learned: Callable[[], LearnedWindows],
        *,
        record: Callable[[Decision], None] = lambda decision: None,
        watch: Callable[[Any], None] | None = None,
        content: Callable[[str], bytes | None] = lambda digest: None,
    ) -> None:
        """`learned` gives what is recorded of models, `record` writes it; `watch` is called with each HTTP
        client; `content` gives the bytes of attachments by their digests.
        """
        self._settings = settings
        self._clock = clock
        self._learned = learned
        self._record = record
        self._watch = watch
        self._content = content
        self._lock = threading.RLock()
        self._models: dict[tuple[str | None, str, ProviderName], DiagnosingModel] = {}
        self._windows: dict[str | None, Windows] = {}
        self._refusals: dict[str | None, Refusals] = {}
        self._prices: dict[str | None, OwnPrices] = {}
        self._embedders: dict[Choice, EmbeddingsEndpoint] = {}
        self._transcribers: dict[Choice, TranscriptionEndpoint] = {}
        self._speakers: dict[Choice, SpeechEndpoint] = {}
        self.by_name = ModelRouter(settings, self)

    def close(self) -> None:
        """Release the connections of all clients."""
        with self._lock:
            models, self._models = list(self._models.values()), {}
            small = [*self._embedders.values(), *self._transcribers.values(), *self._speakers.values()]
            self._embedders, self._transcribers, self._speakers = {}, {}, {}
        for model in models:
            model.close()
        for endpoint in small:
            endpoint.close()

    def model(self, choice: Choice) -> Model:
        """The client for that choice; the rehearsal where it is chosen.

        Without a key, a model that refuses every call with a message that names the key.
        """
        if choice.rehearsal:
            from hermes_jobs.llm.rehearsal import RehearsalModel

            return RehearsalModel()
        missing = missing_key(choice, self._settings.secrets)
        if missing is not None:
            return UnusableModel(ModelError("auth", missing, hint=SETUP))
        return self._made(self._models, choice.endpoint, lambda _: self._explained(choice))

    @property
    def embedder(self) -> Embedder | None:
        """What gives texts vectors; None where embeddings are off. One that cannot work refuses calls."""
        choice = self._settings.embedding_model
        if choice is None:
            return None
        missing = missing_key(choice, self._settings.secrets)
        if missing is not None:
            return UnusableEmbedder(choice.model, ModelError("auth", missing, hint=SETUP))
        if choice.rehearsal or choice.at.api != "openai":
            text = (
                f"{choice.at.title} makes no embeddings." if not choice.rehearsal else "No model is set up."
            )
            hint = "Set embeddings.base_url to an endpoint that does."
            return UnusableEmbedder(choice.model, ModelError("unsupported", text, hint=hint))
        return self._made(self._embedders, choice, self._embedding_client)

    def _embedding_client(self, choice: Choice) -> EmbeddingsEndpoint:
        from hermes_jobs.llm.embeddings_client import EmbeddingsEndpoint

        return self._small(EmbeddingsEndpoint, choice)

    @property
    def transcriber(self) -> TranscriptionEndpoint | None:
        """The model that hears sounds; None where none is set, or its key is missing."""
        choice = self._audio_choice("transcription")
        return self._made(self._transcribers, choice, self._transcription_client) if choice else None

    @property
    def speaker(self) -> SpeechEndpoint | None:
        """The model that speaks answers; None where none is set, or its key is missing."""
        choice = self._audio_choice("speech")
        return self._made(self._speakers, choice, self._speech_client) if choice else None

    def _audio_choice(self, purpose: Literal["transcription", "speech"]) -> Choice | None:
        if getattr(self._settings.auxiliary, purpose).model is None:
            return None
        choice = self._settings.auxiliary_model(purpose)
        is_usable = not choice.rehearsal and missing_key(choice, self._settings.secrets) is None
        return choice if is_usable else None

    @property
    def seer(self) -> SummaryModel | None:
        """The model that sees pictures for others; None where none is set."""
        from hermes_jobs.tools.summaries import SummaryModel

        if self._settings.auxiliary.vision.model is None:
            return None
        choice = self._settings.auxiliary_model("vision")
        return SummaryModel(self.model(choice), choice.model, self.prices(choice.base_url))

    def _transcription_client(self, choice: Choice) -> TranscriptionEndpoint:
        from hermes_jobs.llm.transcription_client import TranscriptionEndpoint

        return self._small(TranscriptionEndpoint, choice)

    def _speech_client(self, choice: Choice) -> SpeechEndpoint:
        from hermes_jobs.llm.speech_client import SpeechEndpoint

        return self._small(SpeechEndpoint, choice)

    def _small(self, kind: type[S], choice: Choice) -> S:
        """The client of that kind for the choice's model."""
        return kind(
            model=choice.model,
            name=choice.model,
            base_url=choice.base_url,
            api_key=self._settings.secrets.get(choice.key),
            pricing=self.prices(choice.base_url),
        )

    def listing(self, choice: Choice) -> Listing:
        """The models that the choice's endpoint lists. Calls it. Raises `ModelError`."""
        from hermes_jobs.llm.catalogue import listing
        from hermes_jobs.llm.dialect import OPENAI_URL

        key = self._settings.secrets.get(choice.key)
        return listing(choice.base_url or OPENAI_URL, key, choice.at.api)

    def windows(self, base_url: str | None) -> Windows:
        """The context windows of the endpoint's models, as known, configured and learned."""
        return self._made(self._windows, base_url, self._known_windows)

    def refusals(self, base_url: str | None) -> Refusals:
        """What the endpoint refuses of requests, as learned."""
        return self._made(self._refusals, base_url, self._known_refusals)

    def is_blind(self, model: str) -> bool:
        """Whether the model is known not to see: by the settings, or its endpoint has refused a picture."""
        choice = self._settings.choice(model)
        sees = self._settings.attachments.sees.get(choice.model)
        return not sees if sees is not None else "pictures" in self.refusals(choice.base_url).of(choice.model)

    def hears(self, model: str) -> bool:
        """Whether the model hears sounds itself: by the settings or its name, and not refused since."""
        from hermes_jobs.llm.dialect import OPENAI_URL, first_dialect

        choice = self._settings.choice(model)
        if choice.rehearsal or choice.at.api != "openai":
            return False
        url, manner = choice.base_url or OPENAI_URL, api_options(self._settings, choice)
        if not first_dialect(url, choice.model, manner).takes.sounds:
            return False
        return "sounds" not in self.refusals(choice.base_url).of(choice.model)

    def name(self, base_url: str | None) -> str:
        """The endpoint's name in the log: see `endpoint_name`."""
        return endpoint_name(base_url)

    def prices(self, base_url: str | None) -> Pricing:
        """The prices of the endpoint's models: from the settings, else from the list."""
        from hermes_jobs.llm.price_list import PriceList

        own = {name: price or FREE for name, price in self._settings.models.prices.items()}
        return self._made(self._prices, base_url, lambda url: OwnPrices(own, PriceList(url, self._clock)))

    def learn(self, base_url: str | None, model: str, window: int) -> Decision | None:
        """The decision that records a window that the endpoint has named, in tokens; None where it is
        implausible, no smaller than the assumed one, or set in the configuration."""
        windows = self.windows(base_url)
        assumed = windows.assumed(model)
        if not LEAST_WINDOW <= window < assumed or windows.window(model).source == "setting":
            return None
        return record_limit(endpoint_name(base_url), model, LearnedWindow(window, assumed, self._clock.now()))

    def read_window(self, choice: Choice) -> None:
        """Ask a server of one's own for the window that it serves; what it says is recorded."""
        if choice.rehearsal or choice.at.api != "openai" or missing_key(choice, self._settings.secrets):
            return
        client = self._made(self._models, choice.endpoint, lambda _: self._explained(choice))
        try:
            window = client.served_window(choice.model)
        except ModelError:  # the call says what keeps it from being made
            return
        windows = self.windows(choice.base_url)
        if window is None or window < LEAST_WINDOW or windows.window(choice.model).source == "setting":
            return
        assumed = windows.assumed(choice.model)
        learned = LearnedWindow(window, assumed, self._clock.now(), "server")
        self._record(record_limit(endpoint_name(choice.base_url), choice.model, learned))

    def _made(self, cache: dict[K, T], which: K, make: Callable[[K], T]) -> T:
        with self._lock:
            if which not in cache:
                cache[which] = make(which)
            return cache[which]

    def _explained(self, choice: Choice) -> DiagnosingModel:
        from hermes_jobs.llm.catalogue import DiagnosingModel

        return DiagnosingModel(self._client(choice), lambda: self.listing(choice))

    def _client(self, choice: Choice) -> EndpointModel:
        return _kind_of_client(choice)(
            api_key=self._settings.secrets.get(choice.key),
            base_url=choice.base_url,
            idle_timeout=self._settings.model.idle_timeout,
            timeout=self._settings.model.timeout,
            manner=api_options(self._settings, choice),
            windows=self.windows(choice.base_url),
            refusals=self.refusals(choice.base_url),
            watch=self._watch,
            content=self._content,
        )

    def _known_windows(self, base_url: str | None) -> Windows:
        from hermes_jobs.llm.windows import Windows, known_window

        settings = self._settings
        endpoint = endpoint_name(base_url)
        return Windows(
            override=settings.model.context_length if base_url == settings.main_model.base_url else None,
            known_window=lambda name: known_window(name, base_url),
            recalled=lambda name: _recalled(self._learned(), (endpoint, name)),
            now=self._clock.now,
        )

    def _known_refusals(self, base_url: str | None) -> Refusals:
        from hermes_jobs.llm.refusals import RecalledRefusals, Refusals

        endpoint = endpoint_name(base_url)

        def recalled(model: str) -> RecalledRefusals:
            learned, now = self._learned(), self._clock.now()
            features = learned.refused.get((endpoint, model), {})
            current = {name: refused.message for name, refused in features.items() if refused.counts(now)}
            return RecalledRefusals(current, learned.forgotten.get((endpoint, model), 0))

        def record(model: str, feature: str, message: str) -> None:
            self._record(record_refusal(endpoint, model, feature, Refused(message, self._clock.now())))

        return Refusals(recalled, record)


class ModelRouter:
    """The `Model` and `Pricing` of every model name that `Settings.choice` can resolve."""

    def __init__(self, settings: Settings, endpoints: ModelEndpoints) -> None:
        self._settings = settings
        self._endpoints = endpoints
        self._choice = lru_cache(64)(settings.choice)

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`. The reply's model is a name that resolves to the same endpoint."""
        choice = self._choice(request.model)
        routed = request if choice.model == request.model else replace(request, model=choice.model)
        reply = self._endpoints.model(choice).reply(routed, cancel, on_text)
        return replace(reply, model=self._model_charged(choice, reply.model or choice.model))

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """See `Pricing.cost_usd`."""
        choice = self._choice(model)
        return self._endpoints.prices(choice.base_url).cost_usd(choice.model, usage)

    def is_priced(self, model: str) -> bool:
        """Whether the price of that model is known."""
        return self.cost_usd(model, Usage(1)) is not None

    def window_of(self, model: str) -> int:
        """The model's context window, in tokens."""
        choice = self._choice(model)
        return self._endpoints.windows(choice.base_url).of(choice.model)

    def read_window(self, model: str) -> int:
        """The model's context window, in tokens, as a server of one's own says it now."""
        ensemble = self._settings.ensemble_name(model)
        name = model if ensemble is None else self._settings.models.ensembles[ensemble].aggregator
        self._endpoints.read_window(self._choice(name))
        return self.window_of(name)

    def longest_answer(self, model: str) -> int | None:
        """The most tokens of an answer of that model; None where that is not known."""
        choice = self._choice(model)
        if choice.at.api != "anthropic":
            return None
        from hermes_jobs.llm.anthropic.abilities import abilities

        return abilities(choice.model).longest

    def learn(self, model: str, window: int) -> Decision | None:
        """The decision that records a window named by a refusal; None where no larger one was assumed."""
        choice = self._choice(model)
        return self._endpoints.learn(choice.base_url, choice.model, window)

    def _model_charged(self, choice: Choice, answered_by: str) -> str:
        """The name under which usage is recorded: the model that answered, unless only the requested one is
        priced."""
        own = self._settings.models.prices
        name = choice.model if choice.model in own and answered_by not in own else answered_by
        if choice.rehearsal or self._choice(name).endpoint == choice.endpoint:
            return name
        return f"{choice.provider}:{name}"


def _kind_of_client(choice: Choice) -> type[AnthropicModel | OpenAIModel]:
    """The client class for the API of the choice's provider; imports only that one."""
    match choice.at.api:
        case "anthropic":
            from hermes_jobs.llm.client import AnthropicModel

            return AnthropicModel
        case "openai":
            from hermes_jobs.llm.client import OpenAIModel

            return OpenAIModel
        case _:
            assert_never(choice.at.api)


def _recalled(learned: LearnedWindows, place: Place) -> RecalledWindow:
    from hermes_jobs.llm.windows import RecalledWindow

    return RecalledWindow(learned.windows.get(place), learned.forgotten.get(place, 0))
