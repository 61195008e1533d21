"""Tests a model's abilities at its endpoint with three small calls; each ability gets a verdict.

call 1    counts aloud: does the model answer, and is the answer streamed
call 2    offers a tool, with a long system prompt that a provider may cache
call 3    sends back the call, its result and the payload: are they accepted, was the prompt cached
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import Model, ModelError, ModelRequest, Pricing, Reply, ToolSpec
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.cache_support import PromptCaching

Name = Literal["call", "streaming", "tools", "reasoning", "caching", "usage", "price"]
Status = Literal["ok", "warn", "fail"]

MAX_ANSWER_TOKENS = 1_000  # tokens: models that think first need some before they say anything
WIDE_WINDOW = 12_000  # tokens: from here on a long beginning fits
NO_REFUSAL = {
    "connection": "the connection failed",
    "timeout": "no answer came in time",
    "rate_limit": "too many requests",
    "overloaded": "the provider is overloaded",
}
"""Kinds of `ModelError` that say nothing about the ability that was tried, in words."""
SENTENCES = {"automatic": 130, "marks": 330}
"""The number of sentences of about 14 tokens in the long system prompt. Prompts are cached from 1,024 tokens
on, by some of Anthropic's models only from 4,096 on.
"""

_COUNT = "Count from 1 to 20 in digits, with a space between them. Say nothing else."
_NOTE = ToolSpec(
    "write_note",
    "Writes a note.",
    {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What the note says."}},
        "required": ["text"],
    },
)
_ASK = "Call the tool write_note once, with the text `blue`. When you have its result, answer with: done."


class TrialVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one ability. `kind`: of the `ModelError` that ended the trial."""

    name: Name
    status: Status
    message: str
    hint: str = ""
    kind: str = ""


class Trial:
    """Tests one model. Iterate `verdicts` once; `used`, `cost_usd` and `num_calls` are updated meanwhile."""

    def __init__(
        self, model: Model, name: str, *, prices: Pricing, caching: PromptCaching, window: int
    ) -> None:
        """`window`: the model's window in tokens."""
        self._model = model
        self._name = name
        self._prices = prices
        self._caching = caching
        self._window = window
        self.used = NO_USAGE
        self.cost_usd: float | None = 0.0
        self.num_calls = 0

    def verdicts(self) -> Iterator[TrialVerdict]:
        """Yield the verdict on each ability as it is known; a failed call ends the trial."""
        pieces: list[str] = []
        started = time.monotonic()
        try:
            first = self._ask("Answer briefly.", UserMessage(_COUNT), on_text=pieces.append)
        except ModelError as error:
            yield _failed("call", "It did not answer", error)
            return
        took = time.monotonic() - started
        yield TrialVerdict(
            name="call", status="ok", message=f"{first.model or self._name} answered in {took:.1f} s"
        )
        yield _streaming(pieces)
        yield from self._tools(first)
        yield _usage(first.usage)
        yield self._price()

    def _tools(self, first: Reply) -> Iterator[TrialVerdict]:
        """The verdicts on tools, and on the abilities that need a tool call:
        payloads sent back, and caching.
        """
        system = self._long_beginning()
        question = UserMessage(_ASK)
        try:
            second = self._ask(system, question, tools=(_NOTE,))
        except ModelError as error:
            yield _not_supported("tools", "A request that offers a tool is refused", error)
            return
        calls = second.tool_calls
        if calls and all(_is_usable(call) for call in calls):
            yield TrialVerdict(
                name="tools", status="ok", message=f"it called {calls[0].name} as it was asked to"
            )
        else:
            message = (
                f"it called {calls[0].name}({calls[0].arguments})" if calls else "it did not call the tool"
            )
            hint = "An agent needs tools: take another model, or try model.tool_calling: text."
            yield TrialVerdict(name="tools", status="warn", message=message, hint=hint)
        reply = AssistantMessage(second.content or ("" if calls else "-"), calls, second.payload)
        results: list[Message] = [ToolMessage(call.id, call.name, "Written.") for call in calls]
        again = results or [UserMessage("Go on.")]
        try:
            third = self._ask(system, question, reply, *again, tools=(_NOTE,))
        except ModelError as error:
            yield _not_supported("reasoning", "What it said was refused when it was sent back", error)
            return
        yield _round_trip(first, second)
        yield self._cached(second.usage, third.usage)

    def _ask(
        self,
        system: str,
        *messages: Message,
        tools: tuple[ToolSpec, ...] = (),
        on_text: Callable[[str], None] = lambda text: None,
    ) -> Reply:
        request = ModelRequest(
            model=self._name,
            system_prompt=system,
            messages=messages,
            tools=tools,
            max_tokens=min(MAX_ANSWER_TOKENS, self._window // 4),
            session="trial",
        )
        self.num_calls += 1
        try:
            reply = self._model.reply(request, CancelToken(), on_text)
        except ModelError as error:
            self._book(error.usage, self._name)
            raise
        self._book(reply.usage, reply.model or self._name)
        return reply

    def _book(self, usage: Usage, model: str) -> None:
        self.used += usage
        cost = self._prices.cost_usd(model, usage)
        self.cost_usd = None if cost is None or self.cost_usd is None else self.cost_usd + cost

    def _long_beginning(self) -> str:
        sentences = SENTENCES.get(self._caching.kind, 0) if self._window >= WIDE_WINDOW else 0
        lines = (
            f"Line {index} of this text only makes it long; do not mention it." for index in range(sentences)
        )
        return "\n".join(["You try out a tool.", *lines])

    def _cached(self, second: Usage, third: Usage) -> TrialVerdict:
        read, expected = third.cache_read_tokens or second.cache_read_tokens, self._caching.description
        if read:
            message = f"{read:,} of {third.prompt_tokens:,} tokens were read from the cache ({expected})"
            return TrialVerdict(name="caching", status="ok", message=message)
        if self._caching.kind in {"none", "off"}:
            return TrialVerdict(name="caching", status="ok", message=f"nothing reported ({expected})")
        message = (
            f"nothing was reported as read from the cache, of {third.prompt_tokens:,} tokens ({expected})"
        )
        hint = self._caching.note or "Some models cache only longer prompts."
        return TrialVerdict(name="caching", status="warn", message=message, hint=hint)

    def _price(self) -> TrialVerdict:
        if self.cost_usd is not None:
            message = f"known: these calls cost ${self.cost_usd:.6f}" if self.cost_usd else "free"
            return TrialVerdict(name="price", status="ok", message=message)
        message = "not known: limits in money cannot be held"
        hint = f"hermes-jobs config set models.prices.{self._name} '{{input: 1, output: 4}}' (USD a million)"
        return TrialVerdict(name="price", status="warn", message=message, hint=hint)


def _streaming(pieces: list[str]) -> TrialVerdict:
    if len(pieces) > 1:
        return TrialVerdict(name="streaming", status="ok", message=f"the answer came in {len(pieces)} pieces")
    message = "the answer came in one piece" if pieces else "no text came"
    return TrialVerdict(name="streaming", status="warn", message=message)


def _is_usable(call: ToolCall) -> bool:
    try:
        arguments = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return False
    return call.name == _NOTE.name and isinstance(arguments, dict) and isinstance(arguments.get("text"), str)


def _round_trip(first: Reply, second: Reply) -> TrialVerdict:
    accepted = f"; its {'call' if second.tool_calls else 'answer'} was accepted when it was sent back"
    if second.payload is not None:
        what = "tool call" if second.tool_calls else "answer"
        message = f"it was sent back with its {what}, and accepted"
    elif second.reasoning or second.usage.reasoning_tokens or first.usage.reasoning_tokens:
        message = "it thinks, and attaches nothing that has to be sent back" + accepted
    else:
        message = "it did not think, or does not say so" + accepted
    dropped = f" ({'; '.join(second.notes)})" if second.notes else ""
    return TrialVerdict(name="reasoning", status="ok", message=message + dropped)


def _usage(usage: Usage) -> TrialVerdict:
    if usage == NO_USAGE:
        message = "not reported: budgets count estimates"
        return TrialVerdict(name="usage", status="warn", message=message)
    thought = f" ({usage.reasoning_tokens:,} of them reasoning)" if usage.reasoning_tokens else ""
    message = f"reported: {usage.prompt_tokens:,} tokens in, {usage.output_tokens:,} out{thought}"
    return TrialVerdict(name="usage", status="ok", message=message)


def _not_supported(name: Name, what: str, error: ModelError) -> TrialVerdict:
    """The ability failed where the endpoint refused the request; it is untested where the call was lost."""
    if error.kind not in NO_REFUSAL:
        return _failed(name, what, error)
    return TrialVerdict(
        name=name,
        status="warn",
        message=f"not tested: {NO_REFUSAL[error.kind]} ({error.kind}): {error.message}",
        hint=error.hint or "Run the check again.",
        kind=error.kind,
    )


def _failed(name: Name, what: str, error: ModelError) -> TrialVerdict:
    return TrialVerdict(
        name=name,
        status="fail",
        message=f"{what} ({error.kind}): {error.message}",
        hint=error.hint,
        kind=error.kind,
    )
