"""The options of `triggers add` and `triggers edit` about a hook."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

import click

from hermes_jobs.interfaces.cli.later_turns import NONE
from hermes_jobs.interfaces.cli.options import option_group
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import TextParam

if TYPE_CHECKING:
    from hermes_jobs.features.triggers.events import Hook
    from hermes_jobs.interfaces.cli.context import CliContext


class HookInput(NamedTuple):
    """The given flags; None and empty for missing ones."""

    hook: bool | None
    on_event: tuple[str, ...]
    if_field: tuple[str, ...]

    @property
    def is_given(self) -> bool:
        """Whether there is one."""
        return self.hook is not None or bool(self.on_event or self.if_field)

    def changed(self, hook: Hook | None) -> Hook | None:
        """The hook with what was given; with `--hook` its secret is a new one. Raises usage errors."""
        from msgspec.structs import replace

        from hermes_jobs.features.triggers.events import Hook
        from hermes_jobs.features.triggers.hooks.payloads import faulty_conditions

        if faulty := faulty_conditions([each for each in self.if_field if each != NONE]):
            raise click.UsageError(f"--if-field {faulty[0]!r} is not PATH=VALUE, such as action=opened.")
        if self.hook is False or (hook is None and not self.hook):
            if self.on_event or self.if_field:
                raise click.UsageError("--on-event and --if-field are about a hook: --hook opens one.")
            return None
        if hook is None or self.hook:
            salt = secrets.token_hex(8)
            hook = replace(hook, salt=salt) if hook else Hook(salt=salt)
        events = tuple(each for each in self.on_event if each != NONE) if self.on_event else hook.events
        fields = tuple(each for each in self.if_field if each != NONE) if self.if_field else hook.fields
        return replace(hook, events=events, fields=fields)


hook_options = option_group(
    "hooked",
    HookInput,
    click.option(
        "--hook/--no-hook", default=None, help="Let signed requests to `serve` fire it; prints a new secret."
    ),
    click.option(
        "--on-event",
        metavar="EVENT",
        type=TextParam(),
        multiple=True,
        help="Only requests with this event, such as push. Repeatable.",
    ),
    click.option(
        "--if-field",
        metavar="PATH=VALUE",
        type=TextParam(),
        multiple=True,
        help="Only requests with this value in the payload, such as action=opened. Repeatable.",
    ),
)
"""The command gets them as `hooked`."""


def new_secret(context: CliContext, name: str, hook: Hook) -> str:
    """The secret of a hook; it is shown once."""
    from hermes_jobs.features.triggers.hooks.keys import home_key
    from hermes_jobs.features.triggers.hooks.signatures import derived_secret

    return derived_secret(home_key(context.application), name, hook.salt)


def note_hook(context: CliContext, name: str) -> None:
    """Say where the hook listens."""
    settings = context.settings.serve
    note(f"Its hook: http://{settings.host}:{settings.port}/hooks/{name}, while `hermes-jobs serve` runs.")
    note("The secret that signs its requests is shown only now:")
