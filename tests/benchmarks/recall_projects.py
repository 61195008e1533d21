"""A third set of questions with known evidence: one person works with an agent on several projects.

Each project is a conversation of about 100,000 tokens in a dozen sessions. The agent's answers are long and
stay on the project's subject. A question asks for what the person said over several sessions: how many, in
which order, how it changed, what holds now. Its evidence is all of these messages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.benchmarks.recall_set import Asked, RecallSet, Said

SEED = 20261124
SESSIONS = 12  # of each project
TURNS = 16  # pairs of messages in a session
ANSWER = (5, 10)  # paragraphs
PARAGRAPH = (3, 6)  # sentences
OF_THE_PROJECT = 0.7  # of the sentences of an answer
NAMED = 0.2  # of the answers without evidence name a series of the project


@cache
def _data() -> Mapping[str, Any]:
    path = Path(__file__).parent / "data" / "projects.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def projects() -> RecallSet:
    """The whole history: the projects' sessions alternate."""
    made = [_Project(each) for each in _data()["project"]]
    sessions = [project.sessions[number] for number in range(SESSIONS) for project in made]
    return RecallSet(sessions, [asked for project in made for asked in project.asked])


class _Project:
    """The sessions about one project, and what is asked about them."""

    def __init__(self, project: Mapping[str, Any]) -> None:
        self._project = project
        self._random = Random(f"{SEED} {project['name']}")
        self._told: dict[tuple[int, int], tuple[str, str]] = {}
        self.asked = [asked for series in project["series"] for asked in self._ask(series)]
        self.sessions = [list(self._session(number)) for number in range(SESSIONS)]

    def _ask(self, series: Mapping[str, Any]) -> Iterator[Asked]:
        """Give each part of a series a turn of a session of its own, and ask about them."""
        keys = []
        for session, text in zip(self._chosen(len(series["says"])), series["says"], strict=True):
            free = [turn for turn in range(TURNS) if (session, turn) not in self._told]
            turn = self._random.choice(free)
            self._told[session, turn] = (text, series["key"])
            keys.append(self._key(session, turn, "user"))
        for question in series["asks"]:
            yield Asked(question, frozenset(keys), "all of several")
        for question in series.get("asks_last", ()):
            yield Asked(question, frozenset(keys[-1:]), "the last of several")

    def _chosen(self, count: int) -> list[int]:
        return sorted(self._random.sample(range(SESSIONS), count))

    def _key(self, session: int, turn: int, role: str) -> str:
        return f"{self._project['name']} {session}.{turn} {role}"

    def _session(self, session: int) -> Iterator[Said]:
        random = self._random
        for turn in range(TURNS):
            lines = random.sample(self._project["talk"], random.choice((1, 1, 2)))
            text, key = self._told.get((session, turn), ("", ""))
            if text:
                lines.insert(random.randint(0, len(lines)), text)
            elif random.random() < NAMED:
                key = random.choice(self._project["series"])["key"]
            yield Said(self._key(session, turn, "user"), "user", " ".join(lines))
            yield Said(self._key(session, turn, "assistant"), "assistant", self._answer(key))

    def _answer(self, key: str) -> str:
        """A long answer; it begins with the name of the series that was told of, if there is one."""
        paragraphs = [self._paragraph() for _ in range(self._random.randint(*ANSWER))]
        opening = [f"About {key}: {self._sentence()}"] if key else []
        return "\n\n".join([*opening, *paragraphs])

    def _paragraph(self) -> str:
        return " ".join(self._sentence() for _ in range(self._random.randint(*PARAGRAPH)))

    def _sentence(self) -> str:
        own = self._random.random() < OF_THE_PROJECT
        return str(self._random.choice(self._project["answers"] if own else _data()["generic"]))
