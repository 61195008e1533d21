"""Models: the main one, those by name, and the helpers."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from hermes_jobs.llm.price import Price
from hermes_jobs.llm.providers import ALSO_CALLED, ProviderName
from hermes_jobs.settings.sections.values import Count, Duration, Seconds, Section, Text, WebUrl, about

DEFAULT_MODEL = "gpt-6.1-terra"
"""The default model if a key or an endpoint is set and `model.model` is not."""

MOST_MEMBERS = 8
"""Members of an ensemble at most: each is a model call of its own in every turn."""

REHEARSAL_MODEL = "rehearsal"
"""The name of the rehearsal model; `model.model: rehearsal` selects it also where a key is set."""

ModelPrice: TypeAlias = Annotated[Price, Meta(title="a price", examples=["{input: 0.25, output: 2}"])]


class ModelSettings(Section, frozen=True, kw_only=True):
    """The model and its limits."""

    model: Annotated[
        Text | None, about(f"Model name; null: {DEFAULT_MODEL}, or the rehearsal without key and base_url.")
    ] = None
    provider: Annotated[
        Literal["auto", ProviderName],
        about(
            "Provider; auto: by base_url, the keys that are set, and the model's name.",
            extra={"also": ALSO_CALLED},
        ),
    ] = "auto"
    base_url: Annotated[WebUrl | None, about("URL of the API; null: the provider's.")] = None
    api: Annotated[
        Literal["auto", "chat", "responses"],
        about(
            "Chat Completions or the Responses API; auto: the one with which the provider keeps reasoning."
        ),
    ] = "auto"
    context_length: Annotated[Count | None, about("Window in tokens; null: the model's known one.")] = None
    max_tokens: Annotated[Count | None, about("Output limit of a call in tokens; null: the provider's.")] = (
        None
    )
    prompt_cache: Annotated[Literal["auto", "on", "off"], about("Cache marks; auto: for Claude models.")] = (
        "auto"
    )
    cache_ttl: Annotated[
        Literal["5m", "1h", "auto"],
        about(
            "How long the provider keeps a marked prefix; auto: by how long the session has rested before."
        ),
    ] = "5m"
    tool_calling: Annotated[
        Literal["auto", "structured", "text"], about("How the model calls tools; auto: by the model's name.")
    ] = "auto"
    reasoning_effort: Annotated[
        Literal["none", "low", "medium", "high", "max"] | None,
        about("How much the model thinks before it answers; null: the provider's default."),
    ] = None
    idle_timeout: Annotated[
        Seconds, about("Seconds without any data, after which a model call has failed.")
    ] = 120
    timeout: Annotated[Seconds | None, about("Seconds for a whole model call; null: no limit.")] = None
    fallback: Annotated[
        tuple[Text, ...],
        about("Models to try in this order if the model cannot be used; each is [PROVIDER:]MODEL."),
    ] = ()
    wait_for_quota: Annotated[
        Duration, about("Longest wait for a quota that resets at a known time; 0: the turn fails at once.")
    ] = "6h"


class EnsembleEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Several models by one name: the members are asked first, and the aggregator answers."""

    members: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=MOST_MEMBERS)]
    aggregator: Text


class ModelsSettings(Section, frozen=True, kw_only=True):
    """Models by name."""

    aliases: Annotated[dict[str, Text], about("Short names of models, such as {fast: gpt-6.1-terra}.")] = {}
    prices: Annotated[
        dict[str, Literal[0] | ModelPrice],
        about("US dollars per million tokens, by model; 0: free. They override known prices."),
    ] = {}
    ensembles: Annotated[
        dict[
            str,
            Annotated[
                EnsembleEntry,
                Meta(
                    title=f"members (1 to {MOST_MEMBERS}) and an aggregator,",
                    examples=["{members: [gpt-6.1-terra, claude-haiku-4-5], aggregator: gpt-6.1-sol}"],
                ),
            ],
        ],
        about(
            "Ensembles by name, also written as models.NAME: the members are asked "
            "before the aggregator answers.",
            extra={"entries_in": "models"},
        ),
    ] = {}


class AuxiliaryTask(Section, frozen=True, kw_only=True):
    """The model of one auxiliary task; null: the auxiliary model, else the main one."""

    model: Annotated[Text | None, about("Model name for this task.")] = None
    base_url: Annotated[WebUrl | None, about("Endpoint for this task.")] = None


class VisionTask(AuxiliaryTask, frozen=True, kw_only=True):
    """The model that others ask about pictures that they cannot see."""

    model: Annotated[Text | None, about("Model name for this task; null: none is asked.")] = None


class TranscriptionTask(AuxiliaryTask, frozen=True, kw_only=True):
    """The model that hears voice notes and other sounds."""

    model: Annotated[
        Text | None, about("Model that gives sounds as text, such as gpt-4o-mini-transcribe; null: none.")
    ] = None


class SpeechTask(AuxiliaryTask, frozen=True, kw_only=True):
    """The model that speaks answers."""

    model: Annotated[
        Text | None, about("Model that speaks answers, such as gpt-4o-mini-tts; null: none is spoken.")
    ] = None
    voice: Annotated[Text, about("Its voice.")] = "alloy"
    answers: Annotated[
        Literal["voice", "all"],
        about("Which delivered answers are spoken: those to voice notes, or all."),
    ] = "voice"


class TitleTask(Section, frozen=True, kw_only=True):
    """Whether the auxiliary model names sessions."""

    enabled: Annotated[
        bool,
        about("A model writes the titles of interactive sessions, after the first answer."),
    ] = True


class Auxiliary(Section, frozen=True, kw_only=True):
    """The model that summarises and reviews; null: the main one."""

    model: Annotated[Text | None, about("Model name for all auxiliary tasks.")] = None
    base_url: Annotated[WebUrl | None, about("Endpoint for all auxiliary tasks.")] = None
    compression: AuxiliaryTask = AuxiliaryTask()
    session_search: AuxiliaryTask = AuxiliaryTask()
    review: AuxiliaryTask = AuxiliaryTask()
    vision: VisionTask = VisionTask()
    transcription: TranscriptionTask = TranscriptionTask()
    speech: SpeechTask = SpeechTask()
    title: TitleTask = TitleTask()


class EmbeddingsSettings(Section, frozen=True, kw_only=True):
    """Vectors of memory entries and conversations, for recall by meaning."""

    model: Annotated[Text | None, about("Embedding model; null: no embeddings.")] = None
    base_url: Annotated[WebUrl | None, about("Its endpoint; null: the model's.")] = None
    max_chars: Annotated[Count, about("Characters of a text that are embedded; the rest is left out.")] = (
        6_000
    )
    threshold: Annotated[
        float, Meta(ge=0, le=1, description="Least cosine similarity of what is recalled by embeddings.")
    ] = 0.35
