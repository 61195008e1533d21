"""Edits `config.yaml` and `.env` of a home; all other content stays unchanged, comments included."""

from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings.home import Paths, ensure_home
from hermes_jobs.settings.load import TIMEZONE, check_timezone
from hermes_jobs.settings.secrets import Secrets
from hermes_jobs.settings.sources import Given, broken, from_file, from_text, read_config, read_env_file
from hermes_jobs.system.atomic_file import write_bytes

_NOTHING_SECRET = Secrets({})


def set_value(home: Path, key: str, text: str) -> None:
    """Write one key into `config.yaml`. See `set_up`."""
    set_up(home, {key: text})


def set_up(home: Path, values: Mapping[str, str], secrets: Mapping[str, str] | None = None) -> None:
    """Write keys into `config.yaml` of a home, and `secrets` by their variables into its `.env` (mode 600).

    A value is parsed as YAML unless its key takes text. Raises `Misconfigured` and leaves both files
    unchanged if a key, a value or the existing content is invalid, or a file cannot be written.
    """
    paths = Paths(home)
    config = _with_values(paths.config, values)
    if not secrets:
        ensure_home(paths)
        _write_atomically(paths.config, config)
        return
    read_env_file(paths.env_file)  # refuses a file that others can read
    before = _text(paths.env_file)
    env = before or ""
    for name, value in secrets.items():
        env = with_variable(env, name, value)
    ensure_home(paths)
    _write_atomically(paths.env_file, env)
    try:
        _write_atomically(paths.config, config)
    except Misconfigured:
        if before is None:
            paths.env_file.unlink()
        else:
            _write_atomically(paths.env_file, before)
        raise


def with_variable(text: str, name: str, value: str) -> str:
    """The text of a `.env` with that variable set, at its old place if it had one."""
    from dotenv.parser import parse_stream

    line = f"{name}={_quoted(value)}"
    parts: list[str] = []
    written = False
    for binding in parse_stream(StringIO(text)):
        original = binding.original.string
        if binding.key == name:
            before = original[: len(original) - len(original.lstrip())]
            parts.append(before + ("" if written else f"{line}\n"))
            written = True
        else:
            parts.append(original)
    kept = "".join(parts)
    if written:
        return kept
    return f"{kept}\n{line}\n" if kept and not kept.endswith("\n") else f"{kept}{line}\n"


def _quoted(value: str) -> str:
    if value and all(each.isalnum() or each in "-_.:/+=~" for each in value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _with_values(config: Path, values: Mapping[str, str]) -> str:
    """The text of a `config.yaml` with these values, validated."""
    from hermes_jobs.settings.yaml_text import CannotEdit, YamlError, replace

    edited = read_config(config)
    for key, text in values.items():
        which, value = from_text(key, text)
        if key == TIMEZONE:
            check_timezone(Given(key, value, "config set"))
        try:
            edited = replace(edited, which.parts, value)
        except YamlError as error:
            raise broken(config, error, _NOTHING_SECRET) from error
        except CannotEdit as error:
            raise Misconfigured(
                f"{config} is written in a way that `config set` cannot change: {error}.",
                hint=f"Set {key} there by hand.",
            ) from error
    from_file(config, edited, _NOTHING_SECRET)
    return edited


def _write_atomically(path: Path, text: str) -> None:
    """Replace a file so that a crash leaves the old or the new one; links stay links, the mode as it was."""
    try:
        write_bytes(path, text.encode(), keep_mode=True)
    except OSError as error:
        raise Misconfigured(f"{path} cannot be written: {error.strerror}.") from error
