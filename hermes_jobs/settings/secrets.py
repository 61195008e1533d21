"""Secrets: their variables, and redaction of their values in all output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_jobs.system.secret_forms import SecretForms

REDACTED = "[REDACTED]"
MAIN_KEY = "OPENAI_API_KEY"
"""The variable that holds the model provider's key."""
SHORTEST_SECRET = 6
"""A shorter value would occur in ordinary words, and is too short for a secret."""

_SECRET_NAME = re.compile(
    r"(^|[_.-])(key|keys|token|pat)$|(apikey|passphrase|password|passwd|secret|secrets|credential|credentials)$"
    r"|[_-](auth|pass|pwd)$"
    r"|otlp(_traces)?_headers$",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(
    r"(?P<before>[a-z][a-z0-9+.-]{0,30}://[^\s/@:]*:)(?P<value>[^\s/]+)(?=@)", re.IGNORECASE
)
_QUERY_PASSWORD = re.compile(
    r"(?P<before>[?&;](?:password|passwd|pwd|sslpassword|token|api_?key|secret)=)(?P<value>[^\s&;#]+)",
    re.IGNORECASE,
)


def looks_secret(name: str) -> bool:
    """Whether a key or variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def login_password(value: str) -> str:
    """The password of `name:password`, such as FLOWER_BASIC_AUTH; empty where there is none."""
    name, _, password = value.strip().partition(":")
    return password if name and not password.startswith("//") else ""


def url_passwords(text: str) -> list[str]:
    """Return the passwords in the URLs of a text, as written and percent-decoded."""
    from urllib.parse import unquote

    written = [
        match["value"] for pattern in (_URL_PASSWORD, _QUERY_PASSWORD) for match in pattern.finditer(text)
    ]
    return [form for value in written for form in dict.fromkeys((value, unquote(value)))]


def hide_url_passwords(text: str) -> str:
    """Return the text with `[REDACTED]` for every password in a URL."""
    for pattern in (_URL_PASSWORD, _QUERY_PASSWORD):
        text = pattern.sub(rf"\g<before>{REDACTED}", text)
    return text


class Secrets:
    """The secrets of this process by variable name; its representation shows the names only."""

    def __init__(
        self, values: Mapping[str, str], unnamed: Iterable[str] = (), *, own: Iterable[str] = ()
    ) -> None:
        """`unnamed` are further values to redact, such as the password of a broker's URL; `own` are the
        variables whose values come from this process's environment, not from the home's `.env`.
        """
        self._values = dict(values)
        self.own = frozenset(own)
        self._unnamed = tuple(unnamed)

    @property
    def api_key(self) -> str | None:
        """The model provider's key, from OPENAI_API_KEY."""
        return self._values.get(MAIN_KEY)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the secrets; child processes must not inherit them."""
        return tuple(sorted(self._values))

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the secrets, for checks of outgoing text."""
        return tuple(self._values.values())

    def get(self, name: str) -> str | None:
        """Return the secret of one variable, such as TELEGRAM_BOT_TOKEN."""
        return self._values.get(name)

    @property
    def fingerprint(self) -> int:
        """Equal for the same values under the same variables, within this process."""
        return hash((frozenset(self._values.items()), self._unnamed, self.own))

    def redact(self, text: str) -> str:
        """Return the text with `[REDACTED]` for secrets (six characters or more) and passwords in URLs."""
        return hide_url_passwords(self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """Return the text with `[REDACTED]` for this process's secrets only, plain and encoded."""
        return self._forms.redact(text, REDACTED) if self._forms else text

    @cached_property
    def _forms(self) -> SecretForms | None:
        values = (*self._values.values(), *self._unnamed)
        long_enough = [value for value in values if len(value) >= SHORTEST_SECRET]
        if not long_enough:
            return None
        from hermes_jobs.system.secret_forms import SecretForms

        return SecretForms(long_enough)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self.names)})"

    def __reduce__(self) -> str:
        raise TypeError("secrets are not serialised")
