"""Shell completion of ids: recent turns and sessions from the views, and names of skills.

Views are not updated and the log is not opened, so that a key press does not wait. Unreadable data is
skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from hermes_jobs.kernel.views.completion_names import What
    from hermes_jobs.settings import Settings
    from hermes_jobs.settings.home import Paths

    Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem[Any]]]
    Offers = Callable[[click.Context, str], Iterable[tuple[str, str]]]

MAX_COMPLETIONS = 50
"""Names that are offered at most."""


def completion(offers: Offers) -> Completion:
    """A completion function for click: `offers` gets the context and the typed text, and returns names with
    descriptions."""

    def complete(
        click_context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        from click.shell_completion import CompletionItem

        from hermes_jobs.interfaces.cli.output import one_line

        return [
            CompletionItem(name, help=one_line(meaning)[:60] or None)
            for name, meaning in offers(click_context, incomplete)
            if name.startswith(incomplete)
        ]

    return complete


def settings_of(click_context: click.Context) -> Settings | None:
    """The settings; None if they are invalid."""
    from hermes_jobs.errors import HermesJobsError
    from hermes_jobs.interfaces.cli.context import CliContext

    context = click_context.find_object(CliContext)
    try:
        return None if context is None else context.settings
    except HermesJobsError:
        return None


def _paths(click_context: click.Context) -> Paths | None:
    from hermes_jobs.interfaces.cli.context import CliContext
    from hermes_jobs.settings.home import Paths, find_home

    context = click_context.find_object(CliContext)
    return None if context is None else Paths(find_home(context.environ))


def _recent(what: What) -> Completion:
    """Ids of that kind, newest first."""

    def offers(click_context: click.Context, incomplete: str) -> Iterable[tuple[str, str]]:
        from hermes_jobs.kernel.views.completion_names import recent_names

        paths = _paths(click_context)
        return () if paths is None else recent_names(paths.views, what, incomplete, MAX_COMPLETIONS)

    return completion(offers)


def _skills(click_context: click.Context, incomplete: str) -> Iterable[tuple[str, str]]:
    from hermes_jobs.features.skills import BUNDLED

    paths = _paths(click_context)
    files = [] if paths is None else [*paths.skills.glob("*/SKILL.md"), *paths.skills.glob("*/*/SKILL.md")]
    files += BUNDLED.glob("*/*/SKILL.md")
    names = sorted({file.parent.name for file in files if file.parent.name.startswith(incomplete)})
    return ((name, "") for name in names[:MAX_COMPLETIONS])


def _keys(click_context: click.Context, incomplete: str) -> Iterable[tuple[str, str]]:
    from hermes_jobs.settings.keys import known_keys, known_sections, main_key

    short = {name: f"short for {key.name}" for name in known_sections() if (key := main_key(name))}
    yield from sorted((short | {name: key.description for name, key in known_keys().items()}).items())
    yield from _parts(click_context, incomplete)


def _parts(click_context: click.Context, incomplete: str) -> Iterable[tuple[str, str]]:
    """Parts of the entries that the configuration has, such as `mcp_servers.git.timeout`."""
    from hermes_jobs.settings.keys import known_keys

    for name, key in known_keys().items():
        begins = key.has_parts and incomplete.startswith(f"{name}.")
        settings = settings_of(click_context) if begins else None
        entries = {} if settings is None else settings.value(key)
        if isinstance(entries, dict):
            for entry, value in sorted(entries.items()):
                yield from ((part, "") for part in key.parts_that_begin(entry, value, incomplete))


def _settings(click_context: click.Context, incomplete: str) -> Iterable[tuple[str, str]]:
    from hermes_jobs.settings.env_file import known_secrets

    yield from _keys(click_context, incomplete)
    yield from ((name, f"secret: {text}") for name, text in sorted(known_secrets().items()))


def _values(click_context: click.Context, _incomplete: str) -> Iterable[tuple[str, str]]:
    from hermes_jobs.settings.keys import key_named, main_key

    name = click_context.params.get("key") or ""
    key = main_key(name) or key_named(name)
    return ((word, "") for word in (key.words if key is not None else ()))


def _processes(click_context: click.Context, _incomplete: str) -> Iterable[tuple[str, str]]:
    from hermes_jobs.tools.process_files import ProcessFiles

    paths = _paths(click_context)
    if paths is None:
        return
    files = ProcessFiles(paths.processes)
    records = [record for name in files.ids() if (record := files.record(name)) is not None]
    for process_record in sorted(records, key=lambda item: item.started_at, reverse=True)[:MAX_COMPLETIONS]:
        yield from (
            (name, process_record.command) for name in (process_record.name, process_record.id) if name
        )


complete_turn = _recent("turns")
complete_waiting = _recent("waiting")
"""Turns that wait for a user, with what they wait for."""
complete_session = _recent("sessions")
complete_schedule = _recent("schedules")
complete_review = _recent("reviews")
complete_delivery = _recent("deliveries")
complete_rule = _recent("rules")
"""Numbers of the rules for approvals."""
complete_label = _recent("labels")
"""Labels of turns, with how many have each."""
complete_skill = completion(_skills)
complete_key = completion(_keys)
"""Keys of the configuration, and sections that stand for one of theirs."""
complete_setting = completion(_settings)
"""Keys of the configuration, and variables of secrets."""
complete_value = completion(_values)
"""The words that the key of the command takes; nothing for another value."""
complete_process = completion(_processes)
"""Names and ids of background processes, newest first."""
