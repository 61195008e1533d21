"""The settings of one process: precedence of the sources, and the origin of each value."""

from collections.abc import Mapping
from datetime import tzinfo
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings.choices import REHEARSAL, Choice, ModelChooser
from hermes_jobs.settings.home import Paths, find_home
from hermes_jobs.settings.keys import known_keys
from hermes_jobs.settings.secrets import Secrets, looks_secret, url_passwords
from hermes_jobs.settings.sections import REHEARSAL_MODEL, AuxiliaryTask, Configuration, Section
from hermes_jobs.settings.sources import (
    SHARED_URL,
    Given,
    convert,
    from_file,
    from_variables,
    read_config,
    read_env_file,
)

TIMEZONE = "schedules.timezone"
ANTHROPIC_URL = "ANTHROPIC_BASE_URL"


class Settings(Configuration, frozen=True, kw_only=True):
    """Every key with its value, and besides the keys: the secrets, the home, each value's origin."""

    secrets: Secrets
    paths: Paths
    origins: Mapping[str, str]
    anthropic_url: str | None = None

    @property
    def rehearsal(self) -> bool:
        """Whether the rehearsal model is used: it is configured, or nothing is."""
        return self.main_model.rehearsal

    @property
    def model_name(self) -> str:
        """The model of sessions that name none."""
        return self.main_model.model

    @property
    def zone(self) -> tzinfo | None:
        """The zone of days and schedules; None is the machine's zone."""
        if self.schedules.timezone is None:
            return None
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.schedules.timezone)

    @property
    def main_model(self) -> Choice:
        """The model of sessions that name none, with its endpoint."""
        return self._chosen(self.model.model)

    def choice(self, name: str | None) -> Choice:
        """The choice for the model of that name or alias; None: the configured or default one.

        A session that began with the rehearsal model continues with the configured one.
        """
        chosen = self._chosen(name or self.model.model)
        return self.main_model if chosen.rehearsal else chosen

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

    def _auxiliary(self, purpose: str, model: str | None = None) -> Choice:
        own, general = self._task(purpose), self.auxiliary
        return self._chosen(
            model or own.model or general.model or self.model.model,
            own.base_url or general.base_url,
            (f"AUXILIARY_{purpose.upper()}_API_KEY", "AUXILIARY_API_KEY"),
        )

    def _task(self, purpose: str) -> AuxiliaryTask:
        return {
            name: section
            for name in self.auxiliary.__struct_fields__
            if isinstance(section := getattr(self.auxiliary, name), AuxiliaryTask)
        }[purpose]

    def _chosen(self, name: str | None, base_url: str | None = None, keys: tuple[str, ...] = ()) -> Choice:
        """The rehearsal model if it is named, or if nothing is configured and none is named.

        `base_url` is an endpoint other than the main one; the secrets of `keys` precede the provider's.
        """
        model, choosing = self.models.aliases.get(name or "", name), self._choosing
        nothing = choosing.nothing_named and not any(map(self.secrets.get, keys))
        if model == REHEARSAL_MODEL or (model is None and base_url is None and nothing):
            return REHEARSAL
        if base_url is not None:
            return choosing.elsewhere(model, base_url, keys)
        return choosing.main(model, keys)

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
    env_file = read_env_file(paths.env_file)
    secrets = _secrets({**env_file, **environ})
    lowest_first = (
        from_file(paths.config, read_config(paths.config), secrets),
        from_variables(env_file, ".env", secrets),
        from_variables(environ, "environment", secrets),
    )
    given = {value.key: value for value in chain.from_iterable(lowest_first)}
    check_timezone(given.get(TIMEZONE))
    origins = {name: given[name].origin if name in given else "default" for name in known_keys()}
    return Settings(
        **_values(Configuration, "", given),
        secrets=secrets,
        paths=paths,
        origins=origins,
        anthropic_url=_anthropic_url(environ, env_file, secrets),
    )


def _anthropic_url(environ: Mapping[str, str], env_file: Mapping[str, str], secrets: Secrets) -> str | None:
    """The value of ANTHROPIC_BASE_URL, read as Anthropic's own programs do."""
    key = known_keys()["model.base_url"]
    for variables, where in ((environ, "environment"), (env_file, ".env")):
        if text := variables.get(ANTHROPIC_URL, "").strip():
            return str(convert(key, text, f"{where} {ANTHROPIC_URL}", secrets))
    return None


def _secrets(variables: Mapping[str, str]) -> Secrets:
    named = {name: value.strip() for name, value in variables.items() if looks_secret(name) and value.strip()}
    unnamed = chain.from_iterable(url_passwords(value) for value in variables.values() if "://" in value)
    return Secrets(named, unnamed)


def _values(section: type[Section], prefix: str, given: Mapping[str, Given]) -> dict[str, Any]:
    """Return the values given for the section's fields; others have their defaults."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(section):
        name = prefix + field.name
        if name in given:
            values[field.name] = given[name].value
        elif isinstance(field.type, type) and issubclass(field.type, Section):
            values[field.name] = field.type(**_values(field.type, f"{name}.", given))
    return values


def check_timezone(given: Given | None) -> None:
    """Check that the value of `TIMEZONE` is a zone known on this machine. Raises `Misconfigured`."""
    if given is None or given.value is None:
        return
    from difflib import get_close_matches
    from zoneinfo import ZoneInfo, available_timezones

    try:
        ZoneInfo(str(given.value))
    except (KeyError, ValueError, OSError) as error:
        zones = get_close_matches(str(given.value), available_timezones(), n=1, cutoff=0.0)
        nearest = f" The nearest known one is {zones[0]!r}." if zones else ""
        raise Misconfigured(
            f"{given.key}: expected a time zone, found {given.value!r} ({given.origin}).{nearest}"
        ) from error
