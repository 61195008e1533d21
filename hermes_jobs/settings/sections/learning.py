"""What the agent keeps: memory, skills, and the verification of reviews."""

from typing import Annotated, Literal

from hermes_jobs.settings.sections.values import Count, CountFromZero, Money, Section, Text, WebUrl, about


class Mem0(Section, frozen=True, kw_only=True):
    """The memory provider mem0; its key is the secret MEM0_API_KEY."""

    base_url: Annotated[WebUrl | None, about("Mem0's server; null: its own service.")] = None
    user: Annotated[Text, about("User id at Mem0.")] = "user"


class Honcho(Section, frozen=True, kw_only=True):
    """The memory provider honcho; its key is the secret HONCHO_API_KEY."""

    base_url: Annotated[WebUrl | None, about("Honcho's server; null: its own service.")] = None
    workspace: Annotated[Text, about("Honcho's workspace.")] = "hermes-jobs"


class MemorySettings(Section, frozen=True, kw_only=True):
    """What the agent remembers between sessions."""

    memory_chars: Annotated[Count, about("Limit of MEMORY.md in characters.")] = 2_200
    user_chars: Annotated[Count, about("Limit of USER.md in characters.")] = 1_375
    nudge_interval: Annotated[CountFromZero, about("User turns between two memory reviews; 0: none.")] = 10
    curate: Annotated[
        Literal["ask", "apply"],
        about("ask: the curator only proposes; apply: it applies safe proposals regularly."),
    ] = "ask"
    consolidate: Annotated[
        bool,
        about("A model extracts dated observations from finished conversations, for recall."),
    ] = False
    consolidate_per_day: Annotated[
        Count, about("Parts of conversations that are consolidated automatically per day.")
    ] = 20
    recall: Annotated[bool, about("Search earlier sessions before each turn.")] = False
    recall_tokens: Annotated[Count, about("Limit of recalled context in a request, in tokens.")] = 1_000
    provider: Annotated[Text | None, about("External memory provider beside the built-in one.")] = None
    mem0: Mem0 = Mem0()
    honcho: Honcho = Honcho()


class SkillsSettings(Section, frozen=True, kw_only=True):
    """Procedures that the agent writes down."""

    creation_nudge_interval: Annotated[
        CountFromZero, about("Iterations with tool calls between two skill reviews; 0: none.")
    ] = 10
    external_dirs: Annotated[tuple[Text, ...], about("Further skill folders, read only.")] = ()
    guard: Annotated[bool, about("Scan skills that the agent writes.")] = True
    bundled: Annotated[bool, about("Skills about hermes-jobs itself that come with it.")] = True


class LearningSettings(Section, frozen=True, kw_only=True):
    """Verification of reviews' writes on past turns, and what waits for you."""

    verify: Annotated[
        Literal["off", "cheap", "full"],
        about(
            "Test what reviews save by replaying past turns with and without it. cheap: two turns; full: up "
            "to eight turns, several times, compared by a judge model."
        ),
    ] = "cheap"
    budget_usd: Annotated[
        Money | None, about("US dollars per verification; null: only budgets.day_usd applies.")
    ] = None
    hold: Annotated[
        bool,
        about(
            "What the agent wants to remember once the conversation has text that others wrote asks you, or "
            "waits for you (`held list`) where nobody watches and in reviews, unless you said it yourself."
        ),
    ] = True
