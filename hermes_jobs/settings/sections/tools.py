"""Tools: which there are, what they may do, sub-agents and servers."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from hermes_jobs.settings.search_providers import ALSO_CALLED as SEARCH_ALSO_CALLED
from hermes_jobs.settings.search_providers import SearchName
from hermes_jobs.settings.sections.mcp_servers import SERVER_NAME, McpServer
from hermes_jobs.settings.sections.values import (
    Count,
    CountFromZero,
    Duration,
    Seconds,
    Section,
    Text,
    WebUrl,
    about,
)

McpName: TypeAlias = Annotated[str, Meta(pattern=SERVER_NAME)]
McpEntry: TypeAlias = Annotated[
    McpServer, Meta(title="a server", examples=["{command: npx, args: [-y, some-server]}"])
]


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
