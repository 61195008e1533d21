"""Reads the settings: precedence of the sources, and the origin of each value."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings.home import Paths, find_home
from hermes_jobs.settings.keys import known_keys
from hermes_jobs.settings.removed_keys import removal_of, warning
from hermes_jobs.settings.secrets import Secrets, login_password, looks_secret, url_passwords
from hermes_jobs.settings.sections import Configuration
from hermes_jobs.settings.sections.mcp_servers import secrets_named
from hermes_jobs.settings.sections.models import ModelsSettings
from hermes_jobs.settings.sections.values import Section
from hermes_jobs.settings.settings import ANTHROPIC_URL, Settings, Stamps
from hermes_jobs.settings.sources import (
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
ENVIRONMENT = "environment"
"""How the origin of a value begins that this process's environment sets."""


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
    in_urls = chain.from_iterable(url_passwords(value) for value in variables.values() if "://" in value)
    in_logins = (login_password(value) for name, value in named.items() if name.lower().endswith("_auth"))
    return Secrets(
        named,
        (*in_urls, *filter(None, in_logins)),
        own=[name for name in named if env_file.get(name, "").strip() != named[name]],
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
