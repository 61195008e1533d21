"""Talks with questions whose evidence is known: made up here, the same for the same seed, or read from files.

Made up: people tell facts in passing, in six languages, among other talk. Questions use other words than the
facts do, other people tell of the same things, and some facts change later, when the newest is the evidence.

Files: JSON of chats as LoCoMo and REALTALK publish them (`session_1`, `session_2`, … with `dia_id`, `speaker`
and `text` or `clean_text`; `qa` with `question` and `evidence`), several files being one history; or our own
shape, `{"sessions": [[{"id", "role", "text"}, …], …], "questions": [{"question", "evidence": [id, …]}, …]}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

SEED = 20261122
PEOPLE = (
    *("Anna", "Boris", "Clara", "Deniz", "Emil", "Farah", "Goran", "Hanna", "Ivo", "Jana", "Kofi", "Lena"),
    *("Marek", "Nadia", "Oskar", "Paula", "Quentin", "Rosa", "Stefan", "Tamara", "Umberto", "Vera", "Wanda"),
    *("Xenia", "Yusuf", "Zoran", "Agnes", "Bela", "Cosima", "Dario", "Edda", "Felix", "Greta", "Henrik"),
    *("Ines", "Joris", "Katja", "Leonid", "Mina", "Nils"),
)


class Said(NamedTuple):
    """A message; `key` names it in its set."""

    key: str
    role: str
    text: str


class Asked(NamedTuple):
    """A question, and the messages that answer it."""

    question: str
    evidence: frozenset[str]
    kind: str


class RecallSet(NamedTuple):
    """Sessions in order, and what is asked about them."""

    sessions: list[list[Said]]
    questions: list[Asked]


class Topic(NamedTuple):
    """One thing that people tell: facts, a change of it, and questions, with {who} and {what}."""

    facts: tuple[str, ...]
    change: str
    questions: tuple[str, ...]
    whats: tuple[str, ...]


LANGUAGES: dict[str, tuple[tuple[Topic, ...], tuple[str, ...], str]] = {
    "en": (
        (
            Topic(
                (
                    "{who} adopted {what} from the shelter last week",
                    "{who} has been walking {what} every morning",
                ),
                "{who} gave the old one away and now keeps {what}",
                ("What pet does {who} have?", "Which animal did {who} adopt?", "What is {who} walking?"),
                ("a grey whippet", "two ferrets", "a three-legged cat", "an elderly beagle"),
            ),
            Topic(
                ("{who} is moving to {what} for the new job", "{who} signed a lease in {what}"),
                "{who} changed plans and will live in {what} instead",
                (
                    "Where is {who} moving?",
                    "In which city did {who} sign the lease?",
                    "Where will {who} live?",
                ),
                ("Ghent", "Tallinn", "Porto", "Bergen"),
            ),
            Topic(
                ("{who} cannot eat {what}, the doctor said", "{who} got a rash after the {what}"),
                "{who} is fine with that again, but now {what} is forbidden",
                ("What is {who} allergic to? What can't {who} eat?", "Which food did {who}'s doctor forbid?"),
                ("shellfish", "hazelnuts", "rye bread", "strawberries"),
            ),
            Topic(
                ("The {what} migration is owned by {who}", "{who} rolled back the {what} deploy on Friday"),
                "{who} handed that over and looks after the {what} service now",
                ("Which migrations does {who} own?", "Which deployment was rolled back by {who}?"),
                ("billing", "thumbnail", "ledger", "geocoder"),
            ),
        ),
        (
            "The weather was dreadful today, and the train was late again",
            "I will make some coffee first and look at it after the meeting",
            "Can you remind me of the meeting on Thursday?",
            "That film was longer than I expected, but I liked the music",
            "Let us decide that when everyone is back from the holidays",
        ),
        "Thanks, noted. Anything else you want to get done today?",
    ),
    "de": (
        (
            Topic(
                ("{who} hat {what} aus dem Tierheim geholt", "{who} geht jeden Morgen mit {what} spazieren"),
                "{who} musste das Tier abgeben und hat jetzt {what}",
                ("Welches Haustier hat {who}?", "Welches Tier holte {who} aus Tierheimen?"),
                ("einen Dackel", "zwei Kaninchen", "einen blinden Kater"),
            ),
            Topic(
                ("{who} zieht im Frühling nach {what}", "{who} hat eine Wohnung in {what} gemietet"),
                "{who} hat es sich anders überlegt und wird in {what} wohnen",
                ("Wohin zieht {who}?", "Wo mietet {who} Wohnungen?"),
                ("Passau", "Kassel", "Görlitz"),
            ),
        ),
        (
            "Das Wetter war heute schrecklich und die Bahn kam wieder zu spät",
            "Ich mache erst einen Kaffee und schaue es mir nach der Besprechung an",
            "Erinnerst du mich an den Termin am Donnerstag?",
        ),
        "Danke, ist notiert. Soll ich heute noch etwas erledigen?",
    ),
    "fr": (
        (
            Topic(
                ("{who} a adopté {what} au refuge", "{who} promène {what} tous les matins"),
                "{who} a changé d'avis et garde maintenant {what}",
                ("Quel animal {who} a-t-il adopté ?", "Quels animaux promène {who} ?"),
                ("un lévrier", "deux furets", "une chatte noire"),
            ),
        ),
        (
            "Le temps était affreux aujourd'hui et le train est encore arrivé en retard",
            "Je prends un café et je regarde après la réunion",
        ),
        "Merci, c'est noté. Autre chose pour aujourd'hui ?",
    ),
    "es": (
        (
            Topic(
                ("{who} se muda a {what} en otoño", "{who} alquiló un piso en {what}"),
                "{who} cambió de idea y vivirá en {what}",
                ("¿Adónde se muda {who}?", "¿Dónde alquila pisos {who}?"),
                ("Cádiz", "Gijón", "Teruel"),
            ),
        ),
        ("Hoy hizo un tiempo horrible y el tren llegó tarde", "Voy a tomar un café y luego lo miro"),
        "Gracias, apuntado. ¿Algo más para hoy?",
    ),
    "zh": (
        (
            Topic(
                ("{who}从收容所领养了{what}", "{who}每天早上带{what}散步"),
                "{who}后来换了，现在养{what}",
                ("{who}养了什么宠物？", "{who}领养了哪种动物？"),
                ("灰色的猎犬", "两只雪貂", "三条腿的猫"),
            ),
        ),
        ("今天天气很糟糕，火车又晚点了", "我先喝杯咖啡，开完会再看"),
        "好的，已经记下了。今天还有别的事吗？",
    ),
    "ja": (
        (
            Topic(
                ("{who}は春に{what}へ引っ越します", "{who}は{what}で部屋を借りました"),
                "{who}は予定を変えて{what}に住むことにしました",
                ("{who}はどこへ引っ越しますか", "{who}が借りた部屋はどこですか"),
                ("金沢", "松本", "長崎"),
            ),
        ),
        ("今日は天気が悪くて電車も遅れました", "先にコーヒーを飲んで会議の後で見ます"),
        "分かりました。今日は他に何かありますか",
    ),
}


def made_up(seed: int = SEED, sessions: int = 240) -> RecallSet:
    """Several hundred questions about as many sessions."""
    random = Random(seed)
    told = [list(_talk(random, number)) for number in range(sessions)]
    questions: list[Asked] = []
    for language, (topics, _, noted) in LANGUAGES.items():
        for topic in topics:
            for who in PEOPLE:
                questions += _fact(random, told, language, topic, who, noted)
    return RecallSet(told, questions)


def _talk(random: Random, session: int) -> Iterator[Said]:
    """Other talk."""
    _, fillers, noted = LANGUAGES[random.choice(list(LANGUAGES))]
    for turn in range(random.randint(3, 8)):
        yield Said(f"{session}.{turn}u", "user", random.choice(fillers))
        yield Said(f"{session}.{turn}a", "assistant", noted)


def _fact(
    random: Random, told: list[list[Said]], language: str, topic: Topic, who: str, noted: str
) -> Iterator[Asked]:
    """Somebody tells something, perhaps changes it later, and is asked about."""
    what, other = random.sample(topic.whats, 2)
    first, later = sorted(random.sample(range(len(told)), 2))
    number = random.randrange(len(topic.facts))
    text = topic.facts[number].format(who=who, what=what)
    key = _put(random, told[first], text, noted)
    kind = language
    if random.random() < 0.3:
        key = _put(random, told[later], topic.change.format(who=who, what=other), noted)
        kind = f"{language}, changed"
    yield Asked(random.choice(topic.questions).format(who=who), frozenset({key}), kind)


def _put(random: Random, session: list[Said], text: str, noted: str) -> str:
    at = 2 * random.randint(0, len(session) // 2)
    key = f"{session[0].key}+{len(session)}"
    session[at:at] = [Said(key, "user", text), Said(f"{key}a", "assistant", noted)]
    return key


def read(files: Iterable[Path]) -> RecallSet:
    """What files hold, as one history."""
    whole = RecallSet([], [])
    for file in files:
        content = json.loads(file.read_text(encoding="utf-8"))
        for number, chat in enumerate(content if isinstance(content, list) else [content]):
            found = _ours(chat) if "sessions" in chat else _published(chat, f"{file.name}:{number}")
            whole.sessions.extend(found.sessions)
            whole.questions.extend(found.questions)
    return whole


def _ours(content: dict[str, Any]) -> RecallSet:
    sessions = [
        [Said(each["id"], each["role"], each["text"]) for each in told] for told in content["sessions"]
    ]
    asked = [Asked(each["question"], frozenset(each["evidence"]), "") for each in content["questions"]]
    return RecallSet(sessions, asked)


def _published(chat: dict[str, Any], name: str) -> RecallSet:
    talk = chat.get("conversation", chat)
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    sessions: list[list[Said]] = []
    for number in numbers:
        first = talk[f"session_{number}"][0]["speaker"] if talk[f"session_{number}"] else ""
        sessions.append(
            [
                Said(
                    f"{name}/{each['dia_id']}",
                    "user" if each["speaker"] == first else "assistant",
                    f"{each['speaker']}: {each.get('text') or each.get('clean_text') or ''}",
                )
                for each in talk[f"session_{number}"]
            ]
        )
    known = {each.key for told in sessions for each in told}
    questions = []
    for each in chat["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(each.get("evidence") or []))
        evidence = frozenset(f"{name}/{key}" for key in named) & known
        if evidence:
            questions.append(Asked(each["question"], evidence, str(each.get("category", ""))))
    return RecallSet(sessions, questions)
