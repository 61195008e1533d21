"""Slash commands: a row of the table in `commands`, and the chat that it acts on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.mcp.reader import McpReader
    from hermes_jobs.interfaces.chat.conversation import Conversation

Group = Literal["Conversation", "Answer", "Look", "Agent", "Chat", "Your own", "MCP servers"]
"""What `/help` lists commands under."""

CompletionItems = Iterable[tuple[str, str]]
"""Words that Tab offers, each with what it means."""

COMMAND = re.compile(
    r"/([a-z][a-z0-9_-]*|(?:mcp__|[A-Za-z0-9][A-Za-z0-9_-]*:)[A-Za-z0-9_./-]+)(?:\s+(.*))?", re.DOTALL
)
"""The name of a command, or that of a prompt of an MCP server, which has a colon; and what follows it."""
BARE_EXITS = frozenset({"exit", "quit"})
"""Texts that leave without a slash: what users type where they want to leave."""


class ChatContext(Protocol):
    """The chat of a slash command."""

    conversation: Conversation
    application: Application

    def print_line(self, text: str) -> None:
        """Print a text for the user."""

    @property
    def reader(self) -> McpReader:
        """Reads resources and prompts of MCP servers; their questions are asked here."""

    def command_line(self, *words: str) -> None:
        """Run a command line of `hermes-jobs` here."""

    def send(self, text: str, *, mentions: str = "", skill: str = "", outside: str = "") -> None:
        """Submit a text to the agent, with the files mentioned by `@` in `mentions`, and the named skill.
        `outside`: its origin, if others wrote it."""

    def shell(self, command: str) -> None:
        """Run the user's own command; its output is attached to the next message."""

    def clear(self) -> None:
        """Empty the screen."""

    def columns(self) -> int:
        """The width of the terminal."""

    def leave(self) -> None:
        """End the chat."""


class SlashCommand(msgspec.Struct, frozen=True):
    """A slash command. `takes` describes its arguments in `/help`.

    `run` gets the chat and the text after the name. `completes` offers arguments. `aliases` are not
    listed.
    """

    name: str
    takes: str
    summary: str
    run: Callable[[ChatContext, str], None]
    aliases: tuple[str, ...] = ()
    completes: Callable[[ChatContext], CompletionItems] | None = None

    @property
    def usage(self) -> str:
        """Its usage."""
        return f"/{self.name} {self.takes}".rstrip()


def parse(text: str) -> tuple[str, str] | None:
    """The command's name and what follows it; None for a text for the agent."""
    text = text.strip()
    if text.lower() in BARE_EXITS:
        return "exit", ""
    match = COMMAND.fullmatch(text)
    return (match[1], (match[2] or "").strip()) if match else None
