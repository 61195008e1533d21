"""Lists an endpoint's models with window and price, or diagnoses the address; explains failures of calls by
that list: a mistyped model, a wrong address.

Every known API lists its models at `/models`; only Anthropic's needs its own headers
(https://docs.anthropic.com/en/api/models-list). Windows and prices are read in the forms of OpenRouter,
Together, Groq, Mistral, vLLM, llama.cpp, LM Studio and Anthropic. Listing does not raise for an endpoint's
answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date
from typing import Any, Literal, Protocol

import httpx2
import msgspec

from hermes_jobs.kernel.engine.ports import Cancel, Model, ModelError, ModelRequest, Reply
from hermes_jobs.llm.errors import shortened
from hermes_jobs.llm.price import Price
from hermes_jobs.llm.providers import Api
from hermes_jobs.llm.redaction import redact_request
from hermes_jobs.llm.transport import Address, http_options

SECONDS = 10.0
ANTHROPIC_VERSION = "2023-06-01"
_MILLION = 1_000_000

Trouble = Literal["auth", "connection", "page", "other_api", "address", "unlisted"]


class Offered(msgspec.Struct, frozen=True):
    """A model in an endpoint's list; `window` in tokens, `ends` the day of its end. None: unknown."""

    name: str
    window: int | None = None
    price: Price | None = None
    ends: date | None = None


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint's models, or `problem` and a hint.

    `trouble`: the key was refused; the endpoint is unreachable; a web page; another kind of API; an API at
    another address (`better_url`); probably an API, without a list of models.
    """

    models: tuple[Offered, ...] = ()
    trouble: Trouble | None = None
    problem: str = ""
    hint: str = ""
    better_url: str | None = None

    def find(self, name: str) -> Offered | None:
        """The model of that name; Gemini lists `models/NAME`, and local servers
        accept names without a tag.
        """
        fitting = (
            offered for offered in self.models if name in {offered.name, offered.name.removeprefix("models/")}
        )
        tagged = (offered for offered in self.models if offered.name == f"{name}:latest")
        return next(fitting, next(tagged, None))

    def nearest(self, name: str, n: int = 3) -> list[str]:
        """The listed names most similar to that one."""
        from difflib import get_close_matches

        short = {offered.name.rpartition("/")[2].lower(): offered.name for offered in reversed(self.models)}
        by_end = get_close_matches(name.rpartition("/")[2].lower(), short, n=n, cutoff=0.4)
        return [short[name] for name in by_end]


def listing(base_url: str, key: str | None, api: Api = "openai", *, seconds: float = SECONDS) -> Listing:
    """Request the endpoint's models, with a timeout of `seconds` per request."""
    url = base_url.rstrip("/")
    try:
        options = http_options(url)
    except ModelError as error:
        return Listing(trouble="connection", problem=error.message, hint=error.hint)
    with httpx2.Client(timeout=seconds, follow_redirects=False, **options) as client:
        path = "/v1/models" if api == "anthropic" else "/models"
        response = _request(client, Address.of(url).joined(path), key, api)
        if isinstance(response, Listing):
            return response
        return _diagnosis(client, url, key, api, response)


def _request(client: httpx2.Client, url: str, key: str | None, api: Api) -> Listing | httpx2.Response:
    """The models listed there; the response itself if it is not a list."""
    headers = {"authorization": f"Bearer {key}", **Address.of(url).headers(key)} if key else {}
    if api == "anthropic":
        headers = {"x-api-key": key or "", "anthropic-version": ANTHROPIC_VERSION}
    try:
        answer = client.get(url, headers=headers)
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
        reason = redact_request(shortened(str(error) or type(error).__name__), (key or "",))
        hint = "Check model.base_url and the network, and that the server runs."
        return Listing(trouble="connection", problem=f"{url} cannot be reached: {reason}", hint=hint)
    body = _json(answer)
    items = _items(body) if answer.is_success else None
    if items is None:
        return answer
    if _is_anthropic(items) != (api == "anthropic") and items:
        return _other_api("anthropic" if api == "openai" else "openai", url)
    return Listing(models=tuple(filter(None, map(_offered, items))))


def _diagnosis(
    client: httpx2.Client, url: str, key: str | None, api: Api, answer: httpx2.Response
) -> Listing:
    """The diagnosis of an address whose response is not a list."""
    address, body = str(answer.request.url), _json(answer)
    if answer.status_code in {401, 403}:
        message = redact_request(_message(body) or shortened(answer.text), (key or "",))
        problem = "refuses the key" if key else "wants a key"
        return Listing(trouble="auth", problem=f"{address} {problem} ({answer.status_code}: {message})")
    if api == "openai" and _has_anthropic_error(body):
        return _other_api("anthropic", url)
    if api == "openai" and (better := _better_address(client, url, key)) is not None:
        return better
    if "html" in answer.headers.get("content-type", "") or answer.text.lstrip()[:1] == "<":
        title = shortened(answer.text, 60)
        hint = "model.base_url is the address of the API, not of the website; often it ends in /v1."
        return Listing(
            trouble="page", problem=f"{address} answers a web page ({title!r}), not an API.", hint=hint
        )
    message = redact_request(_message(body) or shortened(answer.text, 80), (key or "",))
    text = f"{address} lists no models ({answer.status_code}: {message})."
    return Listing(trouble="unlisted", problem=text, hint="Check model.base_url; often it ends in /v1.")


def _better_address(client: httpx2.Client, url: str, key: str | None) -> Listing | None:
    """The API at an address with a missing or an extra path segment."""
    if Address.of(url).query:
        return None
    shorter = re.sub(r"/(?:chat/completions|completions|responses|messages|models)$", "", url)
    candidates = [shorter] if shorter != url else [f"{url}/v1", f"{url}/api/v1", f"{url}/openai"]
    for candidate in candidates:
        response = _request(client, f"{candidate}/models", key, "openai")
        if isinstance(response, Listing) and (response.models or response.trouble == "other_api"):
            if response.trouble == "other_api":
                return response
            problem = f"There is no API at {url}, but there is one at {candidate}."
            hint = f"Set model.base_url to {candidate}"
            return Listing(trouble="address", problem=problem, hint=hint, better_url=candidate)
    return None


def _other_api(api: Api, url: str) -> Listing:
    text = "Anthropic's Messages API" if api == "anthropic" else "OpenAI's API"
    to_set = "anthropic" if api == "anthropic" else "custom"
    hint = f"Set model.provider to {to_set}: hermes-jobs config set model.provider {to_set}"
    return Listing(trouble="other_api", problem=f"{url} speaks {text}.", hint=hint)


def _json(answer: httpx2.Response) -> Any:
    try:
        return json.loads(answer.content)
    except ValueError:
        return None


def _items(body: Any) -> list[Mapping[str, Any]] | None:
    """The listed models: under `data`, under `models` (Ollama, Gemini), or a top-level list (Together)."""
    if isinstance(body, Mapping):
        body = body.get("data", body.get("models"))
    if not isinstance(body, list):
        return None
    return [entry for entry in body if isinstance(entry, Mapping)]


def _is_anthropic(items: Iterable[Mapping[str, Any]]) -> bool:
    return any(item.get("type") == "model" and "display_name" in item for item in items)


def _has_anthropic_error(body: Any) -> bool:
    error = body.get("error") if isinstance(body, Mapping) and body.get("type") == "error" else None
    return isinstance(error, Mapping) and isinstance(error.get("type"), str)


def _message(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    message = error.get("message", error.get("detail")) if isinstance(error, Mapping) else error
    return shortened(message) if isinstance(message, str) else ""


_WINDOWS = (
    "context_length",
    "context_window",
    "max_context_length",
    "max_model_len",
    "max_input_tokens",
    "loaded_context_length",
)


def _offered(item: Mapping[str, Any]) -> Offered | None:
    name = item.get("id") or item.get("name")
    if not isinstance(name, str):
        return None
    meta = item.get("meta")
    sizes = [item.get(field) for field in _WINDOWS]
    if isinstance(meta, Mapping):  # llama.cpp: the running window, else the trained one
        sizes += [meta.get("n_ctx"), meta.get("n_ctx_train")]
    window = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    return Offered(name, window, _price(item.get("pricing")), _end(item))


_ENDS = ("shutdown_date", "expiration_date", "deprecation")
"""OpenAI (https://developers.openai.com/api/docs/deprecations), OpenRouter, Mistral."""


def _end(item: Mapping[str, Any]) -> date | None:
    for field in _ENDS:
        with suppress(ValueError):
            return date.fromisoformat(str(item.get(field) or "")[:10])
    return None


def _price(pricing: Any) -> Price | None:
    """The price: US dollars per token as text (OpenRouter), or per million tokens as numbers (Together)."""
    if not isinstance(pricing, Mapping):
        return None
    if "prompt" in pricing:
        names, scale = ("prompt", "completion", "input_cache_read", "input_cache_write"), _MILLION
    else:
        names, scale = ("input", "output", "cached_input", "cache_write"), 1
    paid, output, cache_read, cache_write = (_amount(pricing.get(name), scale) for name in names)
    return None if paid is None or output is None else Price(paid, output, cache_read, cache_write)


def _amount(value: Any, scale: int) -> float | None:
    try:
        amount = round(float(value) * scale, 9)
    except (TypeError, ValueError):
        return None
    return amount if 0 <= amount < float("inf") else None


_AT_THE_ADDRESS = {"page", "address", "other_api"}


class Client(Model, Protocol):
    """A model with its own connections."""

    def served_window(self, model: str) -> int | None:
        """Ask the server for the model's window, in tokens; None where it is not asked, or does not say."""

    def close(self) -> None:
        """Close the connections."""


class DiagnosingModel:
    """A model that requests the endpoint's model list after certain failures, and adds the finding to the
    error.

    `list_models` requests the list; successful calls do not.
    """

    def __init__(self, model: Client, list_models: Callable[[], Listing]) -> None:
        self._model = model
        self._look = list_models

    def close(self) -> None:
        """Close the model's connections."""
        self._model.close()

    def served_window(self, model: str) -> int | None:
        """See `Client.served_window`."""
        return self._model.served_window(model)

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`."""
        try:
            return self._model.reply(request, cancel, on_text)
        except ModelError as error:
            if not _is_puzzling(error):
                raise
            raise _explained(error, request.model, self._look()) from error


def _is_puzzling(error: ModelError) -> bool:
    """Whether the model, or the whole API, may not exist there."""
    no_api = error.kind == "garbage" and not error.usage.total_tokens
    return error.kind == "model_not_found" or no_api or error.message.startswith(("404", "405"))


def _explained(error: ModelError, model: str, listing: Listing) -> ModelError:
    if listing.trouble in _AT_THE_ADDRESS:
        return ModelError("bad_request", listing.problem, hint=listing.hint)
    if error.kind != "model_not_found" or not listing.models or listing.find(model) is not None:
        return error
    near = listing.nearest(model)
    nearest = f"The nearest that it offers: {', '.join(near)}." if near else "It offers nothing like it."
    hint = "`hermes-jobs models list` shows all."
    sentence = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
    return ModelError(error.kind, f"{sentence} {nearest}", hint=hint)
