"""Completion in a chat: commands, and their arguments such as sessions and models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.chat.attachments import BEGUN, paths_that_begin
from hermes_jobs.interfaces.chat.commands import all_commands, by_name
from hermes_jobs.interfaces.chat.offered_resources import OfferedResources
from hermes_jobs.interfaces.chat.slash import ChatContext, Found, Group, SlashCommand


class ChatCompleter(Completer):
    """Completes slash commands and their arguments, and paths and resources after an `@`."""

    def __init__(self, chat: ChatContext) -> None:
        self._chat = chat
        self._resources = OfferedResources(lambda: chat.application.mcp_reader, chat.application.clock)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """See `Completer`."""
        text = document.text_before_cursor
        if mention := BEGUN.search(document.current_line_before_cursor):
            begun, folder = mention["begun"], self._chat.conversation.workdir
            for word, meaning in [
                *paths_that_begin(begun, folder),
                *self._resources.that_begin(begun, folder),
            ]:
                yield Completion(word, start_position=-len(mention[0]), display_meta=meaning)
            return
        if not text.startswith("/") or "\n" in text:
            return
        name, space, rest = text[1:].partition(" ")
        try:
            commands = all_commands(self._chat)
            if not space:
                yield from _fitting(_names(commands), name)
                return
            command = by_name(commands).get(name)
            if command is not None and command.completes is not None:
                yield from _fitting(command.completes(self._chat), rest.lstrip())
        except HermesJobsError:
            return  # without completions if reading fails


def is_completed(document: Document) -> bool:
    """Whether completions are offered for this text: a command, or a file after an `@`."""
    is_mention = BEGUN.search(document.current_line_before_cursor) is not None
    return is_mention or document.text.startswith("/")


def _names(commands: Mapping[Group, Sequence[SlashCommand]]) -> Found:
    return ((each.name, each.summary) for each in chain.from_iterable(commands.values()))


def _fitting(found: Found, begun: str) -> Iterator[Completion]:
    for word, meaning in found:
        if word.casefold().startswith(begun.casefold()):
            yield Completion(word, start_position=-len(begun), display_meta=meaning)
