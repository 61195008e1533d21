"""How much of what was said is found again by who asks: `python -m tests.benchmarks recall`; on other sets:
`python -m tests.benchmarks.recall FILE …` (see `recall_set` for their form).

any@5: the share of questions with a session that holds evidence among the first five. msg@10: the share of
the evidence's messages among the first ten. none: questions that find nothing. Beside it, in the same run,
plain FTS5 (porter stems, any word, BM25; messages, and both fused by rank), with paired tests:
McNemar's, exact, for any@5, and random changes of sign for msg@10.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from math import comb
from pathlib import Path
from random import Random
from statistics import mean, median, quantiles
from typing import NamedTuple

from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.log import Append, EventLog, StreamWrite
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.views.views import Views
from tests.benchmarks.recall_projects import projects
from tests.benchmarks.recall_set import Asked, RecallSet, made_up, read
from tests.benchmarks.recall_talks import talks

BEGINNING = datetime(2025, 1, 1, 12, tzinfo=UTC)
FUSED = 60  # as in the paper on reciprocal rank fusion
TOKENIZER = "porter unicode61"
CHANGES = 2_000  # of sign

Way = Callable[[str], Sequence[str]]
"""Gives the keys of the messages that are found for a question, best first."""


class Score(NamedTuple):
    """What became of each question, in order."""

    any5: list[bool]
    msg10: list[float]
    none: list[bool]
    spent: list[float]


SETS: Mapping[str, Callable[[], RecallSet]] = {
    "facts": made_up,
    "talks": talks,
    "projects": projects,
    "held-out": lambda: talks(held_out=True),
}


def main(wanted: Sequence[str] = ()) -> None:
    """Print a table for each of our sets that is named, all of them without a name; or one for files."""
    files = [each for each in wanted if each not in SETS]
    if files:
        show(read(map(Path, files)))
        if len(files) > 1:
            show_each([read([Path(file)]) for file in files])
        return
    for name, make in SETS.items():
        if not wanted or name in wanted:
            print(f"\n-- {name} --")
            show(make())


def show(chosen: RecallSet) -> None:
    """Ask every question every way."""
    with tempfile.TemporaryDirectory() as folder:
        show_in(chosen, Path(folder))


def show_in(chosen: RecallSet, folder: Path) -> None:
    """The same with the log in that folder."""
    num_messages = sum(map(len, chosen.sessions))
    print(f"{len(chosen.questions)} questions, {num_messages:,} messages, {len(chosen.sessions)} sessions\n")
    log = open_log(sqlite_url(folder / "events.db"))
    keys = write(log, chosen)
    views = Views(log, folder / "views")
    ways = ways_of(views, keys, Plain(chosen))
    scores = {name: score(chosen, way) for name, way in ways.items()}
    print(f"{'':<34}{'any@5':>7}{'msg@10':>8}{'none':>7}{'p50 ms':>8}{'p95 ms':>8}")
    for name, each in scores.items():
        figures = (mean(each.any5), mean(each.msg10), mean(each.none))
        times = (median(each.spent), quantiles(each.spent, n=20)[-1])
        print(
            f"{name:<34}{figures[0]:>7.3f}{figures[1]:>8.3f}{figures[2]:>7.3f}{times[0]:>8.1f}{times[1]:>8.1f}"
        )
    best = scores["plain FTS5, with sessions"]
    for name in list(ways)[:2]:
        better, worse, chance = mcnemar(scores[name].any5, best.any5)
        changed = signs([a - b for a, b in zip(scores[name].msg10, best.msg10, strict=True)])
        print(
            f"\n{name} against plain FTS5 with sessions: any@5 {better} better, {worse} worse,"
            f" p = {chance:.3f}; msg@10 p = {changed:.3f}"
        )
    by_kind(chosen.questions, scores["sessions search"])
    views.close()
    log.close()


def show_each(histories: Sequence[RecallSet]) -> None:
    """The same where each file is a history of its own: any@5 and msg@10 over all their questions."""
    print("\neach file as a history of its own")
    found: dict[str, list[Score]] = {}
    for history in histories:
        plain = Plain(history)
        with tempfile.TemporaryDirectory() as folder:
            log = open_log(sqlite_url(Path(folder) / "events.db"))
            keys = write(log, history)
            views = Views(log, Path(folder) / "views")
            for name, way in ways_of(views, keys, plain).items():
                found.setdefault(name, []).append(score(history, way))
            views.close()
            log.close()
    for name, scores in found.items():
        any5 = mean(chain.from_iterable(each.any5 for each in scores))
        msg10 = mean(chain.from_iterable(each.msg10 for each in scores))
        print(f"{name:<34}{any5:>7.3f}{msg10:>8.3f}")


def ways_of(views: Views, keys: Mapping[int, str], plain: Plain) -> dict[str, Way]:
    """Every way in which a question is asked, by its name in the tables."""
    past = Conversations(views)
    return {
        "sessions search": lambda question: [keys[hit.position] for hit in past.search(question)],
        "passages, as the model has them": lambda question: [
            keys[each.hit.position] for each in past.passages(question, limit=20)
        ],
        "plain FTS5, messages": plain.messages,
        "plain FTS5, with sessions": plain.fused,
    }


def by_kind(questions: Sequence[Asked], found: Score) -> None:
    """The same by the kind of question."""
    print()
    for kind in sorted({each.kind for each in questions}):
        these = [at for at, each in enumerate(questions) if each.kind == kind]
        any5, msg10 = (mean(values[at] for at in these) for values in (found.any5, found.msg10))
        print(f"  {kind or 'all':<14}{len(these):>5}{any5:>7.3f}{msg10:>8.3f}")


def score(chosen: RecallSet, way: Way) -> Score:
    """Ask every question."""
    session_of = {said.key: number for number, told in enumerate(chosen.sessions) for said in told}
    found = Score([], [], [], [])
    for each in chosen.questions:
        began = time.perf_counter()
        keys = way(each.question)
        found.spent.append((time.perf_counter() - began) * 1000)
        sessions = list(dict.fromkeys(session_of[key] for key in keys))[:5]
        found.any5.append(any(session_of[key] in sessions for key in each.evidence))
        found.msg10.append(len(each.evidence.intersection(keys[:10])) / len(each.evidence))
        found.none.append(not keys)
    return found


def write(log: EventLog, chosen: RecallSet) -> Mapping[int, str]:
    """Put the sessions into a log as turns; each message's key by its position."""
    keys: dict[int, str] = {}
    for number, told in enumerate(chosen.sessions):
        session, facts, turn = f"s{number}", list[e.SessionEvent](), ""
        before = log.last_position()
        for at, said in enumerate(told):
            if said.role == "user" or not turn:
                turn = f"t{number}x{at}"
                opening = None if facts else e.Opening()
                submitted = e.TurnSubmitted(
                    turn=turn, text=said.text, source="cli", session=session, opening=opening
                )
                keys[before + len(facts) + 1] = said.key
                facts += [submitted, e.ContextPrefetched(turn=turn, model="m", max_iterations=3)]
                continue
            step = f"{turn}-{at}"
            keys[before + len(facts) + 1] = said.key
            facts.append(
                e.ModelReplied(turn=turn, step=step, content=said.text, model="m", finish_reason="stop")
            )
        written = StreamWrite(stream=stream_of(session), events=tuple(facts), expected=None)
        log.append(
            Append(meta=EventMeta(worker="w"), recorded_at=day_of(number), writes=(written,), durable=False)
        )
    return keys


def day_of(session: int) -> str:
    """When a session is: each has its day."""
    return (BEGINNING + timedelta(days=session)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Plain:
    """FTS5 with its own stemmer and ranking: what takes an afternoon."""

    def __init__(self, chosen: RecallSet) -> None:
        self._rows = sqlite3.connect(":memory:")
        for table in ("said", "told"):
            self._rows.execute(
                f"CREATE VIRTUAL TABLE {table} USING fts5 (text, tokenize = 'porter unicode61')"
            )
        self._keys = [said.key for told in chosen.sessions for said in told]
        self._sessions = [number for number, told in enumerate(chosen.sessions) for _ in told]
        texts = [(said.text,) for told in chosen.sessions for said in told]
        self._rows.executemany("INSERT INTO said (text) VALUES (?)", texts)
        whole = [("\n".join(said.text for said in told),) for told in chosen.sessions]
        self._rows.executemany("INSERT INTO told (text) VALUES (?)", whole)

    def messages(self, question: str) -> list[str]:
        """Messages with any word."""
        return [self._keys[number - 1] for number in self._ranked("said", question)]

    def fused(self, question: str) -> list[str]:
        """Messages by their own rank and that of their session."""
        sessions = {number - 1: rank for rank, number in enumerate(self._ranked("told", question))}
        worth = {
            number: 1 / (FUSED + rank) + 1 / (FUSED + sessions.get(self._sessions[number - 1], 1_000))
            for rank, number in enumerate(self._ranked("said", question))
        }
        return [self._keys[number - 1] for number in sorted(worth, key=lambda each: -worth[each])]

    def _ranked(self, table: str, question: str) -> Iterator[int]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", question)))
        query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT 400"
        return (number for (number,) in self._rows.execute(query, (words,)).fetchall())


def mcnemar(ours: Sequence[bool], theirs: Sequence[bool]) -> tuple[int, int, float]:
    """Where only one of two finds it, and how likely that much is by chance."""
    better = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    worse = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    either = better + worse
    tail = sum(comb(either, each) for each in range(min(better, worse) + 1)) / 2**either
    return better, worse, min(1.0, 2 * tail)


def signs(differences: Sequence[float]) -> float:
    """How likely a mean as large is where each difference might as well have the other sign."""
    random, ours = Random(1), abs(sum(differences))
    apart = [each for each in differences if each]
    chance = sum(abs(sum(random.choice((-1, 1)) * each for each in apart)) >= ours for _ in range(CHANGES))
    return chance / CHANGES


if __name__ == "__main__":
    main(sys.argv[1:])
