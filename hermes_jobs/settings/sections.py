"""Every key of the configuration: its type, range, default and meaning.

A key's `Meta(description=...)` is its documentation: `config show`, the manual and the errors say the same.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from hermes_jobs.agent.llm.price import Price
from hermes_jobs.agent.llm.providers import ALSO_CALLED, ProviderName
from hermes_jobs.settings.durations import DURATION

DEFAULT_MODEL = "gpt-5-mini"
"""The default model if a key or an endpoint is set and `model.model` is not."""

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
ModelPrice: TypeAlias = Annotated[Price, Meta(title="a price", examples=["{input: 0.25, output: 2}"])]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys of one section of `config.yaml`."""


class Model(Section, frozen=True, kw_only=True):
    """The model that answers."""

    model: Annotated[
        Text | None,
        Meta(description=f"Model name; null: {DEFAULT_MODEL}, or the rehearsal without key and base_url."),
    ] = None
    provider: Annotated[
        Literal["auto", ProviderName],
        Meta(
            description="Whose API it is; auto: by base_url, the keys that are set, and the model's name.",
            extra={"also": ALSO_CALLED},
        ),
    ] = "auto"
    base_url: Annotated[WebUrl | None, Meta(description="Address of the API; null: the provider's own.")] = (
        None
    )
    api: Annotated[
        Literal["chat", "responses"], Meta(description="Chat Completions or the Responses API.")
    ] = "chat"
    context_length: Annotated[
        Count | None, Meta(description="Window in tokens; null: the model's known one.")
    ] = None
    max_tokens: Annotated[
        Count | None, Meta(description="Output limit of a call in tokens; null: the provider's.")
    ] = None
    prompt_cache: Annotated[
        Literal["auto", "on", "off"], Meta(description="Cache marks; auto: for Claude models.")
    ] = "auto"
    cache_ttl: Annotated[
        Literal["5m", "1h"], Meta(description="How long the provider keeps a marked prefix.")
    ] = "5m"
    tool_calling: Annotated[
        Literal["auto", "structured", "text"],
        Meta(description="How the model calls tools; auto: by its name."),
    ] = "auto"
    reasoning_effort: Annotated[
        Literal["none", "low", "medium", "high", "max"] | None,
        Meta(description="How much the model thinks before it answers; null: the provider's default."),
    ] = None
    idle_timeout: Annotated[
        Seconds, Meta(description="Seconds without any data, after which a model call has failed.")
    ] = 120
    timeout: Annotated[
        Seconds | None, Meta(description="Seconds for a whole model call; null: no limit.")
    ] = None
    fallback: Annotated[
        tuple[Text, ...],
        Meta(description="Models to try, in order, where this one cannot be used; [PROVIDER:]MODEL each."),
    ] = ()
    wait_for_quota: Annotated[
        Duration,
        Meta(description="Longest wait for a quota that resets at a known time; 0: the turn fails at once."),
    ] = "6h"


class Models(Section, frozen=True, kw_only=True):
    """Models by name."""

    aliases: Annotated[
        dict[str, Text], Meta(description="Short names of models, such as {fast: gpt-5-mini}.")
    ] = {}
    prices: Annotated[
        dict[str, Literal[0] | ModelPrice],
        Meta(description="US dollars for a million tokens, by model; 0: free. They win over known prices."),
    ] = {}


class AuxiliaryTask(Section, frozen=True, kw_only=True):
    """The model of one auxiliary task; null: the auxiliary model, else the main one."""

    model: Annotated[Text | None, Meta(description="Model name for this task.")] = None
    base_url: Annotated[WebUrl | None, Meta(description="Endpoint for this task.")] = None


class Auxiliary(Section, frozen=True, kw_only=True):
    """The model that summarises and reviews; null: the main one."""

    model: Annotated[Text | None, Meta(description="Model name for all auxiliary tasks.")] = None
    base_url: Annotated[WebUrl | None, Meta(description="Endpoint for all auxiliary tasks.")] = None
    compression: AuxiliaryTask = AuxiliaryTask()
    session_search: AuxiliaryTask = AuxiliaryTask()
    review: AuxiliaryTask = AuxiliaryTask()


class Agent(Section, frozen=True, kw_only=True):
    """The turn's loop."""

    max_iterations: Annotated[
        Count, Meta(description="Model calls with tools in one turn, before it must conclude.")
    ] = 15
    workdir: Annotated[Text | None, Meta(description="Working folder of gateways and schedules.")] = None


class Session(Section, frozen=True, kw_only=True):
    """Texts that arrive while a turn runs."""

    if_busy: Annotated[
        Literal["queue", "collect", "steer", "interrupt", "reject"],
        Meta(description="What happens to a text that arrives while its session runs a turn."),
    ] = "queue"


class Compression(Section, frozen=True, kw_only=True):
    """When and how far a session's history is compressed."""

    enabled: Annotated[bool, Meta(description="Compress automatically; by hand works either way.")] = True
    threshold: Annotated[
        float, Meta(gt=0, le=1, description="Share of the window at which the history is compressed.")
    ] = 0.50
    target_ratio: Annotated[
        float, Meta(ge=0.10, le=0.80, description="Share of the threshold that the kept tail may fill.")
    ] = 0.20
    protect_last_n: Annotated[CountFromZero, Meta(description="Newest messages that are always kept.")] = 20
    summary_model: Annotated[
        Text | None, Meta(description="Model of the summary; null: auxiliary.compression.model.")
    ] = None


class Context(Section, frozen=True, kw_only=True):
    """The context engine."""

    engine: Annotated[Text, Meta(description="Name of the context engine.")] = "compressor"


class Mem0(Section, frozen=True, kw_only=True):
    """The memory provider mem0; its key is the secret MEM0_API_KEY."""

    base_url: Annotated[WebUrl | None, Meta(description="Mem0's server; null: its own service.")] = None
    user: Annotated[Text, Meta(description="Name under which Mem0 keeps what it learns.")] = "user"


class Honcho(Section, frozen=True, kw_only=True):
    """The memory provider honcho; its key is the secret HONCHO_API_KEY."""

    base_url: Annotated[WebUrl | None, Meta(description="Honcho's server; null: its own service.")] = None
    workspace: Annotated[Text, Meta(description="Honcho's workspace.")] = "hermes-jobs"
    user: Annotated[Text, Meta(description="Name of the user in that workspace.")] = "user"
    assistant: Annotated[Text, Meta(description="Name of the agent in that workspace.")] = "hermes"


class Memory(Section, frozen=True, kw_only=True):
    """What the agent remembers between sessions."""

    memory_chars: Annotated[Count, Meta(description="Limit of MEMORY.md in characters.")] = 2_200
    user_chars: Annotated[Count, Meta(description="Limit of USER.md in characters.")] = 1_375
    nudge_interval: Annotated[
        CountFromZero, Meta(description="User turns between two memory reviews; 0: none.")
    ] = 10
    recall: Annotated[bool, Meta(description="Search earlier sessions before each turn.")] = False
    recall_tokens: Annotated[
        Count, Meta(description="Limit of what recall adds to a request, in tokens.")
    ] = 1_000
    provider: Annotated[
        Text | None, Meta(description="External memory provider beside the built-in one.")
    ] = None
    mem0: Mem0 = Mem0()
    honcho: Honcho = Honcho()


class Skills(Section, frozen=True, kw_only=True):
    """Procedures that the agent writes down."""

    creation_nudge_interval: Annotated[
        CountFromZero, Meta(description="Iterations with tool calls between two skill reviews; 0: none.")
    ] = 10
    external_dirs: Annotated[tuple[Text, ...], Meta(description="Further skill folders, read only.")] = ()
    guard: Annotated[bool, Meta(description="Scan skills that the agent writes.")] = True


class Toolsets(Section, frozen=True, kw_only=True):
    """Which tools the agent has."""

    enabled: Annotated[tuple[Text, ...], Meta(description="Toolsets that are on.")] = (
        "terminal",
        "files",
        "memory",
        "skills",
        "search",
        "web",
        "schedule",
    )
    disabled: Annotated[tuple[Text, ...], Meta(description="Toolsets that are off although enabled.")] = ()


class Search(Section, frozen=True, kw_only=True):
    """How earlier conversations are searched."""

    expand: Annotated[
        bool,
        Meta(description="`session_search` asks the auxiliary model for other words where none hold all."),
    ] = False


class Tools(Section, frozen=True, kw_only=True):
    """Limits of tool results."""

    result_chars: Annotated[Count, Meta(description="A longer result is kept apart, with a preview.")] = (
        100_000
    )
    turn_chars: Annotated[Count, Meta(description="Limit of all results of one assistant message.")] = 200_000
    preview_chars: Annotated[
        CountFromZero, Meta(description="Characters of a result kept apart that the model sees.")
    ] = 1_500
    serialize_terminal: Annotated[
        bool,
        Meta(description="Run the terminal calls of one message in order, file tools around them too."),
    ] = True


class Docker(Section, frozen=True, kw_only=True):
    """The container of one command, with `terminal.backend: docker`."""

    image: Annotated[Text, Meta(description="Image, present on the host; it is not pulled.")] = (
        "python:3-slim"
    )
    network: Annotated[bool, Meta(description="Whether commands reach the network.")] = False
    memory: Annotated[Text, Meta(description="Memory limit as docker writes it; counts swap too.")] = "1g"


class Terminal(Section, frozen=True, kw_only=True):
    """The terminal tool."""

    backend: Annotated[Literal["local", "docker"], Meta(description="Where commands run.")] = "local"
    policy: Annotated[
        Literal["allow", "ask", "deny"], Meta(description="What happens to a dangerous command.")
    ] = "ask"
    allow: Annotated[
        tuple[Text, ...], Meta(description="When not empty, only commands that match one of these run.")
    ] = ()
    timeout: Annotated[
        Seconds, Meta(description="Seconds for one command, unless the call says otherwise.")
    ] = 30
    sandbox: Annotated[
        Literal["auto", "on", "off"],
        Meta(description="Hide keys and this home from commands; on: run none where that cannot be done."),
    ] = "auto"
    sandbox_visible: Annotated[
        tuple[Text, ...], Meta(description="Places that commands may use although they are hidden.")
    ] = ()
    approval_seconds: Annotated[
        Seconds, Meta(description="Seconds to wait for an approval, then denied.")
    ] = 900
    docker: Docker = Docker()


class Files(Section, frozen=True, kw_only=True):
    """The file tools."""

    roots: Annotated[
        tuple[Text, ...] | None,
        Meta(description="Folders that file tools may touch; null: the session's working folder."),
    ] = None


class Web(Section, frozen=True, kw_only=True):
    """The web tools."""

    allow_private: Annotated[
        bool, Meta(description="Let the agent fetch from this host and from private networks.")
    ] = False


class Schedules(Section, frozen=True, kw_only=True):
    """Defaults of a schedule."""

    timezone: Annotated[
        Text | None, Meta(description="Zone of schedules, days, times; null: this machine's.")
    ] = None
    missed: Annotated[
        Literal["run_once", "skip", "all"], Meta(description="What happens to runs missed while down.")
    ] = "run_once"
    overlap: Annotated[
        Literal["skip", "queue", "parallel"], Meta(description="What happens when the last run still runs.")
    ] = "skip"
    by_schedules: Annotated[bool, Meta(description="Whether scheduled prompts may add schedules.")] = False


class Budgets(Section, frozen=True, kw_only=True):
    """Spending limits; null: none."""

    turn_usd: Annotated[Money | None, Meta(description="US dollars a turn.")] = None
    turn_tokens: Annotated[Count | None, Meta(description="Tokens a turn.")] = None
    session_usd: Annotated[Money | None, Meta(description="US dollars a session.")] = None
    day_usd: Annotated[
        Money | None, Meta(description="US dollars a day, as schedules.timezone has days.")
    ] = None


class Telegram(Section, frozen=True, kw_only=True):
    """The Telegram gateway; its token is the secret TELEGRAM_BOT_TOKEN."""

    allowed_users: Annotated[tuple[int, ...], Meta(description="Telegram user ids that may write.")] = ()
    base_url: Annotated[WebUrl | None, Meta(description="Bot API server; null: Telegram's own.")] = None


class Gateway(Section, frozen=True, kw_only=True):
    """Chat gateways."""

    users: Annotated[
        dict[str, tuple[Text, ...]],
        Meta(description="A person's ids on several platforms, such as {anna: ['telegram:123']}."),
    ] = {}
    telegram: Telegram = Telegram()


class Workers(Section, frozen=True, kw_only=True):
    """The processes that work."""

    concurrency: Annotated[
        Count, Meta(description="Steps that a worker performs at once; its threads are made as needed.")
    ] = 256
    lease_seconds: Annotated[Seconds, Meta(description="A worker silent for so long counts as dead.")] = 8
    stop_seconds: Annotated[
        float, Meta(ge=0, description="Seconds that running writes get when a worker stops.")
    ] = 20
    one_cpu: Annotated[
        bool, Meta(description="Keep a busy worker's threads on one CPU (Linux); commands run anywhere.")
    ] = True


class Metrics(Section, frozen=True, kw_only=True):
    """What Prometheus may collect."""

    port: Annotated[Port | None, Meta(description="Where `up` serves metrics; null: nowhere.")] = None
    address: Annotated[Text, Meta(description="Where they are served; 127.0.0.1: for this machine.")] = (
        "127.0.0.1"
    )


class Configuration(Section, frozen=True, kw_only=True):
    """All keys, in the structure of `config.yaml`."""

    broker_url: Annotated[BrokerUrl | None, Meta(description="Celery's broker; null: the embedded one.")] = (
        None
    )
    log_url: Annotated[
        LogUrl | None, Meta(description="The log's database; null: events.db in the home.")
    ] = None
    model: Model = Model()
    models: Models = Models()
    auxiliary: Auxiliary = Auxiliary()
    agent: Agent = Agent()
    session: Session = Session()
    compression: Compression = Compression()
    context: Context = Context()
    memory: Memory = Memory()
    skills: Skills = Skills()
    toolsets: Toolsets = Toolsets()
    search: Search = Search()
    tools: Tools = Tools()
    terminal: Terminal = Terminal()
    files: Files = Files()
    web: Web = Web()
    schedules: Schedules = Schedules()
    budgets: Budgets = Budgets()
    gateway: Gateway = Gateway()
    workers: Workers = Workers()
    metrics: Metrics = Metrics()
