"""Conversations: the loop of a turn, what stays in the context, questions, files, limits."""

from typing import Annotated, Literal

from msgspec import Meta

from hermes_jobs.settings.sections.values import (
    Count,
    CountFromZero,
    Money,
    Seconds,
    Section,
    Text,
    about,
)


class Agent(Section, frozen=True, kw_only=True):
    """The turn's loop."""

    max_iterations: Annotated[
        Count, about("Most rounds of tool calls in one turn; then it must conclude.")
    ] = 90
    workdir: Annotated[Text | None, about("Working folder of gateways and schedules.")] = None


class Display(Section, frozen=True, kw_only=True):
    """What terminals show besides answers."""

    news: Annotated[
        bool, about("Print results of reviews and of unattended work since the last command, once.")
    ] = True
    footer: Annotated[bool, about("Print a line below an answer: seconds, cost, context used, turn.")] = True


class SessionSettings(Section, frozen=True, kw_only=True):
    """Texts that arrive while a turn runs."""

    if_busy: Annotated[
        Literal["queue", "collect", "steer", "interrupt", "reject"],
        about("What to do with a text that arrives while its session runs a turn."),
    ] = "queue"


class CompressionSettings(Section, frozen=True, kw_only=True):
    """When and how far a session's history is compressed."""

    enabled: Annotated[bool, about("Compress automatically; `sessions compress` works either way.")] = True
    threshold: Annotated[
        float, Meta(gt=0, le=1, description="Share of the window at which the history is compressed.")
    ] = 0.50
    target_ratio: Annotated[
        float, Meta(ge=0.10, le=0.80, description="Share of the threshold for the uncompressed tail.")
    ] = 0.20
    protect_last_n: Annotated[CountFromZero, about("Newest messages that are never compressed.")] = 20
    idle_tokens: Annotated[
        Count | None,
        about(
            "Tokens from which on a resting session is compressed before its cache ends, if that is likely "
            "to save money; null: never."
        ),
    ] = 30_000
    summary_model: Annotated[
        Text | None, about("Model of the summary; null: auxiliary.compression.model.")
    ] = None


class Context(Section, frozen=True, kw_only=True):
    """The context engine."""

    engine: Annotated[Text, about("Name of the context engine.")] = "compressor"


class AskSettings(Section, frozen=True, kw_only=True):
    """What the agent asks a person with `ask_user`."""

    unattended: Annotated[
        Literal["refuse", "wait", "default"],
        about(
            "Questions of turns that nobody attends. refuse: the agent decides or stops; wait: they wait for "
            "an answer from elsewhere; default: the first choice is the answer."
        ),
    ] = "refuse"


class SearchSettings(Section, frozen=True, kw_only=True):
    """How earlier conversations are searched."""

    expand: Annotated[
        bool,
        about("`session_search` asks the auxiliary model for synonyms if no message contains all words."),
    ] = False


class BudgetsSettings(Section, frozen=True, kw_only=True):
    """Spending limits; null: none."""

    turn_usd: Annotated[Money | None, about("US dollars per turn.")] = None
    turn_tokens: Annotated[Count | None, about("Tokens per turn.")] = None
    session_usd: Annotated[Money | None, about("US dollars per session.")] = None
    day_usd: Annotated[Money | None, about("US dollars per day, in the zone of schedules.timezone.")] = None


class Retention(Section, frozen=True, kw_only=True):
    """Retention of conversations."""

    days: Annotated[
        Count | None, about("Days after its last use when a conversation is deleted; null: never.")
    ] = None


class AttachmentsSettings(Section, frozen=True, kw_only=True):
    """Pictures and documents beside a message."""

    file_mb: Annotated[Seconds, about("Most megabytes of one file.")] = 20
    sees: Annotated[
        dict[str, bool],
        about("Whether models see pictures, by name; others do until their endpoint refuses one."),
    ] = {}
    hears: Annotated[
        dict[str, bool],
        about(
            "Whether models hear WAV and MP3 sounds, by name; of others OpenAI's audio models and Gemini do."
        ),
    ] = {}
