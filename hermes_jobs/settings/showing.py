"""What `config show` lists and what `config set` changes."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from hermes_jobs.domain.errors import Misconfigured
from hermes_jobs.settings.home import Paths, ensure_home
from hermes_jobs.settings.keys import known_keys
from hermes_jobs.settings.loading import TIMEZONE, Settings, check_timezone
from hermes_jobs.settings.secrets import Secrets
from hermes_jobs.settings.sources import Given, broken, from_file, from_text, read_config


class Shown(Struct, frozen=True):
    """One key as it may be shown: its value in JSON's types without anything secret, and its origin."""

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


def set_value(home: Path, key: str, text: str) -> None:
    """Write one key into `config.yaml` of a home; everything else in the file stays as it is, comments too.

    The value is read as YAML where the key takes no text. Raises `Misconfigured` and writes nothing when the
    key, the value or what else stands in the file is wrong.
    """
    from hermes_jobs.settings.yaml_text import CannotEdit, YamlError, replace

    paths = Paths(home)
    which, value = from_text(key, text)
    if key == TIMEZONE:
        check_timezone(Given(key, value, "config set"))
    nothing_secret = Secrets({})
    try:
        edited = replace(read_config(paths.config), which.parts, value)
    except YamlError as error:
        raise broken(paths.config, error, nothing_secret) from error
    except CannotEdit as error:
        raise Misconfigured(
            f"{paths.config} is written in a way that `config set` cannot change: {error}.",
            hint=f"Set {key} there by hand.",
        ) from error
    from_file(paths.config, edited, nothing_secret)
    ensure_home(paths)
    _write_atomically(paths.config, edited)


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


def _write_atomically(path: Path, text: str) -> None:
    """Replace a file so that a crash leaves the old or the new one; links stay links, the mode as it was."""
    import tempfile

    target = path.resolve()
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=target.parent, prefix=f"{target.name}.", delete=False
        ) as file:
            written = Path(file.name)
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                if target.exists():
                    written.chmod(target.stat().st_mode)
                written.replace(target)
            except OSError:
                written.unlink()
                raise
    except OSError as error:
        raise Misconfigured(f"{path} cannot be written: {error.strerror}.") from error
