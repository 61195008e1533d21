"""Completion in a chat: commands, and their arguments such as sessions and models; after an `@` paths, MCP
servers, and after `@server:` the server's resources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.chat.attachments import PARTIAL_MENTION, paths_that_begin
from hermes_jobs.interfaces.chat.commands import all_commands, by_name
from hermes_jobs.interfaces.chat.slash import ChatContext, CompletionItems, Group, SlashCommand
from hermes_jobs.system.clock import Clock

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.resources import McpResource


class ChatCompleter(Completer):
    """Completes slash commands and their arguments, and paths and resources after an `@`."""

    def __init__(self, chat: ChatContext) -> None:
        self._chat = chat
        self._resources = OfferedResources(lambda: chat.application.mcp_reader, chat.application.clock)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """See `Completer`."""
        text = document.text_before_cursor
        if mention := PARTIAL_MENTION.search(document.current_line_before_cursor):
            prefix, folder = mention["begun"], self._chat.conversation.workdir
            for word, meaning in [
                *paths_that_begin(prefix, folder),
                *self._resources.that_begin(prefix, folder),
            ]:
                yield Completion(word, start_position=-len(mention[0]), display_meta=meaning)
            return
        if not text.startswith("/") or "\n" in text:
            return
        name, space, rest = text[1:].partition(" ")
        try:
            commands = all_commands(self._chat)
            if not space:
                yield from _beginning_with(_names(commands), name)
                return
            command = by_name(commands).get(name)
            if command is not None and command.completes is not None:
                yield from _beginning_with(command.completes(self._chat), rest.lstrip())
        except HermesJobsError:
            return  # without completions if reading fails


def is_completed(document: Document) -> bool:
    """Whether completions are offered for this text: a command, or a file after an `@`."""
    is_mention = PARTIAL_MENTION.search(document.current_line_before_cursor) is not None
    return is_mention or document.text.startswith("/")


def _names(commands: Mapping[Group, Sequence[SlashCommand]]) -> CompletionItems:
    return ((command.name, command.summary) for command in chain.from_iterable(commands.values()))


def _beginning_with(names: CompletionItems, prefix: str) -> Iterator[Completion]:
    for word, meaning in names:
        if word.casefold().startswith(prefix.casefold()):
            yield Completion(word, start_position=-len(prefix), display_meta=meaning)


KNOWN_SECONDS = 60.0  # seconds after which a running server is listed again
OFFERED = 50


class ResourceLister(Protocol):
    """Lists what MCP servers offer, as `McpReader`."""

    @property
    def names(self) -> Sequence[str]:
        """The names of enabled servers."""

    def cached_resources(self, server: str) -> Sequence[McpResource]:
        """The server's last known resources, without a request."""

    def is_running(self, server: str, workdir: str) -> bool:
        """Whether the server is running."""

    def resources(self, server: str, workdir: str) -> Sequence[McpResource]:
        """The server's resources; stored for `cached_resources`. Raises `Rejected`."""


class OfferedResources:
    """Offers the resources that servers listed last. Thread-safe.

    A running server is listed again from time to time; none is started.
    """

    def __init__(self, reader: Callable[[], ResourceLister], clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at: dict[str, float] = {}

    def that_begin(self, prefix: str, folder: str) -> CompletionItems:
        """Mentions that begin with the text typed after the `@`, each with a description."""
        reader = self._reader()
        server, colon, rest = prefix.removeprefix('"').partition(":")
        if not colon:
            return [
                (f"@{name}:", "MCP server")
                for name in reader.names
                if name.casefold().startswith(prefix.casefold())
            ]
        if server not in reader.names:
            return []
        self._ask_again(reader, server, folder)
        resources = reader.cached_resources(server)
        if not resources:
            return [(f"@{server}:", f"not known yet: hermes-jobs mcp resources {server}")] if not rest else []
        return list(_fitting(resources, rest.casefold()))[:OFFERED]

    def _ask_again(self, reader: ResourceLister, server: str, folder: str) -> None:
        with self._lock:
            now = self._clock.monotonic()
            is_due = now - self._asked_at.get(server, float("-inf")) > KNOWN_SECONDS
            if is_due and reader.is_running(server, folder):
                self._asked_at[server] = now
                with suppress(HermesJobsError):  # the known ones stay
                    reader.resources(server, folder)


def _fitting(resources: Sequence[McpResource], prefix: str) -> Iterator[tuple[str, str]]:
    for resource in resources:
        fits = resource.uri.casefold().startswith(prefix) or (
            len(prefix) > 1 and prefix in resource.name.casefold()
        )
        about = resource.description or resource.name
        if fits:
            yield resource.mention, f"{resource.uri}: {about}" if resource.is_template else about
