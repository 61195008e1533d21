"""Compares methods of remembering: the same weeks and questions, in separate homes."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

from hermes_jobs.features.memory.rules.memory import TARGETS
from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel.engine.ports.conversation_search import Passage
from hermes_jobs.kernel.events import Opening
from hermes_jobs.settings import Settings
from hermes_jobs.text.search.question import as_question
from hermes_jobs.text.tokens import tokens
from tests.benchmarks.remembering.home import SpentTokens, opened, settings_for
from tests.benchmarks.remembering.people import ExpectedFact, ForbiddenText, ScriptedPerson, is_held

NOTES = "AGENTS.md"
"""The file of plain notes: its content is in the prompt of every session of its folder."""
NOTES_PROMPT = f"""\
Keep notes of what will matter in later sessions in the file {NOTES} of your working folder: preferences,
corrections, what you learned about the person. Keep what is there. Leave out credentials and guesses."""
TRANSCRIPT_HEADER = "What the person said in earlier sessions, word for word, oldest first:"
K = (1, 3, 5)


class MemoryMode(NamedTuple):
    """A method of remembering. `keeps`: what the weeks store; methods with the same value share the weeks.
    With `observations` nothing is saved explicitly: each session is consolidated at its end.
    `toolsets` are those of every session; `recall`: passages of earlier sessions are found for each question;
    `all_said`: the system message holds every text of the user."""

    name: str
    keeps: Literal["nothing", "notes", "memory", "observations"]
    toolsets: tuple[str, ...] = ()
    recall: bool = False
    all_said: bool = False


MEMORY_MODES = (
    MemoryMode("no memory", "nothing"),
    MemoryMode("plain notes", "notes", ("files",)),
    MemoryMode("everything in the prompt", "nothing", all_said=True),
    MemoryMode("memory", "memory", ("memory",)),
    MemoryMode("observations", "observations"),
    MemoryMode("memory and recall", "memory", ("memory",), recall=True),
)
BASELINE = MEMORY_MODES[0]


class AskedQuestion(NamedTuple):
    """One question. `given`: what it needs stood before the model. `answered`: the answer holds it. `rank`:
    the place of the first passage of earlier sessions that holds it, from 1; None: none of the first.
    `tokens`: of the system prompt and of what was recalled, estimated."""

    fact: ExpectedFact
    given: bool
    answered: bool
    rank: int | None
    tokens: int
    spent: SpentTokens = SpentTokens(0, 0)


class PersonOutcome(NamedTuple):
    """The stored facts of one user with one method, and the results of the questions."""

    person: str
    kept: tuple[ExpectedFact, ...]
    missed: tuple[ExpectedFact, ...]
    stale: tuple[ExpectedFact, ...]
    written: tuple[ForbiddenText, ...]
    asked: tuple[AskedQuestion, ...]

    @property
    def mistakes(self) -> Iterator[tuple[str, str]]:
        """The mistakes (`missed`, `stale`, `wrong`, `leaked`), each with its subject."""
        yield from (("missed", fact.name) for fact in self.missed)
        yield from (("stale", fact.name) for fact in self.stale)
        for name in self.written:
            yield "leaked" if name.kind in {"secret", "injection"} else "wrong", name.name


class PlayedPerson(NamedTuple):
    """The outcomes of a method, one per user, and the model's usage."""

    way: MemoryMode
    outcomes: tuple[PersonOutcome, ...]
    requests: int
    tokens: int


Said = Callable[[str], None]
"""Told what is being done, for somebody who waits."""


class LearningBench:
    """Plays users in folders below `folder`, with the models of `settings`."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], folder: Path, say: Said) -> None:
        self._settings = settings
        self._environ = environ
        self._folder = folder
        self._tell = say
        self._weeks: dict[tuple[str, str], SpentTokens] = {}

    def play(self, way: MemoryMode, persons: Sequence[ScriptedPerson]) -> PlayedPerson:
        """All users' weeks and questions with that method. Raises `Rejected` where a turn fails."""
        outcomes = tuple(self._outcome(way, person) for person in persons)
        spent = [answer.spent for outcome in outcomes for answer in outcome.asked]
        spent += [self._weeks[way.keeps, person.name] for person in persons]
        return PlayedPerson(
            way, outcomes, sum(answer.requests for answer in spent), sum(answer.tokens for answer in spent)
        )

    def _outcome(self, way: MemoryMode, person: ScriptedPerson) -> PersonOutcome:
        weeks = self._folder / f"{person.name}-{way.keeps}"
        if (way.keeps, person.name) not in self._weeks:
            if way.keeps != "nothing":
                self._tell(f"{person.name}: {person.days} days with {way.keeps}")
            self._weeks[way.keeps, person.name] = self._live(way, person, weeks)
        self._tell(f"{person.name}: {len(person.facts)} questions, {way.name}")
        texts = self._left_behind(way, person, weeks)
        return PersonOutcome(
            person.name,
            kept=tuple(
                expected_fact for expected_fact in person.facts if is_held(texts, expected_fact.words)
            ),
            missed=tuple(
                expected_fact for expected_fact in person.facts if not is_held(texts, expected_fact.words)
            ),
            stale=tuple(
                expected_fact for expected_fact in person.facts if is_held(texts, expected_fact.stale)
            ),
            written=tuple(fact for fact in person.never if is_held(texts, fact.words)),
            asked=tuple(self._ask(way, person, fact, weeks) for fact in person.facts),
        )

    def _live(self, way: MemoryMode, person: ScriptedPerson, folder: Path) -> SpentTokens:
        """The user's sessions, on their days; due work of each session is done before the next."""
        with opened(settings_for(self._settings, folder), self._environ, folder) as home:
            for number, meeting in enumerate(person.sessions if way.keeps != "nothing" else ()):
                home.clock.days_ago = person.days - meeting.day
                for turn in meeting.turns:
                    home.say(f"s{number}", turn.says, self._opening(way, person))
                if way.keeps == "observations":
                    home.consolidate(f"s{number}")
                home.rest()
            return home.spent()

    def _opening(self, way: MemoryMode, person: ScriptedPerson) -> Opening:
        system = NOTES_PROMPT if way.keeps == "notes" else None
        if way.all_said:
            system = "\n".join([TRANSCRIPT_HEADER, *(f"- {text.says}" for text in person.texts)])
        return Opening(toolsets=way.toolsets, system=system)

    def _left_behind(self, way: MemoryMode, person: ScriptedPerson, folder: Path) -> Sequence[str]:
        """The texts that are searched for facts: entries, lines of notes, or all messages."""
        if way.all_said:
            return [text.says for text in person.texts]
        if way.keeps == "notes":
            notes = folder / "work" / NOTES
            return notes.read_text("utf-8").splitlines() if notes.exists() else ()
        with opened(settings_for(self._settings, folder), self._environ, folder) as home:
            memory = home.application.memory.sync()
        return [entry for target in TARGETS for entry in memory.entries(target)]

    def _ask(self, way: MemoryMode, person: ScriptedPerson, fact: ExpectedFact, weeks: Path) -> AskedQuestion:
        """Ask the fact's question in a new session, in a copy of the home, so that questions do not affect
        each other."""
        folder = self._folder / "asked"  # its name is in the prompt, and must tell nothing
        shutil.copytree(weeks, folder, ignore=shutil.ignore_patterns("run"))
        with opened(settings_for(self._settings, folder, recall=way.recall), self._environ, folder) as home:
            passages = Conversations(home.application.views).passages(
                as_question(fact.question), limit=max(K)
            )
            before = home.spent()
            replied = home.say("asked", fact.question, self._opening(way, person))
            after = home.spent()
        shutil.rmtree(folder)
        lines = replied.full_input.splitlines()
        return AskedQuestion(
            fact,
            given=is_held(lines, fact.words),
            answered=is_held([replied.answer], fact.answer),
            rank=next(
                (
                    number
                    for number, passage in enumerate(passages, 1)
                    if is_held([_passage_text(passage)], fact.words)
                ),
                None,
            ),
            tokens=tokens(replied.prompt) + tokens(replied.recalled),
            spent=SpentTokens(after.requests - before.requests, after.tokens - before.tokens),
        )


def _passage_text(passage: Passage) -> str:
    neighbours = (passage.before, passage.after)
    return "\n".join([passage.text, *(hit.text for hit in neighbours if hit is not None)])


class ModeFigures(NamedTuple):
    """A way's figures: counts of facts and of what must never be written, shares of questions, a question's
    tokens beyond those without any memory, and what the model was asked in all, in calls and tokens."""

    way: str
    kept: int
    missed: int
    wrong: int
    stale: int
    leaked: int
    given: float
    answered: float
    tokens: float
    requests: int
    used: int


def rows_of(ways: Sequence[PlayedPerson]) -> list[ModeFigures]:
    """The table of the ways; the baseline is among them."""
    baseline = next(prompt_tokens(way) for way in ways if way.way == BASELINE)
    return [_row(way, baseline) for way in ways]


def _row(played: PlayedPerson, baseline: float) -> ModeFigures:
    outcomes = played.outcomes
    answers = [answer for outcome in outcomes for answer in outcome.asked]
    mistakes = Counter(what for outcome in outcomes for what, _ in outcome.mistakes)
    return ModeFigures(
        way=played.way.name,
        kept=sum(len(outcome.kept) for outcome in outcomes),
        missed=mistakes["missed"],
        wrong=mistakes["wrong"],
        stale=mistakes["stale"],
        leaked=mistakes["leaked"],
        given=fmean(answer.given for answer in answers),
        answered=fmean(answer.answered for answer in answers),
        tokens=prompt_tokens(played) - baseline,
        requests=played.requests,
        used=played.tokens,
    )


def prompt_tokens(played: PlayedPerson) -> float:
    """The mean of a question's system prompt and recalled text, in estimated tokens."""
    return fmean(answer.tokens for outcome in played.outcomes for answer in outcome.asked)


def recall_at(played: PlayedPerson, k: int) -> float:
    """The share of questions with a passage among the first k that holds what they need."""
    ranks = [answer.rank for outcome in played.outcomes for answer in outcome.asked]
    return fmean(rank is not None and rank <= k for rank in ranks)
