"""Sources of values: environment, `.env` and `config.yaml`, each read and checked separately.

A source yields `SettingValue`s, already in their key's type. `load` decides about precedence.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings.home import HOME_VARIABLE
from hermes_jobs.settings.keys import (
    Key,
    accepts_null,
    accepts_text,
    key_named,
    known_keys,
    known_sections,
    main_key,
    near_keys,
    nearest_key,
)
from hermes_jobs.settings.removed_keys import removal_of
from hermes_jobs.settings.secrets import REDACTED, Secrets, looks_secret, url_passwords
from hermes_jobs.settings.sections.mcp_servers import NAMED

if TYPE_CHECKING:
    from hermes_jobs.settings.yaml_text import YamlError

PREFIX = "HERMES_JOBS_"

_SHORT_VARIABLES = {
    f"{PREFIX}MODEL": "model.model",
    f"{PREFIX}BROKER_URL": "broker_url",
    f"{PREFIX}LOG_URL": "log_url",
}
SHARED_URL = "OPENAI_BASE_URL"
_SHARED_VARIABLES = {SHARED_URL: "model.base_url"}
"""Variables shared with other programs: our own variable for the same key has precedence."""

ENVIRONMENT_OF_COMMANDS = "terminal.environment"
MCP_SERVERS = "mcp_servers"
_LONGEST_SHOWN = 80
_CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})


def variables_of(key: str) -> list[str]:
    """The variables that set a key, those that win first."""
    own = [name for name, named in _SHORT_VARIABLES.items() if named == key]
    shared = [name for name, named in _SHARED_VARIABLES.items() if named == key]
    return [*own, PREFIX + key.replace(".", "__").upper(), *shared]


class SettingValue(NamedTuple):
    """A value for one key from one source."""

    key: str
    value: object
    origin: str


def from_variables(variables: Mapping[str, str], where: str, secrets: Secrets) -> list[SettingValue]:
    """Return the values in variables of the environment or of `.env`; an empty variable counts as unset.

    Raises `Misconfigured` for an unknown key, an invalid value, or two variables that contradict each other.
    """
    values: dict[str, SettingValue] = {}
    for name in sorted(variables):
        text = variables[name].strip()
        if text and name.startswith(PREFIX) and removal_of(_dotted(name)) is not None:
            values[_dotted(name)] = SettingValue(_dotted(name), None, f"{where} {name}")
            continue
        key = _key_of_variable(name, where) if name.startswith(PREFIX) else None
        if key is None or not text:
            continue
        origin = f"{where} {name}"
        value = convert(key, _text_value(key, text, origin), origin, secrets)
        first = values.setdefault(key.name, SettingValue(key.name, value, origin))
        if first.value != value:
            raise Misconfigured(
                f"{key.name}: {first.origin} and {name} say different things.", hint="Keep one of the two."
            )
    for name, shared in _SHARED_VARIABLES.items():
        text = variables.get(name, "").strip()
        if text and shared not in values:
            origin = f"{where} {name}"
            values[shared] = SettingValue(
                shared, convert(known_keys()[shared], text, origin, secrets), origin
            )
    return list(values.values())


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of `.env`, empty if there is none. Raises `Misconfigured` for a file that others
    can read.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            _refuse_wider_mode(path, os.fstat(file.fileno()).st_mode)
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    return dict(_env_bindings(path, text))


def from_file(path: Path, text: str, secrets: Secrets) -> list[SettingValue]:
    """Return the values in `text`, the content of `config.yaml`.

    Raises `Misconfigured` where it is not YAML, not a mapping, or has an unknown key or a wrong value.
    """
    if not text.strip():
        return []
    from hermes_jobs.settings.yaml_text import YamlError, read

    try:
        document = read(text)
    except YamlError as error:
        raise broken(path, error, secrets) from error
    if document.value is None:
        return []
    if not isinstance(document.value, dict):
        shown = _shown(document.value, secrets)
        raise Misconfigured(
            f"{path}: expected keys and values, such as `model: {{api: chat}}`, found {shown}."
        )
    return list(_from_mapping(document.value, (), _File(path, document.lines, secrets)))


def broken(path: Path, error: "YamlError", secrets: Secrets) -> Misconfigured:
    """The error for a `config.yaml` that cannot be parsed, with its line."""
    return Misconfigured(
        f"{path}, line {error.line}, column {error.column}: {secrets.redact(error.problem)}."
    )


def read_config(path: Path) -> str:
    """Return the text of `config.yaml` with its own line ends, empty if there is none. Raises
    `Misconfigured`.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def named_key(name: str, origin: str, *, sets: bool = False) -> Key:
    """The key of a user's text: its full name, or that of a section with one obvious key.

    Raises `Misconfigured` where there is none; for the name of a secret where a value is set.
    """
    key = (main_key(name) if name in known_sections() else None) or key_named(name)
    if key is not None:
        return key
    if (removal := removal_of(name)) is not None:
        raise Misconfigured(f"There is no key {name!r} any more: {removal}.")
    if sets or name in known_sections():
        return _known_key(name, origin)
    near = near_keys(name)
    suggestion = f" Near it: {', '.join(near)}." if near else ""
    hint = "`hermes-jobs config show` lists every key."
    raise Misconfigured(f"There is no key {name!r}.{suggestion}", hint=hint)


def from_text(name: str, text: str) -> tuple[Key, object]:
    """Return the key and the value of `config set`, validated as in `config.yaml`. Raises `Misconfigured`."""
    origin = "config set"
    key = named_key(name, origin, sets=True)
    value = _text_value(key, text, origin)
    _refuse_secret_value(key.name, value, origin)
    convert(key, value, origin, Secrets({}))
    return key, value


def convert(key: Key, value: object, origin: str, secrets: Secrets) -> object:
    """Return the value in the key's type. Raises `Misconfigured` with key, expectation, value and origin."""
    if ENVIRONMENT_OF_COMMANDS in {key.name, key.mapping}:
        _refuse_secret_key(key.name, value, origin)
    if MCP_SERVERS in {key.name, key.mapping} and not key.part:
        _refuse_literal_secrets(key, value, origin)
    try:
        return key.convert(value)
    except msgspec.ValidationError as error:
        if key.entry is not None and isinstance(value, dict):
            for name, each in value.items():  # the invalid entry is named
                convert(key.under(str(name)), each, origin, secrets)
        nearest = key.nearest(value)
        suggestion = f" The nearest is {nearest!r}." if nearest else ""
        is_server = key.mapping == MCP_SERVERS and not key.part
        raise Misconfigured(
            f"{key.name}: expected {key.expected}, found {_shown(value, secrets)} ({origin}).{suggestion}",
            hint=f"{secrets.redact(str(error))}." if is_server else key.description,
        ) from error


class _File(NamedTuple):
    """The context of a `config.yaml` while its values are read."""

    path: Path
    lines: Mapping[tuple[str, ...], int]
    secrets: Secrets

    def origin(self, path: tuple[str, ...]) -> str:
        return f"{self.path}, line {self.lines.get(path, 1)}"


def _from_mapping(
    mapping: Mapping[object, object], above: tuple[str, ...], file: _File
) -> Iterator[SettingValue]:
    gathered: dict[str, dict[str, object]] = {}
    for part, value in mapping.items():
        path = (*above, str(part))
        name = ".".join(path)
        origin = file.origin(path)
        if removal_of(name) is not None:
            yield SettingValue(name, None, origin)
            continue
        if name in known_sections():
            if isinstance(value, dict):
                yield from _from_mapping(value, path, file)
            elif value is not None:
                raise Misconfigured(
                    f"{name}: expected a section of keys, found {_shown(value, file.secrets)} ({origin})."
                )
            continue
        key = _known_key(name, origin, value)
        _refuse_secret_value(name, value, origin)
        converted = convert(key, value, origin, file.secrets)
        if key.within is not None and key.mapping is not None:
            gathered.setdefault(key.mapping, {})[key.parts[-1]] = converted
        elif key.entries_in is not None and isinstance(converted, dict):
            gathered.setdefault(key.name, {}).update(converted)
        else:
            yield SettingValue(name, converted, file.path.name)
    for name, entries in gathered.items():
        yield SettingValue(name, entries, file.path.name)


def _known_key(name: str, origin: str, value: object = None) -> Key:
    key = key_named(name)
    if key is not None and (key.within is None or value is None or isinstance(value, dict)):
        return key
    if name in known_sections():
        keys = ", ".join(key for key in known_keys() if key.startswith(f"{name}."))
        raise Misconfigured(f"{name} is a section, not a key ({origin}).", hint=f"Its keys: {keys}.")
    _refuse_secret_key(name, value, origin)
    raise Misconfigured(
        f"Unknown key {name!r} ({origin}). The nearest known one is {nearest_key(name)!r}.",
        hint="`hermes-jobs config show` lists every key.",
    )


def _key_of_variable(name: str, where: str) -> Key | None:
    """Return the key of one of our variables; None for the home's own variable."""
    if name == HOME_VARIABLE:
        if where == ".env":
            raise Misconfigured(f"{HOME_VARIABLE} cannot stand in .env, which lies in the home already.")
        return None
    dotted = _dotted(name)
    if key := known_keys().get(dotted):
        return key
    origin = f"{where} {name}"
    _refuse_secret_key(dotted, None, origin)
    nearest = _nearest_variable(name)
    raise Misconfigured(
        f"Unknown variable {name}: there is no key {dotted!r} ({where}). The nearest known one is {nearest}.",
        hint="A key is set by HERMES_JOBS_<SECTION>__<KEY>.",
    )


def _dotted(name: str) -> str:
    """The dotted name of the key that one of our variables sets."""
    return _SHORT_VARIABLES.get(name) or name.removeprefix(PREFIX).lower().replace("__", ".")


def _nearest_variable(name: str) -> str:
    from difflib import get_close_matches

    names = [*_SHORT_VARIABLES, HOME_VARIABLE]
    names += [PREFIX + key.replace(".", "__").upper() for key in known_keys() if "." in key]
    return get_close_matches(name, names, n=1, cutoff=0.0)[0]


def _text_value(key: Key, text: str, origin: str) -> object:
    """Parse a text by the key's type: as YAML, or as text if the key takes text."""
    if accepts_text(key.type):
        return None if accepts_null(key.type) and text in ("null", "~") else text
    from hermes_jobs.settings.yaml_text import YamlError, read

    try:
        return read(text).value
    except YamlError as error:
        raise Misconfigured(
            f"{key.name}: expected {key.expected}, found a text that is not YAML ({origin})."
        ) from error


def _env_bindings(path: Path, text: str) -> Iterator[tuple[str, str]]:
    from io import StringIO

    from dotenv.parser import parse_stream

    for binding in parse_stream(StringIO(text)):
        if binding.error or (binding.key and binding.value is None):
            # The line itself may hold a secret: the error has its number only.
            before = len(binding.original.string) - len(binding.original.string.lstrip("\r\n"))
            raise Misconfigured(f"{path}, line {binding.original.line + before}: expected NAME=value.")
        if binding.key and binding.value is not None:
            yield binding.key, binding.value


def _refuse_wider_mode(path: Path, mode: int) -> None:
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise Misconfigured(
            f"{path} holds secrets and others can read it (mode {stat.S_IMODE(mode):o}).",
            hint=f"chmod 600 {path}",
        )


def _refuse_secret_key(name: str, value: object, origin: str) -> None:
    below = [str(part) for part in value] if isinstance(value, dict) else []
    if any(looks_secret(part) for part in (*name.split("."), *below)):
        raise Misconfigured(
            f"{name} looks like a secret, which has no place here ({origin}).",
            hint="Put it into .env in the home (mode 600) under its own name, such as OPENAI_API_KEY=…",
        )


def _refuse_secret_value(name: str, value: object, origin: str) -> None:
    if isinstance(value, str) and url_passwords(value):
        variable = PREFIX + name.replace(".", "__").upper()
        raise Misconfigured(
            f"{name} holds a password, which has no place here ({origin}).",
            hint=f"Put the URL into .env in the home (mode 600) as {variable}=…",
        )


def _refuse_literal_secrets(key: Key, value: object, origin: str) -> None:
    """Raise `Misconfigured` where an MCP server's entry holds a secret instead of naming one."""
    entries = {key.name: value}
    if key.mapping is None and isinstance(value, dict):
        entries = {f"{MCP_SERVERS}.{name}": each for name, each in value.items()}
    for name, entry in entries.items():
        for place in _literal_secrets(entry):
            raise Misconfigured(
                f"{name}.{place} holds a secret, which has no place here ({origin}).",
                hint="Put it into .env in the home (mode 600) as NAME=…, and write ${NAME} here.",
            )


def _literal_secrets(value: object) -> list[str]:
    """Where an entry, as it is written, holds a secret itself instead of naming it: `env.GITHUB_TOKEN`."""
    if not isinstance(value, dict):
        return []
    places = []
    for part in ("env", "headers", "oauth"):
        entries = value.get(part)
        for name, text in entries.items() if isinstance(entries, dict) else ():
            secret = looks_secret(str(name)) or str(name).lower() in _CREDENTIAL_HEADERS
            if secret and isinstance(text, str) and text and not NAMED.search(text):
                places.append(f"{part}.{name}")
    return places


def _shown(value: object, secrets: Secrets) -> str:
    """A refused value for an error message: short, and without secrets."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            shown = f"a mapping with {', '.join(map(str, value))}" if value else "an empty mapping"
        case list() | tuple():
            shown = "a list: " + ", ".join(_shown(item, secrets) for item in value)
        case str():
            credentials, at, host = secrets.redact(value).rpartition("@")
            shown = repr(f"{REDACTED}@{host}" if at and ":" in credentials else credentials + at + host)
        case _:
            shown = str(value)
    return shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + "…"


def _unreadable(path: Path, error: OSError | UnicodeDecodeError) -> Misconfigured:
    reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
    return Misconfigured(f"{path} cannot be read: {reason}.")
