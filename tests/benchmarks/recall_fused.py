"""What `memory.recall` puts before a turn, by each of its tracks: `python -m tests.benchmarks recall_fused`.

The questions of `recall_talks`, and texts to which the history has nothing to say. Without arguments
embeddings are a toy that gives the same vector for the same text: hashed words and groups of three letters
(`tests.embeddings_api`). It does not know what words mean, so it measures the fusion and its thresholds, and
not what embeddings of a model would find. `python -m tests.benchmarks.recall_fused URL MODEL [THRESHOLD …]`
takes the vectors of an OpenAI-compatible endpoint, with the key in the environment variable
EMBEDDINGS_API_KEY, and repeats the rows with embeddings for each threshold.

evidence: the share of questions with evidence among the turns that are recalled; all: the share of the
evidence's turns. nothing: the share of turns that are given no passage, of questions with an answer (better
low) and of texts without one (better high).
"""

from __future__ import annotations

import os
import sys
import tempfile
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from msgspec.structs import replace

from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.features.recall.fused_recall import FusedRecall
from hermes_jobs.features.recall.question_vector import QuestionVectors
from hermes_jobs.features.recall.rules import stream_of, vectors_of
from hermes_jobs.features.recall.session_recall import SessionRecall
from hermes_jobs.features.recall.tables.embeddings import select_exchanges_without
from hermes_jobs.features.recall.tables.entities import select_names
from hermes_jobs.features.recall.vector_index import VectorIndex
from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import Cancel, Embedder, Recalled, Vectors
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.log import Append, EventLog, StreamWrite
from hermes_jobs.kernel.streams.decision import LargeResult
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.views.views import Views
from hermes_jobs.llm.embeddings_client import EmbeddingsEndpoint
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker
from hermes_jobs.settings.sections.models import EmbeddingsSettings
from hermes_jobs.system.clock import SystemClock
from hermes_jobs.text.tokens import tokens
from hermes_jobs.text.vectors import packed
from tests.benchmarks.recall import day_of, mcnemar, signs, write
from tests.benchmarks.recall_set import Asked, RecallSet, Said
from tests.benchmarks.recall_talks import talks
from tests.embeddings_api import toy_vector
from tests.memory.provider_support import session

CALL = 100  # texts
LATER = 10_000  # days after the beginning
UNANSWERED = (
    *("Good morning!", "Thanks, that is all.", "ok", "Write a haiku about autumn leaves", "Is water wet?"),
    *("Which volcano erupted in Iceland in 2010?", "Translate 'bread' into Finnish", "Why is the sky blue?"),
    *("Who composed the Brandenburg Concertos?", "Convert 30 miles to kilometres", "What is 17 times 23?"),
    *("How do I centre a div?", "What is the capital of Mongolia?", "Tell me a joke about penguins"),
    *("Summarise the plot of Macbeth", "Sort these numbers: 9 4 7", "Explain quantum tunnelling"),
    *(
        "What did Zebulon say about his submarine?",
        "Give me a regex for hexadecimal colours",
        "Guten Morgen!",
    ),
    *("How deep is the Mariana trench?", "Danke, das war alles.", "Wie heißt die Hauptstadt von Bhutan?"),
    *("Was ist ein Quasar?", "Erkläre mir Photosynthese", "¡Buenos días!", "¿Quién pintó Las Meninas?"),
    *("¿Qué es un agujero negro?", "Gracias, eso es todo", "早上好！", "谢谢，再见"),
    *("珠穆朗玛峰有多高？", "用一句话解释相对论", "写一首关于秋天的诗"),
)
MEANT = (
    ("My sister Ottoline is back from Peru", "Ottoline broke a collarbone", "Is my sister all right?"),
    ("My boss Henning is new", "Henning hates slides", "What annoys my boss?"),
    ("My neighbour Fenella keeps bees", "Fenella is allergic to wasps", "Was hat meine Nachbarin?"),
    ("Mein Bruder Thorben zieht um", "Thorben took the night shift", "When does my brother work?"),
    ("Mi tía Remedios vive en Lugo", "Remedios sold her flat", "What did my aunt do?"),
    ("Our landlord Achterberg is slow", "Achterberg sent a plumber", "Did the landlord react?"),
    ("My wife Solveig teaches", "Solveig wants a kiln", "Give me an idea for a present for my wife"),
    ("My dentist Kuzmin is nearer", "Kuzmin moved to Elm Row", "Where is my dentist?"),
    ("My son Lorcan is six", "Lorcan adores newts", "Which animals does my son like?"),
    ("My dog Pumpernickel is old", "Pumpernickel limps", "What is wrong with our dog?"),
)
"""A text that says who somebody is, a later one that has the name only, and a question that has not."""


class Figures(NamedTuple):
    """What one way recalls, a value for each question or text."""

    evidence: list[bool]
    share: list[float]
    nothing: list[bool]
    silent: list[bool]
    tokens: list[int]


def by_another_name() -> RecallSet:
    """Sessions of one text, and the questions of `MEANT`."""
    sessions: list[list[Said]] = []
    questions: list[Asked] = []
    for number, (who, later, question) in enumerate(MEANT):
        sessions += [[Said(f"who{number}", "user", who)], [Said(f"later{number}", "user", later)]]
        questions.append(Asked(question, frozenset([f"later{number}"]), "entities"))
    return RecallSet(sessions, questions)


class Toy:
    """An `Embedder` without a server."""

    model = "toy"

    def embed(self, texts: Sequence[str], cancel: Cancel, *, seconds: float = 60.0) -> Vectors:
        """Hashes, not meaning."""
        vectors = tuple(packed(toy_vector(each)) for each in texts)
        return Vectors(vectors=vectors, model=self.model, usage=Usage(1))

    def cost_usd(self, usage: Usage) -> float | None:
        """Nothing."""
        return 0.0


class Unpriced:
    """A `Pricing` that knows no price."""

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """None."""
        return None


class Once:
    """An `Embedder` that asks another one for each text once."""

    def __init__(self, embedder: Embedder) -> None:
        self.model = embedder.model
        self._embedder = embedder
        self._vectors: dict[str, bytes] = {}

    def embed(self, texts: Sequence[str], cancel: Cancel, *, seconds: float = 60.0) -> Vectors:
        """See `Embedder.embed`."""
        new = [each for each in dict.fromkeys(texts) if each not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._embedder.embed(new, cancel).vectors, strict=True))
        vectors = tuple(self._vectors[each] for each in texts)
        return Vectors(vectors=vectors, model=self.model, usage=Usage(1))

    def cost_usd(self, usage: Usage) -> float | None:
        """See `Embedder.cost_usd`."""
        return self._embedder.cost_usd(usage)


def main() -> None:
    """Print the tables of the toy."""
    measure(Toy(), [EmbeddingsSettings().threshold])


def main_of_endpoint(base_url: str, model: str, *thresholds: str) -> None:
    """Print the tables of an endpoint's model."""
    endpoint = EmbeddingsEndpoint(
        model=model,
        name=model,
        base_url=base_url,
        api_key=os.environ.get("EMBEDDINGS_API_KEY"),
        pricing=Unpriced(),
    )
    measure(endpoint, [float(each) for each in thresholds] or [EmbeddingsSettings().threshold])
    endpoint.close()


def measure(embedder: Embedder, thresholds: Sequence[float]) -> None:
    """Print the tables of the open part, the held-out part and the names."""
    embedder = Once(embedder)
    with tempfile.TemporaryDirectory() as folder:
        log = open_log(sqlite_url(Path(folder) / "events.db"))
        open_part, held_out, meant = talks(), talks(held_out=True), by_another_name()
        keys = write(log, RecallSet([*open_part.sessions, *meant.sessions], []))
        views = Views(log, Path(folder) / "views")
        turns = turns_of(log, keys)
        embed_all(log, views, embedder)
        for name, chosen in (
            ("open part", open_part),
            ("held-out part", held_out),
            ("meant by another name", meant),
        ):
            show(
                f"{name}, {len(chosen.questions)} questions", chosen, turns, ways(views, embedder, thresholds)
            )
        views.close()
        log.close()


def show(title: str, chosen: RecallSet, turns: Mapping[str, str], recalls: Mapping[str, FusedRecall]) -> None:
    """Ask every question by every combination of tracks."""
    print(f"\n{title:<34}{'evidence':>9}{'all':>7}{'nothing':>9}{'… unasked':>11}{'tokens':>8}")
    found = {name: figures(recall, chosen, turns) for name, recall in recalls.items()}
    for name, each in found.items():
        shares = (mean(each.evidence), mean(each.share), mean(each.nothing), mean(each.silent))
        print(f"{name:<34}{shares[0]:>9.3f}{shares[1]:>7.3f}{shares[2]:>9.3f}{shares[3]:>11.3f}", end="")
        print(f"{mean(each.tokens):>8.0f}")
    words, *others = found.items()
    for name, each in others:
        better, worse, chance = mcnemar(each.evidence, words[1].evidence)
        changed = signs([a - b for a, b in zip(each.share, words[1].share, strict=True)])
        print(
            f"{name} against words: {better} better, {worse} worse, p = {chance:.3f}; all p = {changed:.3f}"
        )


def ways(views: Views, embedder: Embedder, thresholds: Sequence[float]) -> dict[str, FusedRecall]:
    """Recall as it is configured: by words alone, and with each other track."""
    circuit = CircuitBreaker("embeddings", SystemClock(), str)

    def names(aliases: Collection[str]) -> tuple[str, ...]:
        return views.read(select_names, aliases)

    found = {
        "words": FusedRecall(None, SessionRecall(Conversations(views))),
        "words, entities": FusedRecall(None, SessionRecall(Conversations(views)), names=names),
    }
    longest = EmbeddingsSettings().max_chars
    for least in thresholds:
        vectors = QuestionVectors(embedder, VectorIndex(views), circuit, max_length=longest, minimum=least)
        recall = SessionRecall(Conversations(views), vectors)
        found[f"words, embeddings {least}"] = FusedRecall(vectors, recall)
        found[f"words, entities, embeddings {least}"] = FusedRecall(vectors, recall, names=names)
    return found


def figures(recall: FusedRecall, chosen: RecallSet, turns: Mapping[str, str]) -> Figures:
    """Ask everything."""
    asking = replace(session(), stream="session-asking")
    found = Figures([], [], [], [], [])
    for each in chosen.questions:
        recalled = recall(asking, each.question)
        wanted, there = {turns[key] for key in each.evidence}, turns_in(recalled)
        found.evidence.append(bool(wanted & there))
        found.share.append(len(wanted & there) / len(wanted))
        found.nothing.append(not there)
        found.tokens.append(tokens(recalled.text))
    found.silent.extend(not turns_in(recall(asking, text)) for text in UNANSWERED)
    return found


def turns_in(recalled: Recalled) -> set[str]:
    """The turns whose passages were recalled."""
    return {item.name for item in recalled.found}


def turns_of(log: EventLog, keys: Mapping[int, str]) -> dict[str, str]:
    """The turn of each message, by the message's key."""
    said = (each for each in log.tail(0, sys.maxsize >> 1) if each.position in keys)
    return {
        keys[each.position]: each.event.turn
        for each in said
        if isinstance(each.event, e.TurnSubmitted | e.ModelReplied)
    }


def embed_all(log: EventLog, views: Views, embedder: Embedder) -> None:
    """Give every exchange its vector, as workers would: planned and ended, in the log."""
    while waiting := views.read(select_exchanges_without, embedder.model, before=day_of(LATER), limit=CALL):
        name = waiting[0].digest
        longest = EmbeddingsSettings().max_chars
        said = ["\n".join(each.texts(views.texts_at))[:longest] for each in waiting]
        vectors = embedder.embed(said, CancelToken()).vectors
        planned = recall_events.EmbeddingPlanned(
            embedding=name,
            model=embedder.model,
            texts=tuple(recall_events.EmbeddedText(each.stream, each.digest) for each in waiting),
        )
        ended = e.HelperCallEnded(step=f"{name}-1", attempt=1, model=embedder.model)
        stream = stream_of(name)
        lines = [b64encode(vector).decode() for vector in vectors]
        log.append(
            Append(
                meta=EventMeta(worker="w"),
                recorded_at=day_of(LATER),
                writes=(StreamWrite(stream=stream, events=(planned, ended), expected=None),),
                results=(LargeResult(call=vectors_of(stream), content="\n".join(lines)),),
                durable=False,
            )
        )


if __name__ == "__main__":
    main_of_endpoint(*sys.argv[1:]) if sys.argv[1:] else main()
