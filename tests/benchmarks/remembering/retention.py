"""Measures what remains of a long piece of work after one, three and five compressions, by form of summary.

The conversation is a script; only the summariser is called. It is compressed by the built-in engine, and
in two other forms: one summary that is rewritten each time, and a plain cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from statistics import fmean
from typing import NamedTuple

import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.compression.compressor import Compressor, portions, summary_budget
from hermes_jobs.features.compression.message_groups import tokens_of
from hermes_jobs.features.compression.prune import outcome, prune
from hermes_jobs.features.compression.setup import CompressorOptions
from hermes_jobs.features.compression.summary import FIRST, UPDATE, instructions, transcript
from hermes_jobs.features.compression.tools import RecallCompacted
from hermes_jobs.features.mcp.sessions import NeverCancelled
from hermes_jobs.kernel.engine.handlers.summariser import Summariser
from hermes_jobs.kernel.engine.ports import AskSummariser, History, ToolContext
from hermes_jobs.kernel.engine.ports.conversation_search import TranscriptMessage
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.tokens import tokens
from hermes_jobs.tools.tool import ToolFailed
from tests.benchmarks.remembering.people import is_held

CHECKPOINTS = (1, 3, 5)
WINDOW = 32_000
FILLER = "That is noted, and I continue with it. " * 40
"""Texts between the facts, so that there is something to compress."""
ENDS = {
    "ok": "Done.",
    "failed": "Error: the text to replace does not occur in the file.",
    "exit code 1": "2 problems\n[exit code 1]",
    "exit code 2": "Traceback\n[exit code 2]",
    "exit code 3": "no such table\n[exit code 3]",
}
"""Results of calls by how they end."""


class ToldFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The user's text, the question for it, and the expressions that a matching line must have."""

    says: str
    asks: str
    words: tuple[str, ...]


class DoneCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call: a command, or a tool with a path; `ends` is a key of `ENDS`."""

    name: str
    target: str
    ends: str

    @property
    def words(self) -> tuple[str, ...]:
        """The expressions of a line with its outcome."""
        return (self.target.replace(".", r"\."), rf"\b{self.ends}\b")


class WorkPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The work between two compressions."""

    facts: tuple[ToldFact, ...]
    calls: tuple[DoneCall, ...]


class Work(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole conversation."""

    parts: tuple[WorkPart, ...]


class RetentionRow(NamedTuple):
    """Shares after so many compressions with that form.

    `oldest`: of the facts told before the first compression, those that stand in the conversation;
    `all_facts`: of those told so far; `outcomes`: of the files and commands from before the first
    compression, those whose last outcome stands there; `found`: of the oldest facts, those that
    `recall_compacted` finds when it is asked their question. `tokens` are the summary's.
    """

    form: str
    compressions: int
    oldest: float
    all_facts: float
    outcomes: float
    found: float
    tokens: int


class OneSummary(Compressor):
    """The summary is one text, rewritten each time."""

    def _summarised(
        self, before: str, middle: tuple[Message, ...], history: History, ask: AskSummariser
    ) -> str:
        material = prune(middle)
        budget = summary_budget(tokens_of(material), history.window)
        message = instructions(budget, history.focus)
        summary = before
        for part in portions(material, history.summary_window - 3 * budget - tokens(message), str):
            text = transcript(part)
            prompt = (UPDATE if summary else FIRST).format(summary=summary, conversation=text)
            summary = self._checked(message, prompt, f"{summary}\n{text}", budget, ask)
        return summary


class PlainCut(Compressor):
    """The middle is removed without a summary."""

    def _summarised(
        self, before: str, middle: tuple[Message, ...], history: History, ask: AskSummariser
    ) -> str:
        return "## Active Task\nGo on."


FORMS: dict[str, type[Compressor]] = {
    "layers": Compressor,
    "one summary": OneSummary,
    "plain cut": PlainCut,
}


class SaidArchive:
    """The whole conversation, for `recall_compacted`."""

    def __init__(self) -> None:
        self.messages: list[TranscriptMessage] = []

    def transcript(self, session: str) -> tuple[TranscriptMessage, ...]:
        """See `Transcripts`."""
        return tuple(self.messages)

    def found(self, question: str) -> Sequence[str]:
        """The tool's result lines for a question."""
        caller = ToolContext(session="s1", turn="", call="", workdir="", attended=False)
        try:
            return RecallCompacted(self).recall_compacted(caller, query=question).splitlines()
        except ToolFailed:
            return ()


def asking(application: Application) -> AskSummariser:
    """The model for summaries, or the main one."""
    settings, endpoints = application.settings, application.endpoints
    choice = settings.auxiliary_model("compression")
    prices = endpoints.prices(choice.base_url)
    return Summariser(endpoints.model(choice), choice.model, prices, "compression", NeverCancelled())


def work() -> Work:
    """The bundled conversation."""
    text = files(__package__).joinpath("work.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=described(Work))


def retained(
    new_summariser: Callable[[], AskSummariser], parts: Sequence[WorkPart]
) -> Iterator[RetentionRow]:
    """The work compressed after each of its parts, once with each form and a summariser of its own.

    Raises `ModelError` where the summariser fails.
    """
    options = CompressorOptions(threshold=0.01, target_ratio=0.1, protect_last=0)
    for form, engine in FORMS.items():
        yield from _compressed(form, engine(options, str), new_summariser(), parts)


def _compressed(
    form: str, engine: Compressor, ask: AskSummariser, parts: Sequence[WorkPart]
) -> Iterator[RetentionRow]:
    messages: tuple[Message, ...] = (UserMessage("Hello"), AssistantMessage("Hello."))
    archive = SaidArchive()
    for number, part in enumerate(parts, start=1):
        new = tuple(_messages(part, number))
        archive.messages += map(_transcribed, new)
        history = History(
            messages=(*messages, *new, UserMessage("What is next?")),
            todos=(),
            focus="",
            window=WINDOW,
            summary_window=WINDOW,
            session=f"s{number}",
        )
        shortened = engine.compress(history, ask)
        messages = (*shortened.messages, AssistantMessage("Tell me."))
        if number in CHECKPOINTS:
            lines = [*_lines(messages)]
            facts = [fact for work_part in parts[:number] for fact in work_part.facts]
            yield RetentionRow(
                form,
                number,
                oldest=fmean(is_held(lines, told_fact.words) for told_fact in parts[0].facts),
                all_facts=fmean(is_held(lines, fact.words) for fact in facts),
                outcomes=fmean(is_held(lines, done.words) for done in parts[0].calls),
                found=fmean(
                    is_held(archive.found(told_fact.asks), told_fact.words) for told_fact in parts[0].facts
                ),
                tokens=tokens(shortened.summary),
            )


def _messages(part: WorkPart, number: int) -> Iterator[Message]:
    for fact in part.facts:
        yield UserMessage(fact.says)
        yield AssistantMessage(FILLER)
    for index, call_done in enumerate(part.calls):
        key = "command" if call_done.name == "terminal" else "path"
        call = ToolCall(f"call-{number}-{index}", call_done.name, json.dumps({key: call_done.target}))
        yield UserMessage("Continue with that.")
        yield AssistantMessage("", (call,))
        yield ToolMessage(call.id, call_done.name, ENDS[call_done.ends], failed=call_done.ends == "failed")
        yield AssistantMessage(FILLER)


def _lines(messages: Sequence[Message]) -> Iterator[str]:
    """The lines of the conversation; a call and how it ended are one."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        yield from message.content.splitlines()
        if isinstance(message, AssistantMessage):
            calls.update({call.id: call for call in message.tool_calls})
        elif isinstance(message, ToolMessage):
            yield f"{calls[message.tool_call].arguments} {outcome(message.name, message.content)}"


def _transcribed(message: Message) -> TranscriptMessage:
    match message:
        case ToolMessage():
            return TranscriptMessage(role="tool", content=message.content, name=message.name)
        case AssistantMessage():
            return TranscriptMessage(role="assistant", content=message.content)
        case _:
            return TranscriptMessage(role="user", content=message.content)
