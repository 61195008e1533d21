"""The limits that refusals name: the model's window, or how long an answer may be. Tokens.

The texts are those of OpenAI, Anthropic, OpenRouter, vLLM, llama.cpp, LM Studio, MLX, Mistral, Groq, Gemini
and DeepSeek; numbers with commas or a `k`. All functions take the text in lower case.
"""

from __future__ import annotations

import re

import msgspec

from hermes_jobs.engine.purse import SHORTEST_ANSWER

_NUMBER = r"(\d[\d,]*(?:\.\d+)?\s?k?)\b"
_WINDOW_FIRST = re.compile(
    rf"(?:maximum )?context (?:length|window|size)\D{{0,40}}{_NUMBER} tokens?.{{0,80}}?"
    rf"requested (?:about )?{_NUMBER} tokens \({_NUMBER} (?:in|of)"
    rf"(?:[^()]*?\b{_NUMBER} (?:in the completion|in the output))?",
    re.DOTALL,
)
"""OpenAI, vLLM, OpenRouter: «… length is 4097 tokens. … you requested 5000 tokens (900 in the messages, 100
in the functions, and 4000 in the completion)». What is no answer is prompt, tools as well."""

_OUTPUT_FIRST = re.compile(
    rf"context length is {_NUMBER} tokens.{{0,60}}requested {_NUMBER} output tokens"
    rf".{{0,60}}?{_NUMBER} input tokens",
    re.DOTALL,
)
"""vLLM: «… length is 4096 tokens. … you requested 100 output tokens and your … 4000 input tokens»."""

_SUM = re.compile(
    rf"input length and .?max_tokens.? exceed context limit: {_NUMBER} \+ {_NUMBER} > {_NUMBER}"
)
"""Anthropic: «input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000»."""

_TOO_LARGE = re.compile(
    rf"max_(?:completion_)?tokens.{{0,10}} is too large: {_NUMBER}.{{0,80}}context length is {_NUMBER} tokens"
    rf".{{0,60}}request has {_NUMBER} input tokens",
    re.DOTALL,
)
"""vLLM: «'max_tokens' … is too large: 5000. … context length is 4096 tokens … 17 input tokens»."""

_WINDOWS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"n_ctx\W{{1,4}}{_NUMBER}",
        rf"tokens > {_NUMBER} maximum",
        rf"tokens exceed the configured limit of {_NUMBER}",
        rf"maximum number of tokens allowed \(?{_NUMBER}",
        rf"maximum model length (?:of|is) {_NUMBER}",
        rf"{_NUMBER} (?:tokens? )?(?:maximum context length|context (?:window|length|size|limit))",
        rf"context (?:length|window|size|limit)(?: of(?: only)?| is|:)? ?\(?{_NUMBER}",
        rf"maximum (?:prompt|input|context) (?:length|size)(?: of| is|:)? ?\(?{_NUMBER}",
    )
)
_OUTPUTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"at most {_NUMBER} (?:completion|output) tokens",
        rf"> {_NUMBER}, which is the maximum",
        rf"(?:less than or equal to|at most|<=) [`'\"]?{_NUMBER}",
        rf"range of max_tokens is \[\d+, ?{_NUMBER}\]",
        rf"maximum (?:allowed )?(?:number of )?output tokens (?:is|of|:) ?{_NUMBER}",
    )
)
_BELOW = re.compile(rf"range is from \d+ \(inclusive\) to {_NUMBER} \(exclusive\)")
"""Gemini: «the supported range is from 1 (inclusive) to 65537 (exclusive)»."""


class Shares(msgspec.Struct, frozen=True):
    """A window, and how much of it the prompt takes."""

    window: int
    prompt: int

    @property
    def kind(self) -> str:
        """Which kind of error it is: the prompt leaves no room for an answer, or only for a shorter one."""
        return "output_limit" if self.prompt + SHORTEST_ANSWER <= self.window else "context_overflow"


def shares(said: str) -> Shares | None:
    """Window and prompt, where a refusal names both."""
    if found := _WINDOW_FIRST.search(said):
        asked, answer = _value(found[2]), found[4]
        return Shares(_value(found[1]), asked - _value(answer) if answer else _value(found[3]))
    if found := _OUTPUT_FIRST.search(said):
        return Shares(_value(found[1]), _value(found[3]))
    if found := _SUM.search(said):
        return Shares(_value(found[3]), _value(found[1]))
    if found := _TOO_LARGE.search(said):
        return Shares(_value(found[2]), _value(found[3]))
    return None


def named_limit(kind: str, said: str) -> int | None:
    """For `context_overflow` the window, for `output_limit` the longest answer; null where none is named."""
    if kind == "context_overflow":
        both = shares(said)
        return both.window if both is not None else _first(_WINDOWS, said)
    return _longest_answer(said) if kind == "output_limit" else None


def _longest_answer(said: str) -> int | None:
    both = shares(said)
    if both is not None:
        return both.window - both.prompt
    below = _BELOW.search(said)
    return _value(below[1]) - 1 if below else _first(_OUTPUTS, said)


def _first(patterns: tuple[re.Pattern[str], ...], said: str) -> int | None:
    found = (match for pattern in patterns if (match := pattern.search(said)))
    match = next(found, None)
    return (_value(match[1]) or None) if match else None


def _value(number: str) -> int:
    """A `k` counts as 1,000: of the two readings the one that fits for certain."""
    digits = number.replace(",", "").strip()
    return int(float(digits.rstrip("k ")) * (1000 if digits.endswith("k") else 1))
