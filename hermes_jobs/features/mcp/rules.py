"""MCP servers: the listings of each, and which one new sessions use.

A listing of a changed configuration (another command or address) is accepted at once, because a user made the
change. So is every listing of a trusted server. Any other listing that adds or changes tools waits until a
user accepts it; sessions continue with the previous one.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries import events as deliveries
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.mcp import events as e
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents

PREFIX = "mcp-"


class ServerListings(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one stream `mcp-NAME`. `listings` are those of all sessions that may still use one, by
    digest; `latest` is the digest of the newest, `accepted` of the one that new sessions use."""

    stream: str
    version: int = 0
    listings: Mapping[str, e.McpToolsListed] = {}
    latest: str = ""
    accepted: str = ""
    failed: e.McpServerFailed | None = None

    @property
    def name(self) -> str:
        """The server's name."""
        return self.stream.removeprefix(PREFIX)

    @property
    def usable(self) -> e.McpToolsListed | None:
        """The listing that new sessions use."""
        return self.listings.get(self.accepted)

    @property
    def waiting(self) -> e.McpToolsListed | None:
        """The listing that a person has to accept first."""
        return self.listings.get(self.latest) if self.latest != self.accepted else None


def stream_of(server: str) -> str:
    """The stream of the server of that name."""
    return f"{PREFIX}{server}"


def evolve(state: ServerListings, event: e.McpEvent) -> ServerListings:
    """The state after one more event."""
    state = replace(state, version=state.version + 1)
    match event:
        case e.McpToolsListed():
            listings = {**state.listings, event.digest: event}
            accepted = event.digest if event.accepted else state.accepted
            return replace(state, listings=listings, latest=event.digest, accepted=accepted, failed=None)
        case e.McpToolsAccepted():
            return replace(state, accepted=event.digest)
        case e.McpServerFailed():
            return replace(state, failed=event)
        case e.McpServerRemoved():
            return replace(state, latest="", accepted="", failed=None)


def record_listing(listed: e.McpToolsListed, *, trusted: bool) -> Decision:
    """Record a server's listing, unless the same one is recorded."""

    def change(load: StateLoader) -> DecisionResult:
        state: ServerListings = load(stream_of(listed.server))
        latest = state.listings.get(state.latest)
        same = latest is not None and _compared(latest) == _compared(listed)
        if same and state.failed is None:
            return DecisionResult()
        accepted = trusted or _is_expected(state, listed)
        event = replace(listed, accepted=accepted)
        return DecisionResult(writes=(StreamEvents(state.stream, (event,)),))

    return change


def _compared(listed: e.McpToolsListed) -> tuple[object, ...]:
    """The parts in which listings are compared."""
    return (listed.digest, listed.fingerprint, listed.prompts, listed.left_out)


def _is_expected(state: ServerListings, listed: e.McpToolsListed) -> bool:
    """Whether it has no tool that the accepted listing lacks, or the configuration has changed."""
    accepted = state.usable
    if accepted is None or accepted.fingerprint != listed.fingerprint:
        return True
    return {tool.name: tool for tool in listed.tools}.items() <= {
        tool.name: tool for tool in accepted.tools
    }.items()


def record_failure(failed: e.McpServerFailed) -> Decision:
    """Record that a server could not be queried, unless the same failure is recorded. A needed login is
    reported once, in the inbox."""

    def change(load: StateLoader) -> DecisionResult:
        state: ServerListings = load(stream_of(failed.server))
        recorded = state.failed
        if recorded is not None and (recorded.message, recorded.fingerprint) == (
            failed.message,
            failed.fingerprint,
        ):
            return DecisionResult()
        write = StreamEvents(state.stream, (failed,))
        if not failed.login or (recorded is not None and recorded.login):
            return DecisionResult(writes=(write,))
        delivery = f"d{state.stream}-{state.version}"
        text = DeliveryRequested(
            delivery=delivery,
            target=deliveries.INBOX,
            text=f"The MCP server {failed.server} cannot be used: {failed.message}.",
            source=f"mcp:{failed.server}",
            ok=False,
        )
        return DecisionResult(writes=(write, StreamEvents(deliveries.stream_of(delivery), (text,))))

    return change


def accept(server: str, by: str) -> Decision:
    """Let new sessions use the newest listing."""

    def change(load: StateLoader) -> DecisionResult:
        state: ServerListings = load(stream_of(server))
        if state.waiting is None:
            raise Rejected(f"Nothing of the server {server!r} waits to be accepted.", kind="nothing_waits")
        event = e.McpToolsAccepted(server=server, digest=state.latest, by=by)
        return DecisionResult(writes=(StreamEvents(state.stream, (event,)),))

    return change


def remove(server: str, by: str) -> Decision:
    """Forget which listing new sessions would use."""

    def change(load: StateLoader) -> DecisionResult:
        state: ServerListings = load(stream_of(server))
        if not state.latest and state.failed is None:
            return DecisionResult()
        return DecisionResult(
            writes=(StreamEvents(state.stream, (e.McpServerRemoved(server=server, by=by),)),)
        )

    return change
