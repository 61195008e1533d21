"""`--deliver TARGET`: where answers go, of one turn or of many."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty

F = TypeVar("F", bound=Callable[..., Any])


def deliver_option(what: str) -> Callable[[F], F]:
    """`--deliver TARGET`, several times; `what` goes there."""
    return click.option(
        "--deliver",
        metavar="TARGET",
        type=NonEmpty(),
        multiple=True,
        help=f"{what}: cli (the inbox), file:PATH, webhook:URL, telegram:CHAT, ntfy:TOPIC, push. Repeatable.",
    )


def stored_targets(texts: Sequence[str]) -> tuple[str, ...]:
    """The targets in their stored form, each once; a relative path is relative to the current folder.

    Raises `Rejected` for an invalid one.
    """
    if not texts:
        return ()
    from hermes_jobs.features.deliveries.api import parse_target

    return tuple(dict.fromkeys(parse_target(_absolute(text)).text for text in texts))


def _absolute(text: str) -> str:
    kind, _, path = text.strip().partition(":")
    if kind.strip().lower() == "file" and path.strip() and not path.strip().startswith(("/", "~")):
        return f"file:{os.path.abspath(path.strip())}"  # noqa: PTH100 - as text: it need not exist
    return text


def warn_of_undeliverable(context: CliContext, targets: Sequence[str]) -> None:
    """Warn if answers go to a webhook or a Telegram chat, and neither this process nor a worker has the
    required secret; or to browsers, and none is subscribed."""
    if not targets:
        return
    from hermes_jobs.bootstrap.workers import statuses
    from hermes_jobs.features.deliveries.api import PUSH
    from hermes_jobs.features.deliveries.api import TELEGRAM_TOKEN as TOKEN
    from hermes_jobs.features.deliveries.api import WEBHOOK_SECRET as SECRET
    from hermes_jobs.features.push.api import NOBODY, browsers

    if PUSH in targets and not browsers(context.application):
        note(f"Warning: deliveries to {PUSH} will fail: {NOBODY}")
    needed = {"webhook": (SECRET, "they are signed"), "telegram": (TOKEN, "a bot brings them")}
    for kind, (name, reason) in needed.items():
        named = [target for target in targets if target.partition(":")[0] == kind]
        if not named or context.settings.secrets.get(name):
            continue
        if not any(name in status.has for status in statuses(context.application.log).values()):
            note(
                f"Warning: deliveries to {', '.join(named)} will fail: {reason}, and {name} is not set. "
                f"Put {name}=… into {context.settings.paths.env_file}: what runs reads it again."
            )
