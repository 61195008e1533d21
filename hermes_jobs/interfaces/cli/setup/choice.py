"""What is to be set up, and the settings as they would be with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from hermes_jobs.agent.llm.dialect import OPENAI_URL
from hermes_jobs.agent.llm.providers import Provider
from hermes_jobs.interfaces.cli.context import CliContext

if TYPE_CHECKING:
    from hermes_jobs.settings import Settings

MAIN_KEY = "OPENAI_API_KEY"
ABOUT_THE_MODEL = (
    "HERMES_JOBS_MODEL",
    "HERMES_JOBS_MODEL__MODEL",
    "HERMES_JOBS_MODEL__PROVIDER",
    "HERMES_JOBS_MODEL__BASE_URL",
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
)
"""Variables that say what `setup` is to say, and win over what it writes."""


class ModelSetup(msgspec.Struct, frozen=True, kw_only=True):
    """A model at a provider. `base_url` null: the provider's own; `key_is_set`: it need not be written."""

    provider: Provider
    base_url: str | None = None
    model: str = ""
    window: int | None = None
    key: str = ""
    secret: str | None = None
    key_is_set: bool = False

    def __repr__(self) -> str:
        return f"Wanted({self.provider.name}, {self.model})"

    @property
    def asked_at(self) -> str:
        """The address that is asked."""
        return self.base_url or self.provider.base_url or OPENAI_URL

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Variables that may hold the key: the provider's own, and OpenAI's for an address that was given."""
        shared = (MAIN_KEY,) if self.base_url is not None and self.provider.api == "openai" else ()
        return tuple(dict.fromkeys((*self.provider.keys, *shared)))

    def with_key(self, name: str, secret: str, *, is_set: bool = False) -> ModelSetup:
        """With that key."""
        return replace(self, key=name, secret=secret, key_is_set=is_set)

    def at(self, base_url: str) -> ModelSetup:
        """At another address."""
        return replace(self, base_url=base_url)

    def asking_for(self, model: str, window: int | None) -> ModelSetup:
        """With that model."""
        return replace(self, model=model, window=window)


def settings_with(context: CliContext, wanted: ModelSetup) -> Settings:
    """The settings as if that were configured."""
    from hermes_jobs.settings import load

    environ = {name: value for name, value in context.environ.items() if name not in ABOUT_THE_MODEL}
    environ["HERMES_JOBS_MODEL"] = wanted.model
    environ["HERMES_JOBS_MODEL__PROVIDER"] = wanted.provider.name
    environ["HERMES_JOBS_MODEL__BASE_URL"] = wanted.base_url or "null"
    if wanted.secret:
        environ[wanted.key] = wanted.secret
    return load(environ)
