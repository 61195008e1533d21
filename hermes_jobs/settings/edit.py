"""Edits `config.yaml` and `.env` of a home; all other content stays unchanged, comments included."""

from collections.abc import Mapping
from pathlib import Path

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings.env_file import text_of, with_variable, write_atomically
from hermes_jobs.settings.home import Paths, ensure_home
from hermes_jobs.settings.load import TIMEZONE, check_ensembles, check_timezone, models_of
from hermes_jobs.settings.secrets import Secrets
from hermes_jobs.settings.sources import (
    Given,
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

    A section's name stands for its one obvious key, as `model` does for `model.model`.
    """
    set_up(home, {key: text})
    return named_key(key, "config set").name


def unset_value(home: Path, key: str) -> tuple[str, bool]:
    """Take one key out of `config.yaml`; its full name, and whether it stood there.

    Raises `Misconfigured` and leaves the file unchanged if there is no such key, or the file is invalid
    without it.
    """
    from hermes_jobs.settings.yaml_text import CannotEdit, YamlError, remove

    config, which = Paths(home).config, named_key(key, "config unset")
    text = read_config(config)
    try:
        edited = remove(text, which.parts)
    except YamlError as error:
        raise broken(config, error, _NOTHING_SECRET) from error
    except CannotEdit as error:
        raise _by_hand(config, "config unset", error, f"Take {which.name} out by hand.") from error
    if edited == text:
        return which.name, False
    from_file(config, edited, _NOTHING_SECRET)
    write_atomically(config, edited)
    return which.name, True


class Draft:
    """A text that is to become `config.yaml`, in a file of its own until it is valid.

    A draft that was refused stays, so that the next try goes on with it.
    """

    def __init__(self, home: Path) -> None:
        """Begin with what was refused the last time, else with `config.yaml`. Raises `Misconfigured`."""
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
        given = from_file(self.path, text, _NOTHING_SECRET)
        check_timezone(next((each for each in given if each.key == TIMEZONE), None))
        check_ensembles(models_of(given), self.path.name)
        if read_config(self._config) != self._before:
            raise Misconfigured(
                f"{self._config} has changed meanwhile, and is left as it is.",
                hint=f"Your text is in {self.path}; `hermes-jobs config edit` goes on with it.",
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
            check_timezone(Given(which.name, value, "config set"))
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
