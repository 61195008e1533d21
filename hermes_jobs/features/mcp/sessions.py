"""MCP servers of sessions: the listings that a new session freezes, and the tools of a running one.

Listings are events of the log. A server's tools are listed if the log has no listing for its configuration,
after a call of this process has reached it, and on a user's request: each new listing is recorded, and later
sessions use it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import LogUnavailable, Rejected
from hermes_jobs.features.mcp import catalogue
from hermes_jobs.features.mcp import rules as known
from hermes_jobs.features.mcp.events import McpPrompt, McpServerFailed, McpTool, McpToolsListed
from hermes_jobs.features.mcp.input_questions import InputQuestions
from hermes_jobs.features.mcp.launches import Launches
from hermes_jobs.features.mcp.messages import (
    AskNow,
    CallTool,
    Failed,
    InputRequired,
    Offer,
    Result,
    TaskCreated,
    decode_response,
)
from hermes_jobs.features.mcp.prompts import prompts_of
from hermes_jobs.features.mcp.results import text_of
from hermes_jobs.features.mcp.search import SearchableToolbox
from hermes_jobs.features.mcp.server_tasks import ServerTasks, Waits
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.features.mcp.tools import group_of, make_tool, toolset_of
from hermes_jobs.kernel.engine.ports import CANCELLED, Cancel, File, ToolContext, ToolOutcome
from hermes_jobs.kernel.events import SessionStarted
from hermes_jobs.kernel.events.session.session import McpCatalogue
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.attachments import can_be_shown
from hermes_jobs.settings.sections.mcp_servers import McpServer
from hermes_jobs.system.clock import Clock
from hermes_jobs.text.scan.scanner import redact_findings
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN
from hermes_jobs.tools.tool import Tool
from hermes_jobs.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)

REMOVED_SERVER = McpServer(command="-")
MAX_CONCURRENT = 8
MAX_INSTRUCTIONS = 2_000


@dataclass(frozen=True, kw_only=True)
class FrozenServers:
    """The frozen servers of a new session. `away`: a sentence for each server whose tools are missing;
    `required`: those of them without which it must not start. `text` is for its prompt. `search`: there are
    too many tools to list them in requests."""

    catalogues: tuple[McpCatalogue, ...] = ()
    away: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    text: str = ""
    search: bool = False


NO_SERVERS = FrozenServers()


class NeverCancelled:
    """A `Cancel` that does not fire."""

    reason = None

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """See `Cancel`."""
        return lambda: None

    def share_lease(self) -> int | None:
        """See `Cancel`."""
        return None


class McpSessions:
    """The servers of one configuration, by `launches`. Thread-safe.

    Tools of more than `inline_share` of a window are offered by search. `state(stream)` and
    `change(decision, cause)` are the log's. `questions` and `tasks` are those of servers.
    """

    def __init__(  # noqa: PLR0913 - the parts it works with
        self,
        *,
        servers: Servers,
        launches: Launches,
        state: Callable[[str], Any],
        change: Callable[[Decision, str], object],
        clock: Clock,
        results: Path,
        inline_share: float,
        questions: InputQuestions,
        tasks: ServerTasks,
    ) -> None:
        self.config = launches.config
        self.servers = servers
        self.launches = launches
        self._state = state
        self._change = change
        self._clock = clock
        self._results = results
        self._inline_share = inline_share
        self._questions = questions
        self._tasks = tasks
        self._lock = threading.Lock()
        self._seen_versions: dict[str, int] = {}

    @property
    def toolsets(self) -> dict[str, tuple[str, ...]]:
        """The toolset of all servers, and that of each."""
        by_toolset = {toolset_of(name): () for name in self.config}
        return {"mcp": tuple(by_toolset), **by_toolset} if by_toolset else {"mcp": ()}

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The names of tools of servers in approval rules."""
        groups = (group_of(name) for name in self.config)
        return (*groups, *(tool.name for tool in self.current_tools()))

    def current_tools(self) -> tuple[Tool, ...]:
        """The tools of new sessions, from the log, without a request to a server."""
        states = (self._state(known.stream_of(name)) for name in self.config)
        usable = [answered.usable for answered in states if answered.usable is not None]
        return self.tools([McpCatalogue(server=listing.server, digest=listing.digest) for listing in usable])

    def prompts(self) -> dict[str, tuple[McpPrompt, ...]]:
        """The recorded prompts, by server, without a request to a server."""
        states = {name: self._state(known.stream_of(name)) for name in sorted(self.config)}
        return {
            name: server_state.usable.prompts
            for name, server_state in states.items()
            if server_state.usable is not None
        }

    # --- a session's start ------------------------------------------------------------------------

    def freeze(self, is_on: Callable[[str], bool], workdir: str, window: int) -> FrozenServers:
        """The listings for a new session whose enabled toolsets `is_on` gives; unknown servers are listed
        in parallel. `window` is the model's, in tokens."""
        names = [name for name in sorted(self.config) if is_on(toolset_of(name))]
        if not names:
            return NO_SERVERS
        with ThreadPoolExecutor(max_workers=MAX_CONCURRENT) as pool:
            usable = dict(zip(names, pool.map(lambda name: self._usable(name, workdir), names), strict=True))
        listings = [listing for listing in usable.values() if isinstance(listing, McpToolsListed)]
        unavailable = {name: listing for name, listing in usable.items() if isinstance(listing, str)}
        for name, (first, second) in catalogue.clashes(listings).items():
            unavailable.setdefault(second, f"{name} is a tool of {first}, too; rename one of the two servers")
        usable_listings = [listed for listed in listings if listed.server not in unavailable]
        if usable_listings:
            self.servers.prepare()
        size = sum(_size(tool) for listed in usable_listings for tool in listed.tools) // CHARACTERS_A_TOKEN
        search = size > window * self._inline_share
        return FrozenServers(
            search=search,
            catalogues=tuple(
                McpCatalogue(server=listed.server, digest=listed.digest) for listed in usable_listings
            ),
            away=tuple(f"{name}: {reason}" for name, reason in unavailable.items()),
            required=tuple(name for name in unavailable if self.config[name].required),
            text=self._text(usable_listings, unavailable, search=search),
        )

    def _text(
        self, listings: Sequence[McpToolsListed], unavailable: Mapping[str, str], *, search: bool
    ) -> str:
        """The prompt's section: instructions of trusted servers, missing servers, and servers whose tools are
        searched."""
        parts = [
            f"## {listed.server}\n{_instructions(listed)}"
            for listed in listings
            if self.config[listed.server].trusted and _instructions(listed)
        ]
        if search:
            counts = ", ".join(f"{listed.server} ({len(listed.tools)})" for listed in listings)
            parts.append(
                f"Tools of these servers are found with tool_search and called with tool_call: {counts}."
            )
        if unavailable:
            missing = ", ".join(sorted(unavailable))
            parts.append(
                f"The tools of these MCP servers are missing in this session: {missing}. Where they are "
                "needed, say so."
            )
        return "\n\n".join(["# MCP servers", *parts]) if parts else ""

    def _usable(self, name: str, workdir: str) -> McpToolsListed | str:
        """The listing for new sessions, or why there is none. A required server must respond now."""
        state: known.ServerListings = self._state(known.stream_of(name))
        usable = state.usable
        config = self.config[name]
        is_known = usable is not None and usable.fingerprint == catalogue.fingerprint(config)
        if usable is not None and is_known and not config.required:
            return usable
        try:
            listing = self.discover(name, workdir)
        except Rejected as rejection:
            return rejection.message
        if isinstance(listing, Failed):
            return listing.message
        return self._state(known.stream_of(name)).usable or "its tools wait to be accepted by the user"

    def discover(self, name: str, workdir: str) -> McpToolsListed | Failed:
        """Ask a server for its tools and record what it lists, or that it cannot be asked.

        Raises `Rejected` where its configuration cannot be used.
        """
        config = self.config[name]
        launch = self.launches.launch(name, workdir)
        offer = self.servers.list_tools(launch, NeverCancelled())
        if isinstance(offer, Failed):
            self._record_failure(name, offer)
            return offer
        listed = self._listed(name, offer)
        self._record(known.record_listing(listed, trusted=config.trusted))
        return listed

    def _record_failure(self, name: str, failed: Failed) -> None:
        event = McpServerFailed(
            server=name,
            fingerprint=catalogue.fingerprint(self.config[name]),
            message=failed.message,
            at=self._clock.now(),
            login=failed.kind == "login",
        )
        self._record(known.record_failure(event))

    def _listed(self, name: str, offer: Offer) -> McpToolsListed:
        return catalogue.read_listing(
            name,
            self.config[name],
            decode_response(offer.tools),
            malformed=offer.malformed,
            at=self._clock.now(),
            protocol=offer.protocol,
            version=catalogue.clean(offer.version)[:200],
            instructions=catalogue.clean(offer.instructions)[: 2 * MAX_INSTRUCTIONS],
            prompts=prompts_of(decode_response(offer.prompts)),
        )

    def _record(self, decision: Decision) -> None:
        self._change(decision, "mcp")

    def toolbox(self, base: Toolbox, started: SessionStarted) -> Toolbox | SearchableToolbox:
        """The tools of a session: `base`, and those of its frozen listings."""
        tools = self.tools(started.mcp)
        all_tools = base.with_tools(tools)
        return (
            SearchableToolbox(all_tools, frozenset(tool.name for tool in tools))
            if started.mcp_search
            else all_tools
        )

    # --- a session's tools ------------------------------------------------------------------------

    def tools(self, catalogues: Sequence[McpCatalogue]) -> tuple[Tool, ...]:
        """The tools of those listings."""
        return tuple(tool for catalogue in catalogues for tool in self._tools(catalogue))

    def _tools(self, frozen: McpCatalogue) -> tuple[Tool, ...]:
        state: known.ServerListings = self._state(known.stream_of(frozen.server))
        listed = state.listings.get(frozen.digest)
        if listed is None:
            logger.warning("the listing %s of the MCP server %s is missing", frozen.digest, frozen.server)
            return ()
        config = self.config.get(frozen.server, REMOVED_SERVER)

        def call(tool_call: CallTool, context: ToolContext, cancel: Cancel) -> Result | Waits | Failed:
            return self._call(frozen.server, tool_call, context, cancel)

        return tuple(make_tool(frozen.server, tool, config, call, self._shown) for tool in listed.tools)

    def _call(
        self, server: str, call: CallTool, context: ToolContext, cancel: Cancel
    ) -> Result | Waits | Failed:
        if server not in self.config:
            return Failed(kind="start", message="it is not configured any more")
        try:
            launch = self.launches.launch(server, context.workdir)
        except Rejected as rejection:
            return Failed(kind="start", message=rejection.message)

        if context.task is not None:
            inquire = partial(self.servers.inquire, launch)
            answer = self._tasks.poll(server, context.task, context, cancel, inquire)
            # With any other answer the call is over, or its next step cancels the task.
            if isinstance(answer, Failed) and cancel.reason == CANCELLED:
                ending = replace(context, is_ending=True)
                self._tasks.poll(server, context.task, ending, NeverCancelled(), inquire)
            return answer

        def ask(question: AskNow, is_withdrawn: Callable[[], bool]) -> bytes:
            return self._questions.ask_now(server, question, context, cancel, is_withdrawn)

        def tell(text: str) -> None:
            context.tell(f"{self._questions.words(text)}\n")

        reply = self.servers.call(launch, call, cancel, ask, tell)
        if isinstance(reply, Failed) and reply.kind == "login":
            self._record_failure(server, reply)
        if isinstance(reply, InputRequired):
            return self._questions.request(server, reply, context)
        if isinstance(reply, TaskCreated):
            return self._tasks.begun(server, reply.content, context)
        if isinstance(reply, Result) and cancel.reason is None:
            self._notice(server, context.workdir, reply.listing)
        return reply

    def _notice(self, server: str, workdir: str, listing: int) -> None:
        """Record the server's listing, unless this process has done so and it is unchanged."""
        with self._lock:
            if self._seen_versions.get(server) == listing:
                return
            self._seen_versions[server] = listing
        try:
            self.discover(server, workdir)
        except (Rejected, LogUnavailable) as error:
            logger.warning("the listing of the MCP server %s was not recorded: %s", server, error)

    def _shown(self, result: Result, context: ToolContext) -> ToolOutcome:
        """The outcome; pictures and documents in it are shown to the model, too."""
        files: list[File] = []

        def keep(number: int, suffix: str, content: bytes) -> str:
            name = f"{context.call}-{number}{suffix}"
            self._results.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._results / name
            path.write_bytes(content)
            path.chmod(0o600)
            if can_be_shown(content):
                files.append(File(name, content))
            return f"{self._results.name}/{name}"

        try:
            content = decode_response(result.content)
        except (msgspec.DecodeError, RecursionError):
            return ToolOutcome(content="Error: the result could not be read.", ok=False)
        text, ok = text_of(content if isinstance(content, dict) else {}, keep)
        return ToolOutcome(content=text, ok=ok, files=tuple(files))


def _instructions(listed: McpToolsListed) -> str:
    """The server's instructions, without what looks like an attack on the agent."""
    cleaned = catalogue.clean(listed.instructions)[:MAX_INSTRUCTIONS]
    return redact_findings(cleaned, catalogue.SCANNED).strip()


def _size(tool: McpTool) -> int:
    """The approximate number of characters of the tool in a request."""
    return len(tool.name) + len(tool.description) + len(msgspec.json.encode(tool.parameters))
