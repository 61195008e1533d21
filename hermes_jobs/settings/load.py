"""The settings of one process: precedence of the sources, and the origin of each value."""

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Misconfigured
from hermes_jobs.llm.providers import Provider
from hermes_jobs.settings.choices import REHEARSAL, Choice, ModelChooser, is_same_host
from hermes_jobs.settings.env_file import known_secrets
from hermes_jobs.settings.home import Paths, find_home
from hermes_jobs.settings.keys import Key, known_keys
from hermes_jobs.settings.removed_keys import removal_of, warning
from hermes_jobs.settings.secrets import Secrets, looks_secret, url_passwords
from hermes_jobs.settings.sections import Configuration
from hermes_jobs.settings.sections.mcp_servers import secrets_named
from hermes_jobs.settings.sections.models import REHEARSAL_MODEL, AuxiliaryTask, ModelsSettings
from hermes_jobs.settings.sections.values import Section
from hermes_jobs.settings.sources import (
    SHARED_URL,
    SettingValue,
    convert,
    from_file,
    from_variables,
    read_config,
    read_env_file,
)

TIMEZONE = "schedules.timezone"
ENSEMBLES = "models.ensembles"
MCP_VARIABLE = "HERMES_JOBS_MCP_SERVERS"
ANTHROPIC_URL = "ANTHROPIC_BASE_URL"
GENERAL = frozenset({"consolidation", "title"})
"""The purposes that have no section of their own in `auxiliary`."""
ENVIRONMENT = "environment"
"""How the origin of a value begins that this process's environment sets."""


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


def load(environ: Mapping[str, str], *, home: Path | None = None) -> Settings:
    """Read the settings. Precedence: environment, `.env`, `config.yaml`, default.

    `home` replaces HERMES_JOBS_HOME. Nothing is written. Raises `Misconfigured`, also for an invalid value
    that another source overrides.
    """
    paths = Paths(home.expanduser().resolve() if home else find_home(environ))
    stamps = file_stamps(paths)
    env_file = read_env_file(paths.env_file)
    config = read_config(paths.config)
    referenced = frozenset(secrets_named(config + environ.get(MCP_VARIABLE, "")))
    secrets = _secrets(env_file, environ, referenced)
    lowest_first = (
        from_file(paths.config, config, secrets),
        from_variables(env_file, ".env", secrets),
        from_variables(environ, ENVIRONMENT, secrets),
    )
    given = list(chain.from_iterable(lowest_first))
    values = {value.key: value for value in given if removal_of(value.key) is None}
    check_timezone(values.get(TIMEZONE))
    origins = {name: values[name].origin if name in values else "default" for name in known_keys()}
    anthropic = _anthropic_url(environ, env_file, secrets)
    if anthropic is not None:
        origins[ANTHROPIC_URL] = anthropic.origin
    settings = Settings(
        **_values(Configuration, "", values),
        secrets=secrets,
        paths=paths,
        origins=origins,
        anthropic_url=None if anthropic is None else str(anthropic.value),
        stamps=stamps,
        removed=tuple(warning(value.key, value.origin) for value in given if removal_of(value.key)),
        variables={
            name: environ[name] for name in referenced if name in environ and secrets.get(name) is None
        },
    )
    check_ensembles(settings.models, origins[ENSEMBLES])
    return settings


def file_stamps(paths: Paths) -> Stamps:
    """What changes when a file of the configuration does: modification time, size and number of each."""
    return tuple(_stamp(path) for path in (paths.config, paths.env_file))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def with_values(settings: Settings, values: Mapping[str, SettingValue]) -> Settings:
    """The settings with other values for these keys, each in its key's type."""
    if not values:
        return settings
    origins = {**settings.origins, **{name: value.origin for name, value in values.items()}}
    return replace(settings, **_replaced(settings, Configuration, "", values), origins=origins)


def _replaced(
    section: Section, kind: type[Section], prefix: str, by_key: Mapping[str, SettingValue]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        name, value = prefix + field.name, getattr(section, field.name)
        if name in by_key:
            values[field.name] = by_key[name].value
        elif isinstance(value, Section) and any(key.startswith(f"{name}.") for key in by_key):
            values[field.name] = replace(value, **_replaced(value, type(value), f"{name}.", by_key))
    return values


def _anthropic_url(
    environ: Mapping[str, str], env_file: Mapping[str, str], secrets: Secrets
) -> SettingValue | None:
    """The value of ANTHROPIC_BASE_URL, read as Anthropic's own programs do."""
    key = known_keys()["model.base_url"]
    for variables, where in ((environ, ENVIRONMENT), (env_file, ".env")):
        if text := variables.get(ANTHROPIC_URL, "").strip():
            origin = f"{where} {ANTHROPIC_URL}"
            return SettingValue(ANTHROPIC_URL, convert(key, text, origin, secrets), origin)
    return None


def _secrets(
    env_file: Mapping[str, str], environ: Mapping[str, str], referenced: frozenset[str] = frozenset()
) -> Secrets:
    """`referenced`: the variables that MCP servers name; those of them in `.env` are secrets, too."""
    variables = {**env_file, **environ}
    also = referenced.intersection(env_file)
    named = {
        name: value.strip()
        for name, value in variables.items()
        if (name in also or looks_secret(name)) and value.strip()
    }
    unnamed = chain.from_iterable(url_passwords(value) for value in variables.values() if "://" in value)
    return Secrets(
        named, unnamed, own=[name for name in named if env_file.get(name, "").strip() != named[name]]
    )


def _values(section: type[Section], prefix: str, by_key: Mapping[str, SettingValue]) -> dict[str, Any]:
    """Return the values given for the section's fields; others have their defaults."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(section):
        name = prefix + field.name
        if name in by_key:
            values[field.name] = by_key[name].value
        elif isinstance(field.type, type) and issubclass(field.type, Section):
            values[field.name] = field.type(**_values(field.type, f"{name}.", by_key))
    return values


def models_of(values: Iterable[SettingValue]) -> ModelsSettings:
    """The section `models` where these values are given."""
    return ModelsSettings(**_values(ModelsSettings, "models.", {value.key: value for value in values}))


def check_ensembles(models: ModelsSettings, origin: str) -> None:
    """Check that no ensemble is part of another one, and none has an alias's name. Raises `Misconfigured`."""
    for name, ensemble in models.ensembles.items():
        if name in models.aliases:
            raise Misconfigured(
                f"models.{name}: an alias has the same name ({origin}).", hint="Rename one of the two."
            )
        called = (*ensemble.members, ensemble.aggregator)
        nested = [member for member in called if models.aliases.get(member, member) in models.ensembles]
        if nested:
            raise Misconfigured(
                f"models.{name}: {nested[0]!r} is an ensemble itself ({origin}).",
                hint="Its members and its aggregator are models: name those.",
            )


def check_timezone(value: SettingValue | None) -> None:
    """Check that the value of `TIMEZONE` is a zone known on this machine. Raises `Misconfigured`."""
    if value is None or value.value is None:
        return
    from difflib import get_close_matches
    from zoneinfo import ZoneInfo, available_timezones

    try:
        ZoneInfo(str(value.value))
    except (KeyError, ValueError, OSError) as error:
        zones = get_close_matches(str(value.value), available_timezones(), n=1, cutoff=0.0)
        nearest = f" The nearest known one is {zones[0]!r}." if zones else ""
        raise Misconfigured(
            f"{value.key}: expected a time zone, found {value.value!r} ({value.origin}).{nearest}"
        ) from error
