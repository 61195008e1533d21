"""Edits `.env` of a home, the file of its secrets; all other content stays unchanged."""

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from hermes_jobs.errors import Misconfigured
from hermes_jobs.kernel import feature
from hermes_jobs.llm.providers import PROVIDERS
from hermes_jobs.settings.home import Paths, ensure_home
from hermes_jobs.settings.search_providers import SEARCH_PROVIDERS
from hermes_jobs.settings.secrets import looks_secret
from hermes_jobs.settings.sources import PREFIX, read_env_file
from hermes_jobs.system.atomic_file import write_bytes

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def known_secrets() -> Mapping[str, str]:
    """The known variables of secrets, with the purpose of each."""
    providers = {
        name: f"key of {provider.title}" for provider in PROVIDERS.values() for name in provider.keys
    }
    searches = {
        provider.key: f"key of {provider.title}" for provider in SEARCH_PROVIDERS.values() if provider.key
    }
    others = {
        "AUXILIARY_API_KEY": "key of auxiliary.base_url",
        "EMBEDDINGS_API_KEY": "key of embeddings.base_url",
        "HONCHO_API_KEY": "key of the memory provider honcho",
        "MEM0_API_KEY": "key of the memory provider mem0",
    }
    return {**providers, **searches, **others, **feature.secrets()}


def is_secret_variable(name: str) -> bool:
    """Whether that is the name of a variable that holds a secret, rather than a key of the configuration."""
    return _VARIABLE.fullmatch(name) is not None and looks_secret(name) and not name.startswith(PREFIX)


def near_secrets(name: str) -> list[str]:
    """The known variables of secrets that are similar to that name, the most similar first."""
    from difflib import get_close_matches

    return get_close_matches(name, known_secrets(), n=3, cutoff=0.75)


def set_secret(home: Path, name: str, value: str) -> None:
    """Write one secret into `.env` (mode 600).

    Raises `Misconfigured` for a value that no key has, and where the file is invalid or cannot be written.
    """
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        what = "nothing was given" if not value else "it holds characters that no key has"
        raise Misconfigured(f"{name} is not written: {what}.")
    paths = Paths(home)
    read_env_file(paths.env_file)
    ensure_home(paths)
    write_atomically(paths.env_file, with_variable(text_of(paths.env_file) or "", name, value))


def unset_secret(home: Path, name: str) -> bool:
    """Remove one secret from `.env`; whether it was there. Raises `Misconfigured`."""
    paths = Paths(home)
    if name not in read_env_file(paths.env_file):
        return False
    write_atomically(paths.env_file, with_variable(text_of(paths.env_file) or "", name, None))
    return True


def with_variable(text: str, name: str, value: str | None) -> str:
    """The text of a `.env` with that variable set, at its old place if it had one; None: without it."""
    from dotenv.parser import parse_stream

    line = "" if value is None else f"{name}={_quoted(value)}\n"
    parts: list[str] = []
    written = value is None
    for binding in parse_stream(StringIO(text)):
        original = binding.original.string
        if binding.key == name:
            before = original[: len(original) - len(original.lstrip())]
            parts.append(before + ("" if written else line))
            written = True
        else:
            parts.append(original)
    content = "".join(parts)
    if written:
        return content
    return f"{content}\n{line}" if content and not content.endswith("\n") else f"{content}{line}"


def _quoted(value: str) -> str:
    if value and all(char.isalnum() or char in "-_.:/+=~" for char in value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def text_of(path: Path) -> str | None:
    """The text of a file; None where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def write_atomically(path: Path, text: str) -> None:
    """Replace a file so that a crash leaves the old or the new one; links stay links, the mode as it was.

    Raises `Misconfigured` where it cannot be written.
    """
    try:
        write_bytes(path, text.encode(), keep_mode=True)
    except OSError as error:
        raise Misconfigured(f"{path} cannot be written: {error.strerror}.") from error
