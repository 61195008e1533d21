"""What the agent's commands get of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from hermes_jobs.agent.skills.needs import Machine
from hermes_jobs.settings import known_secrets

if TYPE_CHECKING:
    from hermes_jobs.settings import Settings


def granted_secrets(settings: Settings) -> dict[str, str]:
    """The secrets that commands get because the person says so, by variable; never one that hermes-jobs uses
    itself."""
    names = [name for name in settings.terminal.grant if name not in known_secrets()]
    found = {name: settings.secrets.get(name) for name in names}
    return {name: value for name, value in found.items() if value}


def machine_of(settings: Settings, environ: Mapping[str, str]) -> Machine:
    """The variables that commands get, and the programs on their PATH; looked at when first asked for."""

    @cache
    def given() -> Mapping[str, str]:
        from hermes_jobs.agent.tools.environment import filtered_environment, overlaid

        inherited = overlaid(environ, settings.terminal.environment)
        return filtered_environment(inherited, settings.secrets.values) | granted_secrets(settings)

    return Machine(
        has_variable=lambda name: name in given(),
        has_command=lambda name: shutil.which(name, path=given().get("PATH")) is not None,
    )
