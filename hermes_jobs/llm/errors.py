"""What went wrong with a model call, from the status, code and message that providers answer with.

Two tables, read from above: the first rule that fits names the kind; between them stand the limits (see
`limits`). The texts are those of OpenAI, Anthropic, OpenRouter, vLLM, llama.cpp, Ollama, LM Studio, Groq,
Gemini, DeepSeek and Mistral, collected in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from hermes_jobs.domain.usage import NO_USAGE, Usage
from hermes_jobs.engine.ports import ModelError
from hermes_jobs.llm.limits import limit_in
from hermes_jobs.llm.redaction import redacted
from hermes_jobs.llm.retry import LONGEST_WAIT_SECONDS, RETRYABLE, asks_too_long
from hermes_jobs.llm.waits import asked_wait

_LONGEST_MESSAGE = 600
_READ = 8000  # characters of a message in which the words are looked for


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint's answer in place of a reply. Header names in lower case; `status` null inside a stream."""

    message: str
    status: int | None = None
    code: str = ""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class _Rule(msgspec.Struct, frozen=True):
    """Fits when the status is one of these (empty: any) and the words occur (null: none needed)."""

    kind: str
    statuses: frozenset[int] = frozenset()
    words: re.Pattern[str] | None = None

    def fits(self, status: int | None, said: str) -> bool:
        if self.statuses and status not in self.statuses:
            return False
        return self.words is None or self.words.search(said) is not None


def _rule(kind: str, words: str = "", statuses: Iterable[int] = ()) -> _Rule:
    return _Rule(kind, frozenset(statuses), re.compile(words) if words else None)


_FIRST_RULES = (
    _rule("auth", statuses={401}),
    _rule("billing", statuses={402}),
    _rule("payload_too_large", r"request too large.{0,120}tokens per m", {413, 429}),
    _rule("rate_limit", r"retry_?delay|(?:retry|try again) in \d|rate.?limit.?exceeded|tokens per m", {429}),
)
"""Looked at before any limit: what is said of a rate is no limit of the model."""

_RULES = (
    _rule("payload_too_large", statuses={413}),
    _rule("payload_too_large", r"request_too_large|payload too large|request entity too large"),
    _rule(
        "content_policy",
        r"content[_ ](?:policy|filter|management)|safety system|prohibited_content|data_inspection_failed"
        r"|content exists risk|requires moderation|input was flagged|responsibleaipolicy|usage polic",
    ),
    _rule(
        "billing",
        r"insufficient[_ ](?:quota|balance|credit|funds)|exceeded your current quota"
        r"|credit balance is too low|billing|payment required|more credits|out of credits",
    ),
    _rule(
        "auth",
        r"invalid_api_key|incorrect api key|api[ _]key (?:not|is not|is in)?\s?valid|api_key_invalid"
        r"|authentication|invalid x-api-key|unauthorized|user not found|no auth credentials",
    ),
    _rule(
        "model_not_found",
        r"model_not_found|model\b.{0,120}(?:not found|does not exist|not exist|is not found|decommissioned)"
        r"|not a valid model|no endpoints found for|unknown model|invalid model|no such model"
        r"|models/\S+ is not found|no models? loaded",
    ),
    _rule("model_not_found", r"not_found_error.{0,40}model:", {404}),
    _rule(
        "overloaded",
        r"overloaded|server is busy|loading model|at capacity|over capacity|high demand|engine is currently"
        r"|no healthy upstream|model is (?:currently )?loading|server_busy",
    ),
    _rule("overloaded", statuses={503, 529}),
    _rule("rate_limit", statuses={429}),
    _rule("rate_limit", r"rate[_ -]?limit|too many requests|resource_exhausted"),
    _rule("auth", statuses={403}),
    _rule("timeout", statuses={408, 504, 524}),
    _rule("timeout", r"timed out|timeout|deadline exceeded"),
    _rule("server", statuses=range(500, 600)),
    _rule(
        "server",
        r"internal(?:_server)?[_ ]error|server[_ ]error|api_error|provider (?:returned error|disconnected)",
    ),
    _rule("bad_request", statuses=range(400, 500)),
    _rule("bad_request", r"invalid_request|bad request"),
)

HINTS = {
    "auth": "Check OPENAI_API_KEY, and that it belongs to the endpoint of model.base_url.",
    "billing": "The account has no credit left: top it up at the provider, or set another key or model.",
    "rate_limit": "The provider limits how often it may be asked: wait, or use another key or model.",
    "overloaded": "The provider has too much to do: try again later, or with another model.",
    "server": "The provider failed: try again later, or with another model.",
    "timeout": "No answer in time: try again, or raise model.timeout.",
    "context_overflow": (
        "The request exceeds the model's window: start a new session, say less at once, or limit --toolsets."
    ),
    "output_limit": "The answer's limit is larger than the model allows: lower model.max_tokens.",
    "payload_too_large": "The endpoint takes no request so large: start a new session, or say less at once.",
    "model_not_found": "Check the model's name (model.model, -m), and that the endpoint has it.",
    "content_policy": "The provider refuses this content: word it otherwise, or use another model.",
    "bad_request": "The endpoint refuses the request: check model.base_url and model.model.",
    "connection": "Check model.base_url and the network, and that the server runs.",
    "garbage": "Check that model.base_url is the address of the API (often it ends in `/v1`).",
    "unknown": "Try again; if it stays, try another model.",
}
_TEXT_CALLS_HINT = "This model takes no tools in the request: set model.tool_calling to `text`."
_NO_TOOLS = re.compile(r"(?:does not|doesn't|not) support (?:tools|tool use|function)|support tool use")

_REFUSED = frozenset({400, 413, 422})
"""Statuses of a request that is understood and not taken."""
_EXPLAINED = re.compile(
    r"schema|tool_calls?\b|tool_call_id|tool use|thought_?signature|reasoning_content|unsupported|support"
    r"|unrecognized|unknown (?:parameter|field)|must alternate|roles? |image|field required"
)
"""Words of a refusal that is about something else than size."""


def classify(refusal: Refusal, *, secrets: Iterable[str] = (), usage: Usage = NO_USAGE) -> ModelError:
    """The refusal as an error that says what to do about it."""
    said = f"{refusal.code} {refusal.message}"[:_READ].lower()
    wait = asked_wait(refusal.headers, said)
    hint = _TEXT_CALLS_HINT if _NO_TOOLS.search(said) else ""
    kind, limit = ("bad_request", None) if hint else _kind(refusal.status, said)
    status = f"{refusal.status}: " if refusal.status else ""
    message = status + _one_line(refusal.message or refusal.code or "no message")
    error = model_error(
        kind,
        message,
        hint=hint,
        retry_after=wait,
        limit=limit,
        secrets=secrets,
        usage=usage,
    )
    error.unexplained = (
        kind == "bad_request" and refusal.status in _REFUSED and _EXPLAINED.search(said) is None
    )
    return error


def model_error(
    kind: str,
    message: str,
    *,
    hint: str = "",
    retry_after: float | None = None,
    limit: int | None = None,
    secrets: Iterable[str] = (),
    usage: Usage = NO_USAGE,
) -> ModelError:
    """An error of that kind, with the kind's hint and without secrets."""
    hint = hint or HINTS.get(kind, "")
    retryable = kind in RETRYABLE
    if retryable and retry_after is not None and asks_too_long(retry_after):
        longest = f"longer than the {LONGEST_WAIT_SECONDS / 60:.0f} minutes that are waited by itself"
        hint = f"The provider asks to wait {retry_after / 60:.0f} minutes, {longest}. {hint}"
    return ModelError(
        kind,
        redacted(message, secrets)[:_LONGEST_MESSAGE],
        hint=hint,
        retryable=retryable,
        retry_after=retry_after if retryable else None,
        limit=limit,
        usage=usage,
    )


def garbage(
    what: str, excerpt: str = "", *, secrets: Iterable[str] = (), usage: Usage = NO_USAGE
) -> ModelError:
    """An answer that is no usable reply; `what` ends the sentence «The endpoint's answer …»."""
    shown = f": {shortened(excerpt)!r}" if excerpt.strip() else ""
    return model_error("garbage", f"The endpoint's answer {what}{shown}", secrets=secrets, usage=usage)


def refusal_in(
    body: object, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Refusal | None:
    """The refusal that a decoded answer holds, in any of the shapes in use; null where it holds none."""
    if isinstance(body, list) and len(body) == 1:  # Gemini
        body = body[0]
    if not isinstance(body, Mapping):
        return None
    error: Any = body.get("error") or (body if body.get("object") == "error" or "detail" in body else None)
    if not error:
        return None
    if not isinstance(error, Mapping):
        return Refusal(message=str(error), status=status, headers=headers or {})
    code = error.get("code")
    inner = status or (code if isinstance(code, int) and 400 <= code < 600 else None)
    words = (error.get("type"), error.get("status"), code, error.get("param"))
    message = error.get("message") or error.get("detail") or body.get("message") or ""
    return Refusal(
        message=_with_details(str(message), error),
        status=inner,
        code=" ".join(str(word) for word in words if isinstance(word, str | int)),
        headers=headers or {},
    )


def shortened(text: str, limit: int = 160) -> str:
    """The beginning of a text in one line; of an HTML page its title."""
    title = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    line = " ".join((title[1] if title else text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _kind(status: int | None, said: str) -> tuple[str, int | None]:
    """The kind, and the limit in tokens that the refusal names."""
    for rule in _FIRST_RULES:
        if rule.fits(status, said):
            return rule.kind, None
    if (limit := limit_in(said, status)) is not None:
        return limit.kind, limit.tokens
    return next((rule.kind for rule in _RULES if rule.fits(status, said)), "unknown"), None


def _one_line(message: str) -> str:
    return shortened(message, _LONGEST_MESSAGE)


def _with_details(message: str, error: Mapping[str, Any]) -> str:
    """OpenRouter keeps the provider's words in `metadata.raw`, Gemini the wait in `details`; llama.cpp says
    the window in a field of its own."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    details = error.get("details")
    waits = [
        f"retryDelay: {each['retryDelay']}"
        for each in (details if isinstance(details, list) else [])
        if isinstance(each, Mapping) and each.get("retryDelay")
    ]
    window = [f"(n_ctx {error['n_ctx']})"] if isinstance(error.get("n_ctx"), int) else []
    return " ".join([message, *([str(raw)] if raw else []), *waits, *window])
