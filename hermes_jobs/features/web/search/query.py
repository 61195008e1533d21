"""Requests to search providers and their responses, common to all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.system.struct_types import described

Age = Literal["day", "week", "month", "year"]
AGE_DAYS: Mapping[Age, int] = {"day": 1, "week": 7, "month": 31, "year": 366}

FailureKind = Literal["auth", "quota", "rate", "query", "unavailable", "unreachable", "format"]
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
MAX_MESSAGE_CHARS = 200

T = TypeVar("T")


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A search. `limit`: results at most; `site`: the domain of results; `today` for ages."""

    text: str
    today: date
    limit: int = 8
    newer_than: Age | None = None
    site: str = ""

    @property
    def with_operator(self) -> str:
        """The text for an engine that reads `site:` in it."""
        return f"{self.text} site:{self.site}" if self.site else self.text


class Hit(msgspec.Struct, frozen=True):
    """One result from its provider: untrusted text. `published` is empty if unknown."""

    title: str
    url: str
    snippet: str = ""
    published: str = ""


class SearchResults(msgspec.Struct, frozen=True):
    """The results, best first. `note` is the provider's remark, such as failed engines."""

    hits: tuple[Hit, ...]
    note: str = ""


class SearchFailed(Exception):
    """A search without a result list. `seconds`: the delay of a retry, if the provider gives one."""

    def __init__(
        self, kind: FailureKind, message: str, *, hint: str = "", seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.seconds = seconds


class WebSearcher(Protocol):
    """A configured search provider."""

    @property
    def title(self) -> str:
        """Its name for users."""

    def search(self, query: SearchQuery, cancel: Cancel) -> SearchResults:
        """The results. Raises `SearchFailed`, `StepInterrupted`."""


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a provider's API, by its path. With `body` it is a POST of that as JSON, else a GET."""

    path: str
    headers: Mapping[str, str] = {}
    params: Mapping[str, str] = {}
    body: Mapping[str, Any] | None = None


class SearchRefusal(msgspec.Struct, frozen=True):
    """Why an API returned no results: the kind, and its own message."""

    kind: FailureKind
    message: str = ""


class SearchApi(Protocol):
    """The protocol of one provider: values in, values out, no I/O."""

    def request(self, query: SearchQuery) -> HttpRequest:
        """The request. Raises `SearchFailed` for a query that the provider refuses."""

    def parse_results(self, body: bytes) -> SearchResults:
        """The results in a successful answer. Raises `msgspec.DecodeError`."""

    def refusal(self, status: int, body: bytes) -> SearchRefusal:
        """The meaning of a response with another status than 2xx."""


def kind_of(status: int) -> FailureKind:
    """The default meaning of a status."""
    if status in {401, 403}:
        return "auth"
    if status == 402:
        return "quota"
    if status == 429:
        return "rate"
    return "query" if status in {400, 414, 422} else "unavailable"


def decoded_or(body: bytes, kind: type[T], otherwise: T) -> T:
    """The JSON body as that type; `otherwise` if it is not, as with a web page."""
    try:
        return msgspec.json.decode(body, type=described(kind))
    except msgspec.DecodeError:
        return otherwise


def one_line(text: str | None, limit: int) -> str:
    """Untrusted text on one line, without invisible characters, cut to a number of characters."""
    line = " ".join(_HIDDEN.sub(" ", text or "").split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
