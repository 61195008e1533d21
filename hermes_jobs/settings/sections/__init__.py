"""Every key of the configuration: its type, range, default and meaning.

A key's `about(...)` is its documentation: `config show`, the manual and the errors use this text.
"""

from typing import Annotated

from hermes_jobs.settings.sections.conversations import (
    Agent,
    AskSettings,
    AttachmentsSettings,
    BudgetsSettings,
    CompressionSettings,
    Context,
    Display,
    Retention,
    SearchSettings,
    SessionSettings,
)
from hermes_jobs.settings.sections.learning import LearningSettings, MemorySettings, SkillsSettings
from hermes_jobs.settings.sections.models import Auxiliary, EmbeddingsSettings, ModelSettings, ModelsSettings
from hermes_jobs.settings.sections.processes import (
    GatewaySettings,
    Metrics,
    SchedulesSettings,
    ServeSettings,
    Workers,
)
from hermes_jobs.settings.sections.tools import (
    AgentRoleSettings,
    DelegationSettings,
    FilesSettings,
    Mcp,
    McpEntry,
    McpName,
    TerminalSettings,
    Tools,
    Toolsets,
    WebSettings,
)
from hermes_jobs.settings.sections.values import BrokerUrl, LogUrl, Section, about


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
