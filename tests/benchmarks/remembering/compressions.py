"""Measures which facts from the beginning of a long conversation survive one, three and five compressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from msgspec.structs import replace

from hermes_jobs.features.compression.tools import RecallCompacted
from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.events import Opening
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.settings import Settings
from hermes_jobs.tools.tool import ToolFailed
from tests.benchmarks.remembering.home import BenchHome, opened, settings_for
from tests.benchmarks.remembering.people import ExpectedFact, ScriptedPerson, is_held

CHECKPOINTS = (1, 3, 5)
SESSION = "long"


class SurvivalRow(NamedTuple):
    """After so many compressions: the shares of the facts from before the first one that are in the
    conversation (summary and messages), in the prompt or in the recall for the fact's question, and in the
    result of `recall_compacted` for that question."""

    compressions: int
    facts: int
    in_conversation: float
    in_memory: float
    found: float


def survival(
    settings: Settings, environ: Mapping[str, str], folder: Path, person: ScriptedPerson
) -> Iterator[SurvivalRow]:
    """One session with all texts of the user, compressed after each fifth of it.

    Only the newest exchange is protected: older text is in the summary or lost.
    """
    settings = settings_for(settings, folder)
    small = replace(settings.compression, enabled=False, threshold=0.01, target_ratio=0.1, protect_last_n=0)
    settings = replace(settings, compression=small)
    size = -(-len(person.texts) // CHECKPOINTS[-1])
    parts = [person.texts[start : start + size] for start in range(0, len(person.texts), size)]
    facts = [fact for fact in person.facts if is_held((line.says for line in parts[0]), fact.words)]
    with opened(settings, environ, folder) as home:
        for number, part in enumerate(parts, start=1):
            for line in part:
                home.say(SESSION, line.says, Opening(toolsets=("memory",)))
            session = home.compress(SESSION)
            if session.num_compressed == number and number in CHECKPOINTS:
                yield _survival(home, session, facts)


def _survival(home: BenchHome, session: Session, facts: Sequence[ExpectedFact]) -> SurvivalRow:
    lines = "\n".join(message.content for message in session.messages).splitlines()
    prompt = (session.started.system_prompt if session.started is not None else "").splitlines()
    return SurvivalRow(
        session.num_compressed,
        len(facts),
        in_conversation=fmean(is_held(lines, fact.words) for fact in facts),
        in_memory=fmean(is_held((*prompt, *_recalled(home, session, fact)), fact.words) for fact in facts),
        found=fmean(is_held(_found(home, fact).splitlines(), fact.words) for fact in facts),
    )


def _recalled(home: BenchHome, session: Session, fact: ExpectedFact) -> Sequence[str]:
    return home.application.providers.recall(session, fact.question).text.splitlines()


def _found(home: BenchHome, fact: ExpectedFact) -> str:
    caller = ToolContext(session=SESSION, turn="", call="", workdir="", attended=False)
    try:
        return RecallCompacted(home.application.views).recall_compacted(caller, query=fact.question)
    except ToolFailed:
        return ""
