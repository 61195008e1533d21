"""Settings sent with a turn: those that the environment of its command sets.

They are recorded with the turn by the names of their keys, and its worker applies them over its own settings.
They contain no secrets. A value that cannot be recorded, such as a key that only one shell has, becomes a
requirement on the worker: a short digest, which the worker compares with those of its own values.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel import feature
from hermes_jobs.llm.providers import KEY_VARIABLES
from hermes_jobs.settings.choices import Choice
from hermes_jobs.settings.keys import Key, known_keys
from hermes_jobs.settings.load import ENVIRONMENT, with_values
from hermes_jobs.settings.search_providers import SEARCH_PROVIDERS
from hermes_jobs.settings.settings import ANTHROPIC_URL, Settings
from hermes_jobs.settings.sources import SHARED_URL, SettingValue

logger = logging.getLogger(__name__)

TRAVELS = (
    "model",
    "models",
    "auxiliary",
    "agent.max_iterations",
    "compression",
    "memory.nudge_interval",
    "skills.creation_nudge_interval",
    "toolsets",
    "ask",
    "search",
    "tools",
    "terminal",
    "files",
    "attachments",
    "web",
    "schedules",
    "budgets",
    "delegation",
    "agents",
)
"""Keys, and sections whose keys, can be set for a single turn."""

OF_PROCESSES = ("broker_url", "log_url", "workers", "metrics", "serve", "gateway", "session", "agent.workdir")
"""Keys that configure a process and not a turn, or are read before there is a turn."""

TURN = "turn"
"""How the origin of a value begins that travelled with a turn."""

MAIN_URL = "model.base_url"
ENVIRONMENT_OF_COMMANDS = "terminal.environment"
SEARCH_URL = "web.search.base_url"
_AUXILIARY = ("compression", "session_search")
SALTED = "@"
DIGEST_BYTES = 3
"""Enough to distinguish keys, and far too little to derive one from its digest."""


class TurnSettings(msgspec.Struct, frozen=True):
    """A turn's settings: values by key as JSON types, and digests of values that its workers must have."""

    values: Mapping[str, Any] = {}
    requires: Mapping[str, str] = {}


def _in(key: str, names: tuple[str, ...]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in names)


def travels(key: str) -> bool:
    """Whether the value of that key may travel with a turn."""
    return _in(key, TRAVELS)


def unsendable(settings: Settings) -> list[str]:
    """The variables of the environment that set a key for turns which cannot travel with one."""
    return [
        origin.removeprefix(f"{ENVIRONMENT} ")
        for name, origin in settings.origins.items()
        if _is_set_here(settings, name) and not travels(name) and not _in(name, OF_PROCESSES)
        if name in known_keys()
    ]


def carried(settings: Settings, model: str | None, salt: str) -> TurnSettings:
    """What travels with a turn that is submitted here, for that model (None: the configured one).

    `salt` is the log's id: digests of two logs cannot be compared.
    """
    values: dict[str, Any] = {}
    requires: dict[str, str] = {}
    for name, key in _set_here(settings):
        value = settings.anthropic_url if name == ANTHROPIC_URL else settings.value(key)
        written = msgspec.to_builtins(value)
        text = value if isinstance(value, str) else msgspec.json.encode(written).decode()
        if settings.secrets.redact(text) == text:
            values[name] = written
        else:
            requires[key.name if name == SHARED_URL else name] = digest(salt, key.name, text)
    for choice in _choices(settings, model):
        requires |= _required(settings, choice, values, salt)
    requires |= _required_to_search(settings, values, salt)
    return TurnSettings(values, requires)


def with_variables(carried: TurnSettings, settings: Settings, variables: Mapping[str, str]) -> TurnSettings:
    """What travels, and besides variables for the commands that run in the turn."""
    before = carried.values.get(ENVIRONMENT_OF_COMMANDS, settings.terminal.environment)
    return replace(carried, values={**carried.values, ENVIRONMENT_OF_COMMANDS: {**before, **variables}})


def _set_here(settings: Settings) -> Iterator[tuple[str, Key]]:
    """The names and keys of the settings of this environment that can be sent with a turn.

    A variable shared with other programs keeps its name: its meaning depends on the provider.
    """
    for name, origin in settings.origins.items():
        if not _is_set_here(settings, name):
            continue
        if name == ANTHROPIC_URL:
            yield name, known_keys()[MAIN_URL]
        elif name in known_keys() and travels(name):
            shared = origin.endswith(f" {SHARED_URL}")
            yield SHARED_URL if shared else name, known_keys()[name]


def _is_set_here(settings: Settings, name: str) -> bool:
    return settings.origins[name].startswith((f"{ENVIRONMENT} ", f"{TURN} "))


def set_by_turn(settings: Settings) -> frozenset[str]:
    """The keys whose values were sent with a turn."""
    return frozenset(name for name, origin in settings.origins.items() if origin.startswith(f"{TURN} "))


def _choices(settings: Settings, model: str | None) -> list[Choice]:
    ensemble = settings.ensemble_name(model or settings.model.model)
    members = settings.models.ensembles[ensemble].members if ensemble is not None else ()
    names = [model, *members, *settings.model.fallback]
    return [
        *(settings.choice(name) for name in names),
        *(settings.auxiliary_model(purpose) for purpose in _AUXILIARY),
        *(
            settings.auxiliary_model(purpose)
            for purpose in ("vision", "transcription", "speech")
            if getattr(settings.auxiliary, purpose).model
        ),
    ]


def _required(settings: Settings, choice: Choice, values: Mapping[str, Any], salt: str) -> dict[str, str]:
    """A worker's requirements for calling that model as this process does: the key of this environment;
    without a key, the address of this environment, because the worker's key is not valid there."""
    key = settings.secrets.get(choice.key)
    if key is not None:
        return {choice.key: digest(salt, choice.key, key)} if choice.key in settings.secrets.own else {}
    addresses = {
        other: address for other, address in _addresses(settings).items() if address == choice.base_url
    }
    foreign = [
        other for other in addresses if other in values or (other == MAIN_URL and SHARED_URL in values)
    ]
    return {other: digest(salt, other, addresses[other]) for other in foreign[:1]}


def _required_to_search(settings: Settings, values: Mapping[str, Any], salt: str) -> dict[str, str]:
    """The same for the web search: its key of this environment, or an address that its key is not for."""
    search = settings.web.search
    key = SEARCH_PROVIDERS[search.provider].key if search.provider is not None else None
    if key is None:
        return {}
    secret = settings.secrets.get(key)
    if secret is not None and key in settings.secrets.own:
        return {key: digest(salt, key, secret)}
    if SEARCH_URL in values and search.base_url is not None:
        return {SEARCH_URL: digest(salt, SEARCH_URL, search.base_url)}
    return {}


def _addresses(settings: Settings) -> dict[str, str]:
    """The addresses of models that are set, by their keys."""
    addresses = {
        name: str(value)
        for name, key in known_keys().items()
        if name.endswith(".base_url") and travels(name) and (value := settings.value(key)) is not None
    }
    return {**addresses, ANTHROPIC_URL: settings.anthropic_url} if settings.anthropic_url else addresses


def available_digests(settings: Settings, salt: str) -> dict[str, str]:
    """The digests of this process's values that a turn may require, by name."""
    secrets = settings.secrets
    text = {*KEY_VARIABLES, *feature.secrets()}
    names = [name for name in secrets.names if name in text or name.endswith("_API_KEY")]
    keys = {name: digest(salt, name, secrets.get(name) or "") for name in names}
    return keys | {name: digest(salt, name, url) for name, url in _addresses(settings).items()}


def digest(salt: str, name: str, value: str) -> str:
    """A short digest of a value under a name, followed by its salt."""
    made = blake2b(f"{name}\0{value}".encode(), key=salt.encode()[:64], digest_size=DIGEST_BYTES).hexdigest()
    return f"{made}{SALTED}{salt}"


def salt_of(requires: Mapping[str, str], usual: str) -> str:
    """The id of the log that these digests were made in: another one for a turn that was imported."""
    return next((text.partition(SALTED)[2] for text in requires.values() if SALTED in text), usual)


def applied(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The settings with a turn's own values over them. Unusable values are left out with a warning: a
    newer build may have other keys."""
    by_key: dict[str, SettingValue] = {}
    anthropic_url = settings.anthropic_url
    for name, value in values.items():
        key = known_keys().get(MAIN_URL if name in {SHARED_URL, ANTHROPIC_URL} else name)
        if key is None or not travels(key.name):
            logger.warning("this build cannot use %s of a turn's settings", name)
            continue
        try:
            converted = key.convert(value)
        except msgspec.ValidationError as error:
            logger.warning("this build cannot use %s of a turn's settings: %s", name, error)
            continue
        if name == ANTHROPIC_URL:
            anthropic_url = str(converted)
        else:
            by_key[key.name] = SettingValue(key.name, converted, f"{TURN} {name}")
    changed = with_values(settings, by_key)
    return (
        changed if anthropic_url == settings.anthropic_url else replace(changed, anthropic_url=anthropic_url)
    )
