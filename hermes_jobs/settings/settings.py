"""The settings of one process: every key with its value and origin, and what follows from several of them."""

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, TypeAlias

from msgspec.structs import replace

from hermes_jobs.llm.providers import Provider
from hermes_jobs.settings.choices import REHEARSAL, Choice, ModelChooser, is_same_host
from hermes_jobs.settings.env_file import known_secrets
from hermes_jobs.settings.home import Paths
from hermes_jobs.settings.keys import Key
from hermes_jobs.settings.secrets import Secrets
from hermes_jobs.settings.sections import Configuration
from hermes_jobs.settings.sections.models import REHEARSAL_MODEL, AuxiliaryTask
from hermes_jobs.settings.sources import SHARED_URL

ANTHROPIC_URL = "ANTHROPIC_BASE_URL"
GENERAL = frozenset({"consolidation", "title"})
"""The purposes that have no section of their own in `auxiliary`."""

Stamps: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class Settings(Configuration, frozen=True, kw_only=True):
    """Every key with its value, and besides the keys: the secrets, the home, each value's origin.

    `removed`: a sentence for each given value whose key is in `removed_keys.REMOVED`; it has no effect.
    `stamps` are those of the files from before they were read: see `file_stamps`. `variables`: those of the
    environment that MCP servers name and that are not secrets.
    """

    secrets: Secrets
    paths: Paths
    origins: Mapping[str, str]
    anthropic_url: str | None = None
    stamps: Stamps = ()
    variables: Mapping[str, str] = {}
    removed: tuple[str, ...] = ()

    def value(self, key: Key) -> object:
        """The value of one key; not of an entry of a mapping."""
        current: object = self
        for part in key.parts:
            current = getattr(current, part)
        return current

    def same_values(self, other: "Settings") -> bool:
        """Whether the other settings have the same values, from any source."""
        return replace(other, origins=self.origins, stamps=self.stamps, removed=self.removed) == self

    @property
    def rehearsal(self) -> bool:
        """Whether the rehearsal model is used: it is configured, or no model is."""
        return self.main_model.rehearsal

    @property
    def model_name(self) -> str:
        """The model of sessions that name none; the ensemble's name where it is one."""
        named = self.ensemble_name(self.model.model)
        return named or self.main_model.model

    def ensemble_name(self, model: str | None) -> str | None:
        """The name of the ensemble that the model or alias refers to; None if it is not one."""
        name = self.models.aliases.get(model or "", model or "")
        return name if name in self.models.ensembles else None

    @property
    def zone(self) -> tzinfo | None:
        """The zone of days and schedules; None is the machine's zone."""
        if self.schedules.timezone is None:
            return None
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.schedules.timezone)

    @property
    def granted_secrets(self) -> dict[str, str]:
        """The secrets that the user grants to commands, by variable; never one that hermes-jobs uses
        itself."""
        names = [name for name in self.terminal.grant if name not in known_secrets()]
        secrets = {name: self.secrets.get(name) for name in names}
        return {name: value for name, value in secrets.items() if value}

    @property
    def main_model(self) -> Choice:
        """The model of sessions that name none, with its endpoint."""
        return self._chosen(self.model.model)

    def choice(self, name: str | None) -> Choice:
        """The choice for the model of that name or alias; None: the configured or default one.

        For an ensemble it is that of its aggregator. A session that began with the rehearsal model continues
        with the configured one.
        """
        chosen = self._chosen(name or self.model.model)
        return self.main_model if chosen.rehearsal else chosen

    @property
    def names_sessions(self) -> bool:
        """Whether a model is to name the sessions that a person holds; the rehearsal model names none."""
        return self.auxiliary.title.enabled and not self.main_model.rehearsal

    def auxiliary_model(self, purpose: str) -> Choice:
        """The model for a purpose of the section `auxiliary`: its own, else the auxiliary one, else the main
        one.

        Raises `KeyError` for another purpose.
        """
        return self._auxiliary(purpose, self.compression.summary_model if purpose == "compression" else None)

    def set_apart(self, purpose: str) -> Choice | None:
        """The choice that `auxiliary` sets for a purpose whose default is the session's own model; None if it
        sets none.

        If it sets an endpoint only, the model is `model.model`.
        """
        choice, main = self._auxiliary(purpose), self.main_model
        named = self._task(purpose).model or self.auxiliary.model
        return choice if named or (choice.base_url, choice.key) != (main.base_url, main.key) else None

    @property
    def embedding_model(self) -> Choice | None:
        """The model that gives vectors; None where embeddings are off."""
        embeddings = self.embeddings
        return (
            None
            if embeddings.model is None
            else self._chosen(embeddings.model, embeddings.base_url, ("EMBEDDINGS_API_KEY",))
        )

    def _auxiliary(self, purpose: str, model: str | None = None) -> Choice:
        own, general = self._task(purpose), self.auxiliary
        keys: tuple[str, ...] = (f"AUXILIARY_{purpose.upper()}_API_KEY", "AUXILIARY_API_KEY")
        if own.base_url and general.base_url and not is_same_host(own.base_url, general.base_url):
            keys = keys[:1]  # the other one is for the other address
        return self._chosen(
            model or own.model or general.model or self.model.model, own.base_url or general.base_url, keys
        )

    def _task(self, purpose: str) -> AuxiliaryTask:
        if purpose in GENERAL:
            return AuxiliaryTask()
        task = getattr(self.auxiliary, purpose, None)
        if not isinstance(task, AuxiliaryTask):
            raise KeyError(purpose)
        return task

    def _chosen(self, name: str | None, base_url: str | None = None, keys: tuple[str, ...] = ()) -> Choice:
        """The rehearsal model if it is named, or if nothing is configured and none is named.

        `base_url` is an endpoint other than the main one; the secrets of `keys` precede the provider's.
        """
        ensemble = self.ensemble_name(name)
        if ensemble is not None:
            name = self.models.ensembles[ensemble].aggregator
        model, choosing = self.models.aliases.get(name or "", name), self._choosing
        nothing = choosing.nothing_named and not any(map(self.secrets.get, keys))
        if model == REHEARSAL_MODEL or (model is None and base_url is None and nothing):
            return REHEARSAL
        if base_url is not None:
            return choosing.elsewhere(model, base_url, keys)
        return choosing.main(model, keys)

    def url_variable(self, provider: Provider) -> tuple[str, str] | None:
        """The variable that other programs read the address of that provider's API from, and the address.

        Its key is for that address: it must not be sent to the provider's own.
        """
        if provider.api == "anthropic":
            return None if self.anthropic_url is None else (ANTHROPIC_URL, self.anthropic_url)
        is_shared = self.origins["model.base_url"].endswith(f" {SHARED_URL}")
        url = self.model.base_url if is_shared and provider.name in {"openai", "custom"} else None
        return None if url is None else (SHARED_URL, url)

    @property
    def _choosing(self) -> ModelChooser:
        shared = self.origins["model.base_url"].endswith(f" {SHARED_URL}")
        return ModelChooser(self.model, self.secrets, shared, self.anthropic_url)

    def __repr__(self) -> str:
        return f"Settings(home={str(self.paths.home)!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("home", str(self.paths.home))]
