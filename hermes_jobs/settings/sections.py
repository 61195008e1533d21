"""Every key of the configuration: its type, range, default and meaning.

A key's `about(...)` is its documentation: `config show`, the manual and the errors use this text.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from hermes_jobs.features.mcp.config import SERVER_NAME, McpServer
from hermes_jobs.llm.price import Price
from hermes_jobs.llm.providers import ALSO_CALLED, ProviderName
from hermes_jobs.settings.durations import DURATION
from hermes_jobs.settings.search_providers import ALSO_CALLED as SEARCH_ALSO_CALLED
from hermes_jobs.settings.search_providers import SearchName

DEFAULT_MODEL = "gpt-6.1-terra"
"""The default model if a key or an endpoint is set and `model.model` is not."""

MOST_MEMBERS = 8
"""Members of an ensemble at most: each is a model call of its own in every turn."""

REHEARSAL_MODEL = "rehearsal"
"""The name of the rehearsal model; `model.model: rehearsal` selects it also where a key is set."""

Count: TypeAlias = Annotated[int, Meta(ge=1)]
CountFromZero: TypeAlias = Annotated[int, Meta(ge=0)]
Money: TypeAlias = Annotated[float, Meta(ge=0)]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65_535)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
_WEB = r"^https?://([^\s/?#]*@)?(\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]]+)(:[0-9]{0,5})?([/?#]\S*)?$"
WebUrl: TypeAlias = Annotated[str, Meta(title="a URL", pattern=_WEB, examples=["https://api.openai.com/v1"])]
BrokerUrl: TypeAlias = Annotated[
    str, Meta(title="a URL", pattern=r"^[a-z][a-z0-9+.-]*://\S*$", examples=["redis://127.0.0.1:6379/0"])
]
LogUrl: TypeAlias = Annotated[
    str, Meta(title="a URL", pattern=r"^[a-z][a-z0-9+]*://\S*$", examples=["postgresql://127.0.0.1/hermes"])
]
Duration: TypeAlias = (
    CountFromZero | Annotated[str, Meta(title="a duration", pattern=DURATION, examples=["6h"])]
)
McpName: TypeAlias = Annotated[str, Meta(pattern=SERVER_NAME)]
McpEntry: TypeAlias = Annotated[
    McpServer, Meta(title="a server", examples=["{command: npx, args: [-y, some-server]}"])
]
ModelPrice: TypeAlias = Annotated[Price, Meta(title="a price", examples=["{input: 0.25, output: 2}"])]


def about(description: str, extra: dict[str, Any] | None = None) -> Meta:
    """The documentation of a key; `extra` is for `settings.keys`."""
    return Meta(description=description, extra=extra)


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys of one section of `config.yaml`."""


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
    """Verification of reviews' writes on past turns."""

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


class Toolsets(Section, frozen=True, kw_only=True):
    """Which tools the agent has."""

    enabled: Annotated[tuple[Text, ...], about("Toolsets that are on.")] = (
        "terminal",
        "files",
        "memory",
        "skills",
        "search",
        "web",
        "schedule",
        "delegate",
        "mcp",
        "consult",
        "ask",
    )
    disabled: Annotated[tuple[Text, ...], about("Toolsets that are off even if enabled.")] = ()


class AskSettings(Section, frozen=True, kw_only=True):
    """What the agent asks a person with `ask_user`."""

    unattended: Annotated[
        Literal["refuse", "wait", "default"],
        about(
            "Questions of turns that nobody attends. refuse: the agent decides or stops; wait: they wait for "
            "an answer from elsewhere; default: the first choice is the answer."
        ),
    ] = "refuse"
    expires: Annotated[Duration, about("How long a question waits; then the agent decides or stops.")] = "7d"


class SearchSettings(Section, frozen=True, kw_only=True):
    """How earlier conversations are searched."""

    expand: Annotated[
        bool,
        about("`session_search` asks the auxiliary model for synonyms if no message contains all words."),
    ] = False


class Tools(Section, frozen=True, kw_only=True):
    """Limits of tool results, and the user's own tools."""

    modules: Annotated[
        tuple[Text, ...],
        about("Modules with functions of your own for the agent, marked by `@hermes_jobs.tool`."),
    ] = ()
    result_chars: Annotated[
        Count, about("Characters above which a result is stored in a file, with a preview.")
    ] = 100_000
    turn_chars: Annotated[Count, about("Limit of all results of one assistant message.")] = 200_000
    preview_chars: Annotated[CountFromZero, about("Characters in the preview of a stored result.")] = 1_500
    serialize_terminal: Annotated[
        bool, about("Run the commands of one message that may change files in order.")
    ] = True


class Docker(Section, frozen=True, kw_only=True):
    """The container of one command, with `terminal.backend: docker`."""

    image: Annotated[Text, about("Image; it must be on the host, and is not pulled.")] = "python:3-slim"
    network: Annotated[bool, about("Whether commands reach the network.")] = False
    memory: Annotated[Text, about("Memory limit in docker's notation, including swap.")] = "1g"


class TerminalSettings(Section, frozen=True, kw_only=True):
    """The terminal tool."""

    backend: Annotated[Literal["local", "docker"], about("Where commands run.")] = "local"
    policy: Annotated[Literal["allow", "ask", "deny"], about("What to do with a dangerous command.")] = "ask"
    allow: Annotated[tuple[Text, ...], about("If not empty, only commands that match one of these run.")] = ()
    timeout: Annotated[Seconds, about("Seconds for one command, unless the call says otherwise.")] = 120
    sandbox: Annotated[
        Literal["auto", "on", "off"],
        about(
            "Hide keys and this home from commands, which write in the working folder only. Where that is "
            "not possible, on refuses commands, auto runs them."
        ),
    ] = "auto"
    sandbox_visible: Annotated[
        tuple[Text, ...],
        about("Hidden paths that commands may use nevertheless; `$NAME`: the service that it names."),
    ] = ()
    sandbox_writable: Annotated[
        tuple[Text, ...], about("Paths outside the working folder that commands may write.")
    ] = ()
    environment: Annotated[
        dict[str, str], about("Additional environment variables of commands; no secrets.")
    ] = {}
    grant: Annotated[
        tuple[Text, ...],
        about("Names of secrets in .env that commands get; not those of hermes-jobs itself."),
    ] = ()
    approval_seconds: Annotated[
        Seconds,
        about("Seconds to wait for an approval, or for an answer to a server; then the call is denied."),
    ] = 900
    docker: Docker = Docker()


class FilesSettings(Section, frozen=True, kw_only=True):
    """The file tools."""

    roots: Annotated[
        tuple[Text, ...] | None,
        about("Folders that file tools may touch; null: the session's working folder."),
    ] = None
    keep_days: Annotated[
        CountFromZero,
        about("Days for which files replaced by file tools can be restored; 0: snapshots are off."),
    ] = 30


class WebSearchSettings(Section, frozen=True, kw_only=True):
    """The tool web_search; keys are the secrets BRAVE_API_KEY, TAVILY_API_KEY and EXA_API_KEY."""

    provider: Annotated[
        SearchName | None,
        about(
            "Web search provider; null: no web_search tool.",
            extra={"also": SEARCH_ALSO_CALLED},
        ),
    ] = None
    base_url: Annotated[
        WebUrl | None,
        about("URL of the SearXNG instance, or of a proxy for another provider; null: the provider's."),
    ] = None


class WebSettings(Section, frozen=True, kw_only=True):
    """The web tools."""

    allow_private: Annotated[bool, about("Let the agent fetch from this host and from private networks.")] = (
        False
    )
    search: WebSearchSettings = WebSearchSettings()


class SchedulesSettings(Section, frozen=True, kw_only=True):
    """Defaults of a schedule."""

    timezone: Annotated[Text | None, about("Time zone of schedules and days; null: this machine's.")] = None
    missed: Annotated[
        Literal["run_once", "skip", "all"], about("What to do with runs missed while nothing was running.")
    ] = "run_once"
    overlap: Annotated[
        Literal["skip", "queue", "parallel"], about("What to do if the last run is still running.")
    ] = "skip"


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


class Telegram(Section, frozen=True, kw_only=True):
    """The Telegram gateway; its token is the secret TELEGRAM_BOT_TOKEN."""

    allowed_users: Annotated[tuple[int, ...], about("Telegram user ids that may write.")] = ()
    approvers: Annotated[
        tuple[int, ...],
        about(
            "Telegram user ids that may answer for all turns: in groups, and what turns from elsewhere ask."
        ),
    ] = ()
    push_questions: Annotated[
        bool, about("Send approvers what turns from elsewhere ask; false: only /inbox shows it.")
    ] = True
    base_url: Annotated[WebUrl | None, about("Bot API server; null: Telegram's own.")] = None


class GatewaySettings(Section, frozen=True, kw_only=True):
    """Chat gateways."""

    users: Annotated[
        dict[str, tuple[Text, ...]],
        about("A person's ids on several platforms, such as {anna: ['telegram:123']}."),
    ] = {}
    telegram: Telegram = Telegram()


class AttachmentsSettings(Section, frozen=True, kw_only=True):
    """Pictures and documents beside a message."""

    file_mb: Annotated[Seconds, about("Most megabytes of one file.")] = 20
    turn_mb: Annotated[Seconds, about("Most megabytes of all files of a message.")] = 24
    files: Annotated[Count, about("Most files of a message.")] = 20
    pages: Annotated[Count, about("Most pages of a document.")] = 100
    megapixels: Annotated[Seconds, about("Most megapixels of a picture before it is decoded.")] = 100
    side: Annotated[
        int, Meta(ge=200, le=2_000, description="Longest side of a picture as it is sent, in pixels.")
    ] = 1_568
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


class DelegationSettings(Section, frozen=True, kw_only=True):
    """Sub-agents, which work on parts of a task."""

    per_root: Annotated[Count, about("Sub-agents of one turn that may run at once.")] = 3
    per_home: Annotated[Count, about("Sub-agents of all turns that may run at once.")] = 10
    depth: Annotated[CountFromZero, about("Levels of sub-agents below a conversation; 0: none.")] = 2


class AgentRoleSettings(Section, frozen=True, kw_only=True):
    """A kind of sub-agent."""

    description: Annotated[str, about("Description for the model that delegates.")] = ""
    prompt: Annotated[str, about("Its system prompt.")] = ""
    toolsets: Annotated[tuple[Text, ...] | None, about("Its toolsets; null: the delegating agent's.")] = None
    model: Annotated[Text | None, about("Its model; null: the delegating agent's.")] = None
    budget: Annotated[
        Annotated[float, Meta(gt=0)] | None, about("Budget in US dollars; null: no limit of its own.")
    ] = None
    max_iterations: Annotated[
        Count | None, about("Most rounds of tool calls; null: agent.max_iterations.")
    ] = None


class Workers(Section, frozen=True, kw_only=True):
    """The processes that work."""

    concurrency: Annotated[
        Count, about("Most steps that a worker runs at once; threads start as needed.")
    ] = 256
    lease_seconds: Annotated[
        Seconds, about("Seconds without a heartbeat after which a worker counts as dead.")
    ] = 8
    stop_seconds: Annotated[
        float, Meta(ge=0, description="Seconds that running writes may take when a worker stops.")
    ] = 20
    one_cpu: Annotated[
        bool, about("Keep a busy worker's threads on one CPU (Linux); commands run anywhere.")
    ] = True


class Metrics(Section, frozen=True, kw_only=True):
    """What Prometheus may collect."""

    port: Annotated[Port | None, about("Port on which `up` serves metrics; null: none.")] = None
    address: Annotated[Text, about("Address on which metrics are served.")] = "127.0.0.1"


class ServeSettings(Section, frozen=True, kw_only=True):
    """The web pages of `serve`; the hash of their password is the secret SERVE_HASHED_PASSWORD."""

    enabled: Annotated[bool, about("Whether `up` serves the web pages.")] = False
    host: Annotated[Text, about("Address on which they are served.")] = "127.0.0.1"
    port: Annotated[Port, about("Port on which they are served.")] = 5580
    trusted_proxy_header: Annotated[
        Text | None,
        about("Header in which a proxy names the signed-in person; only the proxy may reach the port."),
    ] = None
    allowed_hosts: Annotated[
        tuple[Text, ...], about("Further hosts by which browsers reach it, such as jobs.example.com.")
    ] = ()
    public_url: Annotated[
        Text | None, about("Its address for other devices, such as https://jobs.example.com: for links.")
    ] = None
    deliver: Annotated[
        tuple[Text, ...],
        about("Targets of the answers to what is written there, such as ntfy:TOPIC or push."),
    ] = ()
    ntfy_server: Annotated[Text, about("Server of the targets ntfy:TOPIC.")] = "https://ntfy.sh"


class Mcp(Section, frozen=True, kw_only=True):
    """Tools of MCP servers."""

    inline_share: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Share of the window above which the model searches tools instead of listing all.",
        ),
    ] = 0.05
    wait_for_required: Annotated[
        Duration, about("Longest wait of a turn for a required server; 0: the turn fails at once.")
    ] = "6h"


class Configuration(Section, frozen=True, kw_only=True):
    """All keys, in the structure of `config.yaml`."""

    broker_url: Annotated[BrokerUrl | None, about("Celery's broker; null: the embedded one.")] = None
    log_url: Annotated[LogUrl | None, about("The log's database; null: events.db in the home.")] = None
    model: ModelSettings = ModelSettings()
    models: ModelsSettings = ModelsSettings()
    auxiliary: Auxiliary = Auxiliary()
    embeddings: EmbeddingsSettings = EmbeddingsSettings()
    agent: Agent = Agent()
    display: Display = Display()
    session: SessionSettings = SessionSettings()
    compression: CompressionSettings = CompressionSettings()
    context: Context = Context()
    memory: MemorySettings = MemorySettings()
    skills: SkillsSettings = SkillsSettings()
    learning: LearningSettings = LearningSettings()
    toolsets: Toolsets = Toolsets()
    ask: AskSettings = AskSettings()
    search: SearchSettings = SearchSettings()
    tools: Tools = Tools()
    terminal: TerminalSettings = TerminalSettings()
    files: FilesSettings = FilesSettings()
    web: WebSettings = WebSettings()
    schedules: SchedulesSettings = SchedulesSettings()
    attachments: AttachmentsSettings = AttachmentsSettings()
    delegation: DelegationSettings = DelegationSettings()
    agents: Annotated[
        dict[str, AgentRoleSettings], about("Kinds of sub-agents by name, beside research and coding.")
    ] = {}
    budgets: BudgetsSettings = BudgetsSettings()
    retention: Retention = Retention()
    gateway: GatewaySettings = GatewaySettings()
    workers: Workers = Workers()
    metrics: Metrics = Metrics()
    serve: ServeSettings = ServeSettings()
    mcp: Mcp = Mcp()
    mcp_servers: Annotated[
        dict[McpName, McpEntry],
        about(
            "MCP servers by name; see docs/mcp.md.",
            extra={"parts": True},
        ),
    ] = {}
