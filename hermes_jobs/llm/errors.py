"""Classifies errors of model calls by the provider's status, code and message.

Two tables, read from the top: the first rule that matches gives the kind; limits (see `limits`) are checked
between them. The texts are those of OpenAI, Anthropic, OpenRouter, vLLM, llama.cpp, Ollama, LM Studio, Groq,
Gemini, DeepSeek and Mistral, collected in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.llm.adaptation import NO_TOOLS
from hermes_jobs.llm.limits import find_limit
from hermes_jobs.llm.redaction import redact_request
from hermes_jobs.llm.retry import RETRYABLE, is_wait_too_long, retry_after
from hermes_jobs.text.clip import one_line
from hermes_jobs.text.patterns import compile_later

_LONGEST_MESSAGE = 600
_READ = 8000  # characters of a message that are searched


class ApiRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint's error response. Header names in lower case; `status` is None inside a stream.

    `at`: its arrival by this machine's clock, in seconds since the epoch; None if unknown. `generated`: the
    model's text that the endpoint could not accept (Groq); it is not searched for the kind.
    """

    message: str
    status: int | None = None
    code: str = ""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    at: float | None = None
    generated: str = ""


class _Rule(msgspec.Struct, frozen=True):
    """Matches if the status is one of these (empty: any) and the words occur (None: none needed)."""

    kind: str
    statuses: frozenset[int] = frozenset()
    words: re.Pattern[str] | None = None

    def fits(self, status: int | None, text: str) -> bool:
        if self.statuses and status not in self.statuses:
            return False
        return self.words is None or self.words.search(text) is not None


def _any(*patterns: str) -> str:
    return "|".join(patterns)


def _rule(kind: str, words: str = "", statuses: Iterable[int] = ()) -> _Rule:
    return _Rule(kind, frozenset(statuses), compile_later(words) if words else None)


_USAGE_LIMIT = _any(
    r"usage_limit_reached",
    r"usage limits?\b.{0,40}(?:reached|exceeded|hit)",
    r"(?:hit|reached) (?:your|its|the) .{0,40}usage limit",
    r"(?:hit|reached) your limit",
    r"regain access",
    r"(?:hour|session|daily|weekly|day) (?:usage )?limit (?:reached|exceeded)",
    r"limit (?:will )?resets?\b",
    r"使用上限",
)
"""Messages about a used-up quota that resets by itself after hours or days."""

_FIRST_RULES = (
    _rule("billing", r"insufficient_quota|exceeded_current_quota_error", {401, 403}),
    _rule("auth", statuses={401}),
    _rule("billing", statuses={402}),
    _rule("payload_too_large", r"request too large.{0,120}tokens per m", {413, 429}),
    _rule(
        "rate_limit",
        _any(
            r"retry_?delay",
            r"(?:retry|try again)(?: in| after) \d",
            r"rate.?limit.?(?:exceeded|reached)",
            r"(?:tokens|requests) per (?:m|d|h|s)|throttl",
        ),
        {429},
    ),
)
"""Checked before all limits: a rate limit is not a limit of the model."""

_RULES = (
    _rule("payload_too_large", statuses={413}),
    _rule("payload_too_large", r"request_too_large|payload too large|request entity too large"),
    _rule(
        "content_policy",
        _any(
            r"content[_ ](?:polic|filter|management|moderation|violation)",
            r"safety (?:system|polic|filter|reasons)|\bsafety_",
            r"prohibited_content|inappropriate content|content exists risk|guardrail_intervened|cyber_policy",
            r"data_?inspection_?failed|responsibleaipolicy|requires moderation|considered high risk",
            r"(?:input|prompt|content|request|message)\b.{0,30}\bflagged\b",
            r"(?:usage|acceptable use) (?:polic|guideline)",
            r"violat\w* .{0,60}(?:polic|guidelines|terms of (?:use|service))",
            r"blocked by .{0,40}(?:filter|safety)",
            r"new_sensitive|sensitive (?:words|content|information)|敏感",
        ),
    ),
    _rule("rate_limit", _USAGE_LIMIT),
    _rule(
        "billing",
        _any(
            r"insufficient[_ ](?:user_)?(?:quota|balance|credit|funds)",
            r"exceeded (?:your )?current quota|exceeded_current_quota_error",
            r"credit balance is too low|payment required|payment method|purchase (?:more )?credits",
            r"(?:key|spending|spend|credit|budget|monthly|weekly) limit (?:has been )?(?:exceeded|reached)",
            r"(?:reached|exceeded) (?:its|your|the) (?:monthly |configured )?(?:spend\w*|included|cost)",
            r"more credits|out of (?:credits?|extra usage)|have any credits|\bno credits?\b",
            r"(?:usage credits|extra usage) (?:is|are) required|negative (?:credit )?balance",
            r"billing|arrear|account .{0,60}suspended|not in good standing|余额不足|欠费",
        ),
    ),
    _rule(
        "auth",
        _any(
            r"invalid_api_key|api_key_(?:invalid|expired|disabled)|account_deactivated",
            r"(?:incorrect|invalid|expired|missing|malformed|wrong|unknown|disabled|no) api[_ -]?key",
            r"api[_ -]?key\b.{0,40}?(?:valid|invalid|required|missing|expired|revoked|not found)\b",
            r"api[_ -]?key\b.{0,40}?(?:disabled|leaked|blocked)\b",
            r"authenticat|authorization header|invalid x-api-key|unauthori[sz]ed|user not found",
            r"no auth credentials|invalid (?:access |bearer |iam |auth )?token|token (?:has |is )?expired",
            r"(?:organization|account) has been (?:disabled|deactivated)",
        ),
    ),
    _rule(
        "model_not_found",
        _any(
            r"model_not_found|unknown model|invalid model|no such model|not found the model|模型不存在",
            r"model\b.{0,120}(?:not found|does not exist|not exist|decommissioned|deprecated|discontinued)",
            r"model\b.{0,120}(?:been retired|shut down|no longer (?:available|supported))",
            r"not a valid model|model identifier is invalid|unsupported model|model\b.{0,60} not supported",
            r"no endpoints found|no allowed providers|no models? loaded|models/\S+ is not found",
            r"deploymentnotfound|api deployment for this resource does not exist",
            r"not have access to (?:the )?model",
            r"no (?:available )?(?:channel|provider)s? (?:available )?for (?:the )?model",
        ),
    ),
    _rule("model_not_found", r"not_found_error.{0,40}model:", {404}),
    _rule(
        "overloaded",
        _any(
            r"overloaded|server is busy|server_busy|too busy|at capacity|over capacity|high demand",
            r"insufficient capacity|capacity (?:limits? )?exceeded|no instances? available",
            r"engine is currently|no healthy upstream|loading model|model is (?:currently )?loading",
            r"(?:queue|slots?) (?:is|are) (?:full|busy)",
        ),
    ),
    _rule("overloaded", statuses={503, 529}),
    _rule("rate_limit", statuses={429}),
    _rule(
        "rate_limit",
        _any(
            r"rate[_ -]?limit|too many (?:concurrent )?requests|resource_exhausted|throttl|slow down",
            r"request rate increased|limit_burst_rate|concurrency limit|quota exceeded|max rpm",
        ),
    ),
    _rule("auth", statuses={403}),
    _rule("timeout", statuses={408, 504, 524}),
    _rule("timeout", r"timed out|timeout|deadline exceeded"),
    _rule("server", statuses=range(500, 600)),
    _rule(
        "server",
        _any(
            r"internal(?:_server)?[_ ]error|server[_ ]error|api_error",
            r"provider (?:returned error|disconnected)|upstream (?:error|connect|request failed)",
            r"(?:returned|received|got) (?:an )?empty (?:response|content|answer|completion|stream)",
            r"bad gateway|service unavailable|temporarily unavailable|socket hang up",
            r"(?:try|retry)(?: your request)? again (?:later|shortly|soon|in a (?:few|moment|minute|bit))",
            r"error occurred while processing your request|connection (?:reset|error|aborted)",
            r"failed to (?:generate|process) (?:output|your request|the request)",
        ),
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
_RESETS = ("resets_in_seconds", "resets_at", "retry_after")
"""Fields of an error's body with a limit's reset time: ChatGPT's subscriptions, Azure."""
_WRITTEN_WRONG_HINT = "The model writes calls that its endpoint refuses: try again, or with another model."
_TEXT_CALLS_HINT = "This model takes no tools in the request: set model.tool_calling to `text`."
_FAILED_GENERATION = compile_later(
    r"tool_use_failed|output_parse_failed|json_validate_failed|failed to call a function"
    r"|tool call validation failed|error parsing tool call|failed to parse (?:the )?tool call"
)
"""Groq (https://console.groq.com/docs/tool-use) and Ollama: about one generation, not about the request."""
_QUOTED_NAMES = compile_later(
    r"`[^`]{0,200}`|'/?[\w.\[\]/-]{1,60}'|(?<![\w.:/])/\w[\w/]*|\b(?:parameter|field) \w+"
)
"""Names of parameters in refusals of a request: they are no words about the refusal."""

_REFUSED = frozenset({400, 413, 422})
"""Statuses of a well-formed request that is rejected."""
_EXPLAINED = compile_later(
    r"schema|tool_calls?\b|tool_call_id|tool use|thought_?signature|reasoning_content|unsupported|support"
    r"|unrecognized|unknown (?:parameter|field)|must alternate|roles? |image|field required"
)
"""Words of refusals about something else than size."""


def classify(refusal: ApiRefusal, *, secrets: Iterable[str] = (), usage: Usage = NO_USAGE) -> ModelError:
    """The refusal as an error with kind and hint."""
    text = f"{refusal.code} {refusal.message}"[:_READ]
    lowered = text.lower()
    wait = retry_after(refusal.headers, text, refusal.at)
    hint = _TEXT_CALLS_HINT if NO_TOOLS.search(lowered) else ""
    if is_failed_generation(refusal):
        kind, limit, hint = "garbage", None, _WRITTEN_WRONG_HINT
    else:
        kind, limit = ("bad_request", None) if hint else _kind(refusal.status, lowered)
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
        kind == "bad_request" and refusal.status in _REFUSED and _EXPLAINED.search(lowered) is None
    )
    return error


def is_failed_generation(refusal: ApiRefusal) -> bool:
    """Whether the endpoint refuses what the model wrote this time: the request itself is right."""
    return _FAILED_GENERATION.search(f"{refusal.code} {refusal.message}"[:_READ].lower()) is not None


def model_error(  # noqa: PLR0913 - the fields of an error
    kind: str,
    message: str,
    *,
    hint: str = "",
    retry_after: float | None = None,
    limit: int | None = None,
    lasting: bool = False,
    secrets: Iterable[str] = (),
    usage: Usage = NO_USAGE,
) -> ModelError:
    """An error of that kind, with the kind's hint and without secrets. `lasting`: a retry would fail too."""
    hint = hint or HINTS.get(kind, "")
    retryable = kind in RETRYABLE and not lasting
    if retryable and retry_after is not None and is_wait_too_long(retry_after):
        hint = f"The provider asks to wait {retry_after / 60:.0f} minutes. {hint}"
    return ModelError(
        kind,
        redact_request(message, secrets)[:_LONGEST_MESSAGE],
        hint=hint,
        retryable=retryable,
        retry_after=retry_after if retryable else None,
        limit=limit,
        usage=usage,
    )


def unreadable_answer(
    what: str, excerpt: str = "", *, secrets: Iterable[str] = (), usage: Usage = NO_USAGE
) -> ModelError:
    """The error for an unusable answer; `what` completes the sentence "The endpoint's answer …"."""
    shown_excerpt = f": {shortened(excerpt)!r}" if excerpt.strip() else ""
    return model_error(
        "garbage", f"The endpoint's answer {what}{shown_excerpt}", secrets=secrets, usage=usage
    )


def parse_refusal(
    body: object, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> ApiRefusal | None:
    """The refusal in a decoded answer, in any known shape; None if it holds none."""
    if isinstance(body, list) and len(body) == 1:  # Gemini
        body = body[0]
    if not isinstance(body, Mapping):
        return None
    is_bare = status is not None and isinstance(body.get("message"), str)  # Cohere, Bedrock, Cerebras
    is_whole = is_bare or body.get("object") == "error" or "detail" in body
    error: Any = body.get("error") or (body if is_whole else None)
    if not error:
        return None
    if not isinstance(error, Mapping):  # xAI: {"code": …, "error": "…"}
        code = body.get("code")
        code_text = str(code) if isinstance(code, str | int) and not isinstance(code, bool) else ""
        return ApiRefusal(message=str(error), status=status, code=code_text, headers=headers or {})
    code = error.get("code")
    inner = status or (code if isinstance(code, int) and 400 <= code < 600 else None)
    words = (error.get("type"), error.get("status"), code, error.get("param"))
    message = error.get("message") or error.get("detail") or body.get("message") or ""
    return ApiRefusal(
        message=_with_details(str(message), error),
        status=inner,
        code=" ".join(str(word) for word in words if isinstance(word, str | int)),
        headers={**_headers_in_error(error), **(headers or {})},
        generated=str(error.get("failed_generation") or ""),
    )


def shortened(text: str, limit: int = 160) -> str:
    """The beginning of a text in one line; of an HTML page its title."""
    title = re.search(r"<title>(.{0,1000}?)</title>", text, re.IGNORECASE | re.DOTALL)
    return one_line(title[1] if title else text, limit)


def _kind(status: int | None, text: str) -> tuple[str, int | None]:
    """The kind, and the limit in tokens if the refusal names it."""
    for rule in _FIRST_RULES:
        if rule.fits(status, text):
            return rule.kind, None
    if (limit := find_limit(text, status)) is not None:
        return limit.kind, limit.tokens
    if status in {400, 422}:
        text = _QUOTED_NAMES.sub("", text)
    return next((rule.kind for rule in _RULES if rule.fits(status, text)), "unknown"), None


def _one_line(message: str) -> str:
    return shortened(message, _LONGEST_MESSAGE)


def _with_details(message: str, error: Mapping[str, Any]) -> str:
    """The message with further details: the provider's message in `metadata.raw` (OpenRouter), the wait in
    `details` (Gemini), the window in its own field (llama.cpp).
    """
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    details = error.get("details")
    delays = [
        f"retryDelay: {detail['retryDelay']}"
        for detail in (details if isinstance(details, list) else [])
        if isinstance(detail, Mapping) and detail.get("retryDelay")
    ]
    delays += [
        f"({name}: {error[name]})" for name in _RESETS if isinstance(error.get(name), int | float | str)
    ]
    window = [f"(n_ctx {error['n_ctx']})"] if isinstance(error.get("n_ctx"), int) else []
    return " ".join([message, *([str(raw)] if raw else []), *delays, *window])


def _headers_in_error(error: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a limit, which OpenRouter repeats in `metadata.headers`."""
    metadata = error.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, Mapping) else None
    pairs = headers.items() if isinstance(headers, Mapping) else ()
    return {str(name).lower(): str(value) for name, value in pairs}
