"""Limits in refusals: the model's window, or the length of an answer. Tokens.

The texts are those of OpenAI, Azure, Anthropic, Bedrock, OpenRouter, vLLM, SGLang, TGI, Together, Fireworks,
llama.cpp, LM Studio, Ollama, MLX, Mistral, Groq, Cerebras, Cohere, Gemini, DeepSeek, Kimi, Qwen, GLM, xAI and
Copilot, as published in their source or in public issues; the tests hold each of them. Numbers may have
commas, a fraction or a `k`. All functions take the text in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from hermes_jobs.kernel.engine.budget_guard import SHORTEST_ANSWER as LEAST_ANSWER
from hermes_jobs.kernel.streams.context_windows import LEAST_WINDOW
from hermes_jobs.text.patterns import compile_later

LimitKind = Literal["context_overflow", "output_limit"]


class NamedLimit(msgspec.Struct, frozen=True):
    """The limit in a refusal. `tokens`: the window for `context_overflow`, the longest answer for
    `output_limit`; None if the refusal has no number.
    """

    kind: LimitKind
    tokens: int | None = None


_N = r"\d[\d,]{0,14}(?:\.\d+)?\s?k?\b"
_NUMBER = compile_later(rf"(?<![\w-])(?<!\w\.){_N}(?!\.\d)", re.ASCII)  # so that `共2600个` holds a number
_ANSWER = (
    r"(?:max[_ ]?(?:(?:completion|output|new)[_ ]?)?tokens(?:_to_sample)?"
    r"|max(?:imum)? (?:output|completion) length)"
)
"""The parameter for an answer's length, in all spellings."""


def _pattern(text: str) -> re.Pattern[str]:
    """`{name}` is a number with a group, `{_}` one without, `{ANSWER}` the parameter's name."""
    text = text.replace("{ANSWER}", _ANSWER).replace("{_}", f"(?:{_N})")
    text = re.sub(r"\{([a-z]+)\}", lambda name: f"(?P<{name[1]}>{_N})", text)
    return compile_later(text, re.DOTALL | re.ASCII)


_SHARES = tuple(
    _pattern(text)
    for text in (
        # OpenAI, DeepSeek, vLLM, OpenRouter, SGLang: everything asked for, and its parts. What is not answer
        # is prompt, tools as well.
        r"context (?:length|window|size)\D{0,40}{window} tokens?.{0,80}?requested (?:about |a total of )?"
        r"{total} tokens:? \(?{prompt} (?:tokens )?(?:in|of|from)\b"
        r"(?:[^()]*?\b{answer} (?:tokens )?(?:in|for) (?:the )?(?:completion|output))?",
        # vLLM
        r"context length is {window} tokens.{0,60}requested {_} output tokens.{0,60}?{prompt} input tokens",
        r"passed {prompt} input tokens and requested {_} output tokens.{0,60}context length is only {window}",
        r"{ANSWER}.{0,10} is too large: {_}.{0,80}context length is {window} tokens.{0,60}"
        r"request has {prompt} input tokens",
        r"context length is {window} tokens.{0,40}request has {prompt} input tokens",
        # Anthropic, also at Bedrock
        r"input length and .?{ANSWER}.? exceed context limit: {prompt} \+ {_} > {window}",
        r"context_window: {window} - input_tokens: {prompt}",
        # TGI, Together
        r"inputs.? tokens \+ .?{ANSWER}.? must be <= {window}\.? given: {prompt}",
    )
)
_LONGEST = tuple(
    _pattern(text)
    for text in (
        r"at most {longest} (?:completion|output) tokens",
        r"> {longest}, which is the maximum",
        r"{ANSWER}\W{1,4}{_} > {longest}",
        r"{ANSWER}.{0,30}(?:lower|less|smaller) than {longest}",
        r"range of {ANSWER} (?:is|should be) \[{_}, ?{longest}\]",
        r"{ANSWER}.{0,60}\[{_}, ?{longest}\]",
        r"{ANSWER}.{0,60}\bfrom {_} (?:\(inclusive\) )?to {longest}(?! \(exclusive)",
        r"{ANSWER}\W.{0,80}?(?:less than or equal to|at most|<=|up to|above|beyond|not exceed"
        r"|no (?:more|greater) than|between {_} and"
        r"|(?:maximum|limit|maximum value|maximum limit|for this model)(?: is| of|:)) ?[`'\"(]?{longest}",
        r"maximum tokens you requested exceeds the model limit of {longest}",
        r"maximum (?:allowed )?(?:number of )?(?:output|completion) tokens (?:is|of|:|\() ?{longest}",
        r"reduce {ANSWER} to {longest}",
        r"{ANSWER}.{0,20}(?:最大值|最大不能超过|上限)\D{0,6}{longest}",
        r"(?:output|completion) tokens.{0,40}\b(?:allows|supports|accepts)(?: at most| up to| only)?"
        r" {longest}",
        r"(?:output|completion) tokens?.{0,40}(?:exceeds?|limit of|limit is|maximum of) {longest}",
    )
)
_BELOW = _pattern(r"{ANSWER}.{0,60}range is from {_} \(inclusive\) to {above} \(exclusive\)")
"""Gemini: the first number too large."""
_ANSWER_WORDS = _pattern(
    r"{ANSWER}(?![a-z_]).{0,50}?(?:too (?:large|high|big)|must not|should be|cannot be|exceed|range|<="
    r"|at most"
    r"|(?:must|should) be in the range|ensure this value is less|for this model is \d"
    r"|(?:must|to) be (?:<|less|at most|between|no |lower|smaller|below)|no more than|{_} > \d"
    r"|(?:greater|larger|higher) than (?!0)"
    r"|参数非法|超过最大值|above|maximum|limit|model max)"
    r"|range of {ANSWER}|maximum tokens you requested|(?:limit|maximum)\W{1,3}(?:for|of|on) {ANSWER}"
    r"|{_} (?:output|completion) tokens.{0,30}\b(?:allows|supports|accepts)"
    r"|supports (?:at most|up to|only) {_} (?:output|completion) tokens"
    r"|(?:requested|number of) (?:output|completion) tokens.{0,40}(?:exceed|greater|larger|more than)"
)
_ONLY_ONE_SIDE = _pattern(r"(?:input|prompt).{0,20}(?:and|plus|\+) .?{ANSWER}")
"""A sum of prompt and answer: such a text is not about the answer only."""

_WINDOWS = tuple(
    _pattern(text)
    for text in (
        r"n_ctx\W{1,4}{window}",
        r"context length: {_} > {window}",
        r"only supports up to {window}",
        r"tokens,? the limit is {window} tokens",
        r"max_model_len\w*\W{1,4}(?:of |is )?{window}",
        r"tokens > {window} maximum",
        r"tokens exceed the configured limit of {window}",
        r"maximum number of (?:input )?tokens allowed \(?{window}",
        r"maximum (?:model|allowed input|prompt|input|context) (?:length|size|tokens)(?: of| is|:)? ?"
        r"\(?{window}",
        r"max(?:imum)? input tokens(?: of| is|:)? ?\(?{window}",
        r"{window} (?:tokens? )?(?:maximum context length|context (?:window|length|size|limit))",
        r"model token limit: ?{window}",
        r"token count of {_} exceeds the limit of {window}",
        r"range of input length should be \[{_}, ?{window}\]",
        r"current length is {_} while limit is {window}",
        r"cannot exceed {window} - received",
        r"must have less than {window} tokens",
        r"max(?:imum)? size\W{1,3}{window} tokens",
        r"(?:larger|longer|greater) than (?:the )?(?:model'?s? )?(?:limit|window|maximum|max)"
        r"\D{0,20}{window}",
        r"(?:supports a context|shorten it to (?:below|under|less than)|accepts(?: at most| up to)?)"
        r"\D{0,20}{window}",
        r"(?:上下文(?:长度|窗口)|最大长度|コンテキスト(?:長|ウィンドウ)|longueur de contexte"
        r"|kontext(?:länge|fenster)|longitud de contexto)\D{0,20}{window}",
        r"input tokens over the limit of {window}",
        r"context (?:length|window|size|limit)(?: of(?: only)?| is(?: only)?|:)? ?\(?{window}",
    )
)
_WINDOW_WORDS = compile_later(
    r"context_length_exceeded|context length exceeded|exceed_context_size|context(?: the)? overflow"
    r"|model_context_window_exceeded|max_prompt_tokens_exceeded|max_model_len|model token limit"
    r"|maximum (?:context|prompt|input|model) length|maximum context size|max(?:imum)? context length"
    r"|exceeds? (?:the )?(?:available |model'?s )?context|exceed(?:s|ed)? (?:the )?(?:maximum )?context"
    r"|(?:prompt|input|request|conversation) (?:is )?too long|(?:prompt|input) length exceeds"
    r"|input length .{0,40}exceeds|prompt exceeds max length|range of input length"
    r"|token count.{0,60}exceeds|too many (?:input |prompt )?tokens(?!: max tokens)"
    r"|more than max tokens allowed|context window"
    r"|(?:greater|longer|larger) than the (?:maximum |model'?s )?(?:context|maximum model length)"
    r"|reduce the length of (?:the |your )?(?:messages|prompt|input)|maximum number of (?:input )?tokens"
    r"|must have less than .{0,12}tokens|current length is .{0,12}while limit is"
    r"|number of tokens .{0,60}(?:cannot exceed|exceeds)|input tokens over the limit"
    r"|configured context size|must be at least 1, got -\d"  # the rest for an answer is below zero
    r"|(?:sequence|total) length .{0,60}(?:larger|longer|greater) than|tokens_limit_reached"
    r"|max size\W{1,3}\d[\d,]* tokens"
    r"|context size has been exceeded|input token count is \d|total tokens .{0,20}(?:above|over|exceed)"
    r"|prompt has \d[\d,]* tokens, the limit|context_too_large|supports a context"
    r"|longueur (?:maximale )?(?:de|du) contexte"
    r"|kontext(?:länge|fenster)|longitud (?:máxima )?(?:de|del) contexto"
    r"|上下文窗口|コンテキスト(?:長|ウィンドウ)"
    r"|超过最大长度|超出最大长度|上下文长度|长度超过模型上限"
)


_LOOSELY = compile_later(
    r"(?:prompt|inputs?|messages?|conversation|context|history)\b.{0,60}?"
    r"(?:exceed|too (?:long|large|big)|(?:longer|larger|greater|more) than|over the (?:limit|maximum))"
    r"(?=.{0,200}(?:token|context))|(?:prompt|input) length.{0,30}exceed|token limit exceeded"
    r"|too many tokens(?!: max tokens)|tokens?\b.{0,40}(?:exceed|more than|over the limit)"
    r"|supports (?:a maximum of|at most|only|up to) .{0,12}tokens"
    r"|total length of .{0,40}exceed|cannot exceed .{0,12}- received",
    re.DOTALL,
)
"""Alternatives to the words above in a refusal of a request (see `_REFUSED`)."""
_REFUSED = frozenset({400, 413, 422})
_LIMIT_AFTER = _pattern(
    r"(?:max(?:imum)?|limit|exceed(?:s|ed)?|at most|up to|only|allowed|window|context|size|<=|less than|than)"
    r"(?:(?!\bby\b)[^\d]){0,40}{limit}"
)


def find_limit(text: str, status: int | None = None) -> NamedLimit | None:
    """The limit in a refusal; None if it is about something else."""
    if (limit := _shares(text)) is not None:
        return limit
    if below := _BELOW.search(text):
        return NamedLimit("output_limit", value(below["above"]) - 1)
    answer = None if _ONLY_ONE_SIDE.search(text) else _ANSWER_WORDS.search(text)
    window = _WINDOW_WORDS.search(text) or (_LOOSELY.search(text) if status in _REFUSED else None)
    if answer is not None and (window is None or answer.start() < window.start()):
        return NamedLimit("output_limit", _first(_LONGEST, text) or _smallest(text, answer, LEAST_ANSWER))
    if window is not None:
        return NamedLimit("context_overflow", _first(_WINDOWS, text) or _smallest(text, window, LEAST_WINDOW))
    return None


def _shares(text: str) -> NamedLimit | None:
    """The limit where window and prompt are named: no room for an answer, or only for a shorter one."""
    for pattern in _SHARES:
        if match := pattern.search(text):
            numbers = {name: value(number) for name, number in match.groupdict().items() if number}
            window = numbers["window"]
            prompt = numbers["total"] - numbers["answer"] if "answer" in numbers else numbers["prompt"]
            if prompt + LEAST_ANSWER <= window:
                return NamedLimit("output_limit", window - prompt)
            return NamedLimit("context_overflow", window)
    return None


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    matches = (match for pattern in patterns if (match := pattern.search(text)))
    match = next(matches, None)
    return (value(match[1]) or None) if match else None


def _smallest(text: str, match: re.Match[str], minimum: int) -> int | None:
    """The limit in a text of unknown form, at least `minimum`: the smaller of its two largest numbers, or the
    only one, if it follows a word for a limit.
    """
    if "character" in text:
        return None
    sizes = sorted({number for number in numbers_in(text) if number >= minimum})
    if len(sizes) > 1:
        return sizes[-2]
    behind = _LIMIT_AFTER.search(text, max(match.start(), match.end() - len(" exceeded")))
    return sizes[0] if sizes and behind and value(behind["limit"]) == sizes[0] else None


def names_answer(text: str) -> bool:
    """Whether the text names the parameter for an answer's length. `text` is in lower case."""
    return re.search(_ANSWER, text) is not None


def value(number: str) -> int:
    """The number as written. A `k` counts as 1,000, the safe one of its two readings."""
    digits = number.replace(",", "").strip()
    return int(float(digits.rstrip("k ")) * (1000 if digits.endswith("k") else 1))


def numbers_in(text: str) -> Iterator[int]:
    """All numbers in a text, in order, except digits within names and versions."""
    return (value(match[0]) for match in _NUMBER.finditer(text))
