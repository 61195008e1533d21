"""What is kept of what people say over weeks: `python -m tests.benchmarks learning`.

The model is scripted: it saves what an attentive model would, or everything that is said to it, and observes
the same where a session is consolidated. So the tables show what the machinery makes of that (limits, scans,
prompts, recall, compressions) and nothing of a model's judgement: what is worth saving, and whether an answer
uses what it was given. `python -m tests.benchmarks.learning MODEL [NAME …]` asks a real model the same, with
the configuration and the keys of your home, in a folder of its own: thousands of paid calls for all people.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.consolidation.steps import CONSOLIDATION_PROMPT
from hermes_jobs.settings import Settings, load
from tests.benchmarks.remembering.compressions import survival
from tests.benchmarks.remembering.home import opened, settings_for
from tests.benchmarks.remembering.learning import (
    MEMORY_MODES,
    NOTES,
    K,
    LearningBench,
    MemoryMode,
    PlayedPerson,
    recall_at,
    rows_of,
)
from tests.benchmarks.remembering.people import ScriptedPerson, ScriptedText, people
from tests.benchmarks.remembering.retention import Work, asking, retained, work
from tests.benchmarks.summarisers import Copyist
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.reviews.talker import CHECKPOINT, is_summary

SEEDS = 20
SHOWN_TURN = re.compile(r'<turn id="(\w+)"[^>]*>\n<person>\n(.*?)\n</person>', re.DOTALL)
HEADS = ("kept", "missed", "wrong", "stale", "leaked", "given", "tokens")


def main(names: Sequence[str] = ()) -> None:
    """Print the tables."""
    persons = [each for each in people() if not names or each.name in names]
    facts, never = sum(len(each.facts) for each in persons), sum(len(each.never) for each in persons)
    texts = sum(len(each.texts) for each in persons)
    print(f"{len(persons)} people, {texts} texts; {facts} facts to keep, {never} things never to write\n")
    print("A scripted model that saves what an attentive one would:")
    played = play(persons, Scripted(persons))
    show(played)
    print("\nA scripted model that saves every text as it is:")
    show(play(persons, Scripted(persons, eager=True)))
    print("\nPassages of earlier sessions that hold what a question needs, among the first k:")
    print("  ".join(f"{k}: {recall_at(played[-1], k):.0%}" for k in K))
    longest = max(persons, key=lambda person: len(person.texts))
    for name, copies in (("copies what was said", True), ("says nothing", False)):
        print(f"\nOne conversation, {len(longest.texts)} texts, with a summary that {name}:")
        print(f"{'compressions':<16}{'facts':>8}{'in it':>8}{'memory':>8}{'found':>8}")
        with scripted(Scripted(persons, copies=copies)) as (settings, environ, folder):
            for each in survival(settings, environ, folder, longest):
                shares = (each.in_conversation, each.in_memory, each.found)
                print(
                    f"{each.compressions:<16}{each.facts:>8}" + "".join(f"{share:>8.0%}" for share in shares)
                )
    for name, every in (("forgets nothing", 0), ("leaves out one thing in five each time", 5)):
        print(f"\nA long piece of work, compressed five times by a scripted summariser that {name}:")
        show_retained(work(), every)


def measure(model: str, names: Sequence[str]) -> None:
    """Print the tables of that model, which is configured as any other."""
    settings = load(os.environ)
    settings = replace(settings, model=replace(settings.model, model=model))
    persons = [each for each in people() if not names or each.name in names]
    with tempfile.TemporaryDirectory() as name:
        learning = LearningBench(settings, os.environ, Path(name), print)
        show([learning.play(way, persons) for way in MEMORY_MODES], answered=True)
        longest = max(persons, key=lambda person: len(person.texts))
        for after in survival(settings, os.environ, Path(name, "long"), longest):
            print(after)
        folder = Path(name, "work")
        with opened(settings_for(settings, folder), os.environ, folder) as home:
            for row in retained(lambda: asking(home.application), work().parts):
                print(row)


def show_retained(long: Work, every: int) -> None:
    """The table of the forms of summaries; its columns are those of `Retained`, as means over the seeds."""
    heads = ("oldest", "all", "outcomes", "found", "tokens")
    print(f"{'form':<16}{'compressions':>14}" + "".join(f"{head:>10}" for head in heads))
    runs = [
        retained(partial(Copyist, long, every, seed), long.parts) for seed in range(SEEDS if every else 1)
    ]
    for rows in zip(*runs, strict=True):
        shares = (
            fmean(column)
            for column in zip(
                *((each.oldest, each.all_facts, each.outcomes, each.found) for each in rows), strict=True
            )
        )
        cells = "".join(f"{share:>10.0%}" for share in shares)
        size = fmean(each.tokens for each in rows)
        print(f"{rows[0].form:<16}{rows[0].compressions:>14}{cells}{size:>10,.0f}")


def play(
    persons: Sequence[ScriptedPerson], model: Scripted, ways: Sequence[MemoryMode] = MEMORY_MODES
) -> list[PlayedPerson]:
    """Every way of remembering, with that model."""
    with scripted(model) as (settings, environ, folder):
        learning = LearningBench(settings, environ, folder, lambda text: None)
        return [learning.play(way, persons) for way in ways]


@contextmanager
def scripted(model: Scripted) -> Iterator[tuple[Settings, Mapping[str, str], Path]]:
    """Settings with that model behind a server, their environment, and a folder that goes away."""
    with tempfile.TemporaryDirectory() as folder, closing(ModelServer(model).start()) as server:
        environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HERMES_JOBS_HOME": folder,
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "none",
            "HERMES_JOBS_MODEL": "scripted",
        }
        yield load(environ), environ, Path(folder)


def show(played: Sequence[PlayedPerson], *, answered: bool = False) -> None:
    """The table of the ways. `given`: questions for which what they need stood before the model.
    `answered`: also the share of right answers, which says something of real models only."""
    print(f"{'':<26}" + "".join(f"{head:>8}" for head in (*HEADS, *["answered"] * answered)))
    for row in rows_of(played):
        counts = (row.kept, row.missed, row.wrong, row.stale, row.leaked)
        cells = "".join(f"{count:>8}" for count in counts)
        last = f"{row.answered:>8.0%}" if answered else ""
        print(f"{row.way:<26}{cells}{row.given:>8.0%}{row.tokens:>8,.0f}{last}")
    for each in played[-1].outcomes:
        for what, name in each.mistakes:
            print(f"  {played[-1].way.name}: {each.person}, {name}: {what}")


class Scripted:
    """A model that follows the people's data files. It keeps no state: what it saves at a text follows from
    the text, and from those before it."""

    def __init__(
        self, persons: Sequence[ScriptedPerson], *, eager: bool = False, copies: bool | None = None
    ) -> None:
        """`eager`: saves every text. `copies`: its answers are long, and its summaries have every text, or
        none (False)."""
        self._persons = persons
        self._eager = eager
        self._copies = copies

    def __call__(self, seen: Seen) -> Action:
        """The next reply."""
        if is_summary(seen):
            return Answer(text=CHECKPOINT + (self._copied(seen.last_user_text) if self._copies else ""))
        if is_consolidation(seen):
            return Answer(text=json.dumps({"observations": list(self._observed(seen.last_user_text))}))
        found = self._said(seen.last_user_text)
        if found is None or seen.rounds:
            return self._answer
        person, said = found
        tools = {each["function"]["name"] for each in seen.body.get("tools", ())}
        if "memory" in tools:
            return self._saving(said)
        if "write_file" in tools:
            notes = self._notes(person, said)
            return Answer(tool_calls=(AskedCall("write_file", {"path": NOTES, "content": notes}),))
        return self._answer

    @property
    def _answer(self) -> Answer:
        return Answer(text="All right." if self._copies is None else "All right. " + "blah " * 200)

    def _said(self, text: str) -> tuple[ScriptedPerson, ScriptedText] | None:
        fitting = ((person, said) for person in self._persons for said in person.texts if said.says in text)
        return next(fitting, None)

    def _copied(self, text: str) -> str:
        """The texts of people that occur there, one a line."""
        return "\n".join(said.says for each in self._persons for said in each.texts if said.says in text)

    def _observed(self, text: str) -> Iterator[dict[str, Any]]:
        """Observations of the turns that a consolidation reads: what would have been saved at each."""
        for turn, shown in SHOWN_TURN.findall(text):
            found = self._said(shown)
            if found is None:
                continue
            person, said = found
            contents = [said.says] if self._eager else [each.content for each in said.saves if each.content]
            for content in contents:
                slot = {} if self._eager else {"slot": slots_of(person).get(content, "")}
                yield {"text": content, "about": [person.name], "turns": [turn], **slot}

    def _saving(self, said: ScriptedText) -> Answer:
        if self._eager:
            arguments = {"action": "add", "target": "memory", "content": said.says}
            return Answer(text="", tool_calls=(AskedCall("memory", arguments),))
        calls = tuple(
            AskedCall("memory", {key: value for key, value in msgspec.to_builtins(each).items() if value})
            for each in said.saves
        )
        return Answer(tool_calls=calls) if calls else self._answer

    def _notes(self, person: ScriptedPerson, upto: ScriptedText) -> str:
        """All notes up to that text, in the order in which they were taken. What it replaces or removes in a
        memory it replaces or removes here."""
        before = person.texts[: person.texts.index(upto) + 1]
        lines = [said.says for said in before] if self._eager else []
        for each in () if self._eager else (each for said in before for each in said.saves):
            if each.old_text is not None:
                lines = [line for line in lines if each.old_text not in line]
            lines += [each.content] if each.content else []
        return "".join(f"- {line}\n" for line in lines)


def slots_of(person: ScriptedPerson) -> Mapping[str, str]:
    """The slots that an attentive model would name: one for what the person's data replaces and for what
    replaces it."""
    found: dict[str, str] = {}
    for each in (save for said in person.texts for save in said.saves if save.content):
        before = [content for content in found if each.old_text and each.old_text in content]
        slot = (found[before[-1]] if before else "") or f"{person.name}: {each.old_text or ''}"
        found |= dict.fromkeys(before[-1:], slot)
        found[each.content or ""] = slot if before else ""
    return found


def is_consolidation(seen: Seen) -> bool:
    """Whether it asks for observations."""
    return any(each.get("content") == CONSOLIDATION_PROMPT for each in seen.messages)


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(sys.argv[1], sys.argv[2:])
    else:
        main()
