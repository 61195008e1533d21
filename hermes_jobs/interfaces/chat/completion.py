"""What Tab offers in a chat: commands, and the sessions, models and words that they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.chat.commands import COMMANDS, subcommands
from hermes_jobs.interfaces.cli.output import one_line

OFFERED = 50

Found = Iterable[tuple[str, str]]
"""Words, each with what it means."""


class SlashCompleter(Completer):
    """Completes a text that begins with a slash; other texts are nobody's business."""

    def __init__(self, application: Application) -> None:
        self._takes: Mapping[str, Callable[[], Found]] = {
            "session": lambda: sessions(application),
            "model": lambda: models(application),
            "memory": lambda: subcommands("memory").items(),
            "skills": lambda: subcommands("skills").items(),
            "schedule": lambda: subcommands("schedule").items(),
        }

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """See `Completer`."""
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        name, space, rest = text[1:].partition(" ")
        if not space:
            found: Found = ((command.name, command.summary) for command in COMMANDS)
            yield from _fitting(found, name)
        elif name in self._takes:
            try:
                yield from _fitting(self._takes[name](), rest.lstrip())
            except HermesJobsError:
                return  # what cannot be read is not offered


def _fitting(found: Found, begun: str) -> Iterator[Completion]:
    for word, meaning in found:
        if word.casefold().startswith(begun.casefold()):
            yield Completion(word, start_position=-len(begun), display_meta=meaning)


def sessions(application: Application) -> Found:
    """Titles, and ids of those that have none, the last used first."""
    for each in application.views.sessions(limit=OFFERED):
        yield each.title or each.id, one_line(each.preview)[:60]


def models(application: Application) -> Found:
    """The configured model, and those that have answered before."""
    configured = application.settings.model_name
    yield configured, "as configured"
    for each in application.views.spending(by="model"):
        if each.key and each.key != configured:
            yield each.key, f"{each.requests} answers so far"
