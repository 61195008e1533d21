"""A second set of questions with known evidence, of another style than `recall_set`'s.

Two people chat over many sessions, months apart; what is asked about stands among everyday talk, often twice
with different values, once by each of them. Questions use other words than what was said; some need several
messages, some the newest one. Beside it a person works with an agent in sessions of about 100,000 tokens,
where the evidence is one sentence of a long message. English, German, Spanish, and Chinese with Latin words.

A third of the scenes is the held-out part: measured, and not tuned on.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.benchmarks.recall_set import Asked, RecallSet, Said

SEED = 20261123
SESSIONS = 20  # of each chat
TURNS = (6, 12)  # pairs of messages in a session
PAIRS = {
    "en": (
        *(("Maren", "Tilda"), ("Corey", "Anouk"), ("Ruth", "Dmitri"), ("Sol", "Bettina")),
        *(("Imre", "Gwen"), ("Noor", "Patrick"), ("Hal", "Yara"), ("Celeste", "Otto")),
    ),
    "de": (("Jörg", "Silke"), ("Annegret", "Timo"), ("Birte", "Kerem")),
    "es": (("Lucía", "Ramón"), ("Pilar", "Íñigo"), ("Nuria", "Efrén")),
    "zh": (("陈静", "Kevin"), ("吴磊", "Mandy"), ("赵敏", "Oscar")),
}
AFTER_A_SENTENCE = {"en": " ", "de": " ", "es": " ", "zh": ""}
TOLD = 0.7  # of the scenes by one of a chat, independently by the other
CHANGED = 0.6  # of what can change
LONG_SESSIONS = 3
LONG_TURNS = 116  # pairs of messages in a long session: about 100,000 tokens
Scene = Mapping[str, Any]


@cache
def _data(name: str) -> Mapping[str, Any]:
    return tomllib.loads((Path(__file__).parent / "data" / f"{name}.toml").read_text(encoding="utf-8"))


def talks(*, held_out: bool = False) -> RecallSet:
    """The whole history, with the questions of the open part or of the held-out part."""
    asked: list[tuple[int, Asked]] = []
    chats = [_Chat(language, pair) for language, pairs in PAIRS.items() for pair in pairs]
    for chat in chats:
        for number, scene in enumerate(_data("talks")["scene"]):
            asked += [(number, each) for each in chat.take(scene)]
    sessions = [chat.sessions[number] for number in range(SESSIONS) for chat in chats]
    for number in range(LONG_SESSIONS):
        work = _Work(number)
        asked += work.asked()
        sessions.append(work.session)
    return RecallSet(sessions, [each for number, each in asked if (number % 3 == 2) == held_out])


class _Chat:
    """What two people write each other."""

    def __init__(self, language: str, pair: tuple[str, str]) -> None:
        self._random = random = Random(f"{SEED} {pair}")
        self._language = language
        self._pair = pair
        self._count = count()
        self.sessions = [
            [said for _ in range(random.randint(*TURNS)) for said in self._everyday()]
            for _ in range(SESSIONS)
        ]

    def take(self, scene: Scene) -> Iterator[Asked]:
        """Have the scene told, and ask about it; nothing where it is of another language."""
        if scene["language"] != self._language:
            return
        values = self._random.sample(scene["values"], len(scene["values"]))
        for side in (0, 1):
            if self._random.random() < TOLD:
                yield from self._tell(scene, side, values)

    def _tell(self, scene: Scene, side: int, values: list[str]) -> Iterator[Asked]:
        choose, who = self._random.choice, self._pair[side]
        most = 1
        if scene.get("series"):
            most = self._random.choice((1, 2, 3))
        elif "now" in scene and self._random.random() < CHANGED:
            most = 2
        told = sorted(self._random.sample(range(SESSIONS), min(most, len(values))))
        keys = []
        for number, session in enumerate(told):
            is_change = number > 0 and "now" in scene
            text = choose(scene["now" if is_change else "says"]).format(x=values.pop())
            keys.append(self._put(session, side, text, choose(scene["then"])))
        if len(keys) == 1:
            yield self._asked(choose(scene["asks"]), who, keys, "")
        elif "now" in scene:
            yield self._asked(choose(scene["asks_now"]), who, keys[-1:], ", changed")
        else:
            yield self._asked(choose(scene["asks_all"]), who, keys, ", several")

    def _asked(self, question: str, who: str, keys: Sequence[str], kind: str) -> Asked:
        return Asked(question.format(who=who), frozenset(keys), f"{self._language}{kind}")

    def _put(self, session: int, side: int, text: str, reply: str) -> str:
        """Somewhere in the session, by that one of the two, among other words."""
        into = self.sessions[session]
        at = 2 * self._random.randint(0, len(into) // 2 - 1) + side
        between = AFTER_A_SENTENCE[self._language]
        before = f"{self._sentence()}{between}" if self._random.random() < 0.5 else ""
        after = f"{between}{self._sentence()}" if self._random.random() < 0.3 else ""
        end = "" if text.endswith(("!", "?")) else "。" if self._language == "zh" else "."
        said = self._said(side, f"{before}{text}{end}{after}")
        into[at:at] = [said, self._said(1 - side, reply)]
        return said.key

    def _everyday(self) -> Iterator[Said]:
        for side in (0, 1):
            sentences = [self._sentence() for _ in range(self._random.choice((1, 1, 2, 3)))]
            yield self._said(side, AFTER_A_SENTENCE[self._language].join(sentences))

    def _said(self, side: int, text: str) -> Said:
        name = self._pair[side]
        return Said(f"{self._pair[0]}{next(self._count)}", ("user", "assistant")[side], f"{name}: {text}")

    def _sentence(self) -> str:
        talk = _data("everyday")[self._language]
        chosen = {name: self._random.choice(words) for name, words in talk["slots"].items()}
        return str(self._random.choice(talk["sentences"]).format(**chosen))


class _Work:
    """A long session of a person with an agent."""

    def __init__(self, number: int) -> None:
        self._random = Random(f"{SEED} {number}")
        self._name = f"w{number}"
        self._components = _data("long_work")["components"][number::LONG_SESSIONS]
        self._talk = _data("long_work")["talk"]
        self.session = [said for turn in range(LONG_TURNS) for said in self._turn(turn)]

    def asked(self) -> Iterator[tuple[int, Asked]]:
        """Have each fact told of each component; the fact's number, and what is asked about it."""
        for number, fact in enumerate(_data("long_work")["fact"]):
            for it in self._components:
                changes = "now" in fact and self._random.random() < CHANGED
                values = self._random.sample(fact["values"], 2)
                places = sorted(self._random.sample(range(len(self.session)), 2))
                key = self._put(places[0], self._random.choice(fact["says"]), values[0], it)
                if changes:
                    key = self._put(places[1], self._random.choice(fact["now"]), values[1], it)
                question = self._random.choice(fact["asks_now" if changes else "asks"])
                kind = "long, changed" if changes else "long"
                yield number, Asked(question.format(it=it), frozenset([key]), kind)

    def _put(self, at: int, template: str, value: str, it: str) -> str:
        """As one more sentence of the message there."""
        said = self.session[at]
        parts = said.text.split("\n\n")
        number = self._random.randrange(len(parts))
        text = template.format(x=value, it=it)
        parts[number] = f"{parts[number]} {text[0].upper()}{text[1:]}"
        self.session[at] = said._replace(text="\n\n".join(parts))
        return said.key

    def _turn(self, turn: int) -> Iterator[Said]:
        yield Said(f"{self._name}.{turn}u", "user", self._text("user", self._random.randint(2, 8)))
        yield Said(f"{self._name}.{turn}a", "assistant", self._text("assistant", self._random.randint(6, 16)))

    def _text(self, role: str, paragraphs: int) -> str:
        return "\n\n".join(self._paragraph(role) for _ in range(paragraphs))

    def _paragraph(self, role: str) -> str:
        if self._random.random() < 0.15:
            return str(self._random.choice(self._talk["code"]))
        sentences = self._random.sample(self._talk[role], self._random.randint(2, 5))
        return " ".join(
            each.format(**dict(zip("ab", self._random.sample(self._talk["parts"], 2), strict=True)))
            for each in sentences
        )
