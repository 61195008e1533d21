"""Edits and shows `config.yaml` and `.env` of a home; an edit leaves all other content, comments included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings.env_file import text_of, with_variable, write_atomically
from hermes_jobs.settings.home import Paths, ensure_home
from hermes_jobs.settings.keys import Key, known_keys
from hermes_jobs.settings.load import TIMEZONE, check_ensembles, check_timezone, models_of
from hermes_jobs.settings.removed_keys import removal_of
from hermes_jobs.settings.secrets import Secrets
from hermes_jobs.settings.settings import Settings
from hermes_jobs.settings.sources import (
    SettingValue,
    broken,
    from_file,
    from_text,
    named_key,
    read_config,
    read_env_file,
)

_NOTHING_SECRET = Secrets({})


def set_value(home: Path, key: str, text: str) -> str:
    """Write one key into `config.yaml`; returns its full name. See `set_up`.

    A section's name means its one obvious key: `model` means `model.model`.
    """
    set_up(home, {key: text})
    return named_key(key, "config set", sets=True).name


def unset_value(home: Path, key: str) -> tuple[str, bool]:
    """Remove one key from `config.yaml`; its full name, and whether it was there.

    Raises `Misconfigured` and leaves the file unchanged if there is no such key, or the file is invalid
    without it.
    """
    from hermes_jobs.settings.yaml_text import CannotEdit, YamlError, remove

    config = Paths(home).config
    name, parts = key, tuple(key.split("."))
    if removal_of(key) is None:
        which = named_key(key, "config unset")
        name, parts = which.name, which.parts
    text = read_config(config)
    try:
        edited = remove(text, parts)
    except YamlError as error:
        raise broken(config, error, _NOTHING_SECRET) from error
    except CannotEdit as error:
        raise _by_hand(config, "config unset", error, f"Take {name} out by hand.") from error
    if edited == text:
        return name, False
    from_file(config, edited, _NOTHING_SECRET)
    write_atomically(config, edited)
    return name, True


class Draft:
    """A draft of `config.yaml`, in a separate file until it is valid.

    A draft that was refused stays, so that the next try continues with it.
    """

    def __init__(self, home: Path) -> None:
        """Start with the last refused draft, else with `config.yaml`. Raises `Misconfigured`."""
        paths = Paths(home)
        ensure_home(paths)
        self._config = paths.config
        self.path = paths.run / "config.yaml"
        self._before = read_config(self._config)
        self.is_refused = self.path.exists()
        if not self.is_refused:
            write_atomically(self.path, self._before or "# `hermes-jobs config show` lists every key.\n")
            self.path.chmod(0o600)

    @property
    def is_outdated(self) -> bool:
        """Whether `config.yaml` has changed since a refused draft was written."""
        changed_at = self._config.stat().st_mtime if self._config.exists() else 0.0
        return self.is_refused and changed_at > self.path.stat().st_mtime

    def accept(self) -> bool:
        """Make it `config.yaml`; whether that changed anything.

        Raises `Misconfigured` where it is invalid, or `config.yaml` has changed since; the draft stays then.
        """
        text = read_config(self.path)
        values = from_file(self.path, text, _NOTHING_SECRET)
        check_timezone(next((change for change in values if change.key == TIMEZONE), None))
        check_ensembles(models_of(values), self.path.name)
        if read_config(self._config) != self._before:
            raise Misconfigured(
                f"{self._config} has changed meanwhile, and is left as it is.",
                hint=f"Your text is in {self.path}; `hermes-jobs config edit` continues with it.",
            )
        changed = text != self._before and (bool(self._before) or bool(text.strip()))
        if changed:
            write_atomically(self._config, text)
        self.discard()
        return changed

    def discard(self) -> None:
        """Forget it."""
        self.path.unlink(missing_ok=True)


def set_up(home: Path, values: Mapping[str, str], secrets: Mapping[str, str] | None = None) -> None:
    """Write keys into `config.yaml` of a home, and `secrets` by their variables into its `.env` (mode 600).

    A value is parsed as YAML unless its key takes text. Raises `Misconfigured` and leaves both files
    unchanged if a key, a value or the existing content is invalid, or a file cannot be written.
    """
    paths = Paths(home)
    config = _with_values(paths.config, values)
    if not secrets:
        ensure_home(paths)
        write_atomically(paths.config, config)
        return
    read_env_file(paths.env_file)  # refuses a file that others can read
    before = text_of(paths.env_file)
    env = before or ""
    for name, value in secrets.items():
        env = with_variable(env, name, value)
    ensure_home(paths)
    write_atomically(paths.env_file, env)
    try:
        write_atomically(paths.config, config)
    except Misconfigured:
        if before is None:
            paths.env_file.unlink()
        else:
            write_atomically(paths.env_file, before)
        raise


def _with_values(config: Path, values: Mapping[str, str]) -> str:
    """The text of a `config.yaml` with these values, validated."""
    from hermes_jobs.settings.yaml_text import CannotEdit, YamlError, replace

    edited = read_config(config)
    for key, text in values.items():
        which, value = from_text(key, text)
        if which.name == TIMEZONE:
            check_timezone(SettingValue(which.name, value, "config set"))
        try:
            edited = replace(edited, which.parts, value)
        except YamlError as error:
            raise broken(config, error, _NOTHING_SECRET) from error
        except CannotEdit as error:
            raise _by_hand(config, "config set", error, f"Set {key} there by hand.") from error
    check_ensembles(models_of(from_file(config, edited, _NOTHING_SECRET)), "config set")
    return edited


def _by_hand(config: Path, command: str, error: Exception, hint: str) -> Misconfigured:
    return Misconfigured(
        f"{config} is written in a way that `{command}` cannot change: {error}.",
        hint=f"{hint} `hermes-jobs config edit` opens it.",
    )


class Shown(Struct, frozen=True):
    """One key for display: its value as JSON types without secrets, and its origin."""

    key: str
    value: object
    origin: str
    description: str


def render(settings: Settings) -> list[Shown]:
    """List every key with its value and origin, in the order of `config.yaml`."""
    return [
        Shown(key.name, _shown(settings, key.parts), settings.origins[key.name], key.description)
        for key in known_keys().values()
    ]


def value_of(settings: Settings, name: str) -> Shown:
    """One key for display: by its name, a section's with one obvious key, or an entry's of a mapping.

    Raises `Misconfigured` where there is no such key, or a mapping has no such entry.
    """
    key = named_key(name, "config get")
    origin = settings.origins[key.mapping or key.name]
    if key.mapping is None:
        return Shown(key.name, _shown(settings, key.parts), origin, key.description)
    entries = _shown(settings, tuple(key.mapping.split(".")))
    if key.part:
        return Shown(key.name, _part_of(entries, key), origin, key.description)
    entry = key.parts[-1]
    if not isinstance(entries, dict) or entry not in entries:
        raise Misconfigured(
            f"{key.mapping} has no entry {entry!r}.", hint=f"hermes-jobs config get {key.mapping}"
        )
    return Shown(key.name, entries[entry], origin, key.description)


def _part_of(entries: object, key: Key) -> object:
    """The part of an entry. Raises `Misconfigured` if the entry or that part does not exist."""
    value, above = entries, key.mapping
    for part in key.parts[len(key.parts) - len(key.part) - 1 :]:
        if not isinstance(value, dict) or part not in value:
            raise Misconfigured(f"{above} has no entry {part!r}.", hint=f"hermes-jobs config get {above}")
        value, above = value[part], f"{above}.{part}"
    return value


def _shown(settings: Settings, parts: tuple[str, ...]) -> object:
    value: object = settings
    for part in parts:
        value = getattr(value, part)
    return _redacted(settings, msgspec.to_builtins(value))


def _redacted(settings: Settings, value: object) -> object:
    match value:
        case str():
            return settings.secrets.redact(value)
        case list() | tuple():
            return [_redacted(settings, item) for item in value]
        case dict():
            return {name: _redacted(settings, item) for name, item in value.items()}
        case _:
            return value
