"""Searching, and making the views again: `python -m tests.benchmarks search`; over as many messages as are
wished for: `python -m tests.benchmarks.search 1000000`.

Each class of queries is searched through `Views.search`, filters and excerpts included. The baseline of a
rebuild is what SQLite needs alone to put the same texts into FTS5 tables, one of words and one of trigrams.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median, quantiles

from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel.engine.ports.conversation_search import Scope
from hermes_jobs.kernel.events import ModelReplied, ToolFinished, TurnSubmitted
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.views.generations import Generations
from hermes_jobs.kernel.views.message_texts import text_of
from hermes_jobs.kernel.views.views import Views
from tests.views.corpus import Corpus

MESSAGES = 100_000
REPEATS = 20
SAMPLE = 20_000  # messages of the baseline, and of those whose bytes are counted
LONGER = 1.53  # with which the corpus has messages of 500 characters
MESSAGE = (TurnSubmitted, ModelReplied, ToolFinished)

Queries = Callable[[Random], str]
COMMON = ("the", "of", "and", "to", "a", "in", "is", "it", "you", "that", "for", "on", "with", "as", "error")
MIDDLING = ("deploy", "config", "proxy", "cache", "queue", "worker", "branch", "merge", "review", "Fehler")
RARE = ("Geschäftsführer", "gelöscht", "await_result")
UNSPACED = ("数据", "系统", "模型", "文件", "東京", "機械", "検索", "검색", "데이터")


def main(messages: int = MESSAGES) -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), messages)


def measure(folder: Path, messages: int) -> None:
    """Build a log of so many messages, and print what searching and rebuilding it takes."""
    log = open_log(sqlite_url(folder / "events.db"))
    Corpus().write(log, messages)
    views = Views(log, folder / "views")
    began = time.perf_counter()
    views.rebuild()
    rebuilt = time.perf_counter() - began
    print(f"{messages:,} messages, {log.last_position():,} events\n")
    show_rebuild(folder, messages, rebuilt)
    (folder / "longer").mkdir()
    show_bytes(folder / "longer")
    print(f"\n{'search for':<44}{'p50 ms':>9}{'p95 ms':>9}{'hits':>7}")
    for name, ask, scope in CLASSES:
        show_class(views, name, ask, scope)
    views.close()
    log.close()


def show_rebuild(folder: Path, messages: int, seconds: float) -> None:
    """A rebuild's rate beside the baseline's."""
    rate = messages / seconds
    words, both = (SAMPLE / spent for spent in baseline(folder))
    print(f"rebuild: {seconds:.1f} s, {rate:,.0f} messages/s")
    print(f"  {rate / both:.0%} of raw FTS5 inserts of the same texts, words and trigrams ({both:,.0f}/s)")
    print(f"  {rate / words:.0%} of raw FTS5 inserts of words alone ({words:,.0f}/s)")


def baseline(folder: Path) -> tuple[float, float]:
    """Seconds for `SAMPLE` texts in a table of words, and in tables of words and trigrams."""
    events = (each for each in Corpus().recorded(SAMPLE) if isinstance(each.event, MESSAGE))
    rows = [(each.position, text_of(each.event)) for each in events]
    words = raw_inserts(folder / "words.db", rows, "unicode61")
    return words, words + raw_inserts(folder / "trigrams.db", rows, "trigram")


def raw_inserts(path: Path, rows: Iterable[tuple[int, str]], tokenizer: str) -> float:
    """Seconds to put the rows into one external-content FTS5 table, a thousand a transaction."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA journal_mode = OFF")
    raw.execute("PRAGMA synchronous = OFF")
    raw.execute("CREATE TABLE said (position INTEGER PRIMARY KEY, content TEXT)")
    raw.execute(
        "CREATE VIRTUAL TABLE found USING fts5"
        f" (content, content = 'said', content_rowid = 'position', tokenize = '{tokenizer}')"
    )
    waiting = iter(rows)
    began = time.perf_counter()
    while batch := list(islice(waiting, 1000)):
        raw.execute("BEGIN")
        raw.executemany("INSERT INTO found (rowid, content) VALUES (?, ?)", batch)
        raw.execute("COMMIT")
    seconds = time.perf_counter() - began
    raw.close()
    return seconds


def show_bytes(folder: Path) -> None:
    """What a message of about 500 characters takes on disk, in the log and in the views."""
    log = open_log(sqlite_url(folder / "events.db"))
    Corpus(length=LONGER).write(log, SAMPLE)
    views = Views(log, folder / "views")
    views.rebuild()
    texts = [text_of(each.event) for each in log.tail(0, sys.maxsize >> 1) if isinstance(each.event, MESSAGE)]
    views.close()
    log.close()
    generation = Generations(folder / "views").current()
    assert generation is not None
    of_log, of_views = ((folder / "events.db").stat().st_size, generation.stat().st_size)
    content = sum(len(text.encode()) for text in texts)
    print(
        f"bytes a message of {sum(map(len, texts)) / len(texts):,.0f} characters:"
        f" log {of_log / len(texts):,.0f}, views {of_views / len(texts):,.0f},"
        f" together {(of_log + of_views) / content:.1f} times its content ({content / len(texts):,.0f})"
    )


def show_class(views: Views, name: str, ask: Queries, scope: Scope) -> None:
    """One class of queries."""
    random = Random(name)
    spent: list[float] = []
    hits: list[int] = []
    for _ in range(REPEATS):
        query = ask(random)
        began = time.perf_counter()
        hits.append(len(Conversations(views).search(query, scope=scope)))
        spent.append((time.perf_counter() - began) * 1000)
    print(f"{name:<44}{median(spent):>9.1f}{quantiles(spent, n=20)[-1]:>9.1f}{median(hits):>7.0f}")


def some(words: Sequence[str], count: int = 1, between: str = " ") -> Queries:
    """Different words of a list, with that between them."""
    return lambda random: between.join(random.sample(words, count))


def phrase(ask: Queries) -> Queries:
    """The words one after the other."""
    return lambda random: f'"{ask(random)}"'


def beginning(length: int) -> Queries:
    """The first letters of a word."""
    return lambda random: f"{random.choice(COMMON + MIDDLING).ljust(length, 'e')[:length]}*"


def both(*asks: Queries, between: str = " ") -> Queries:
    """One of each."""
    return lambda random: between.join(ask(random) for ask in asks)


def asked(*asks: Queries) -> Queries:
    """A question with some of these words, which no message holds all of."""
    question = both(*asks, some(("did", "was", "were", "had"), 1), some(("yesterdays", "zzyzx"), 1))
    return lambda random: f"what {question(random)}?"


ANYWHERE = Scope()
CLASSES: tuple[tuple[str, Queries, Scope], ...] = (
    ("a common word", some(COMMON), ANYWHERE),
    ("a middling word", some(MIDDLING), ANYWHERE),
    ("a rare word", some(RARE), ANYWHERE),
    ("a word that nobody said", some(("zzyzx", "qqqq", "xylophonist")), ANYWHERE),
    ("two common words", some(COMMON, 2), ANYWHERE),
    ("four common words", some(COMMON, 4), ANYWHERE),
    ("a common and a rare word", both(some(COMMON), some(RARE)), ANYWHERE),
    ("a phrase of two common words", phrase(some(COMMON, 2)), ANYWHERE),
    ("a phrase of four common words", phrase(some(COMMON, 4)), ANYWHERE),
    ("common OR common", some(COMMON, 2, " OR "), ANYWHERE),
    ("common OR rare", both(some(COMMON), some(RARE), between=" OR "), ANYWHERE),
    ("common NOT common", some(COMMON, 2, " NOT "), ANYWHERE),
    ("middling NOT four common", both(some(MIDDLING), some(COMMON, 4, " NOT "), between=" NOT "), ANYWHERE),
    (
        "(common OR common) middling",
        lambda r: f"({some(COMMON, 2, ' OR ')(r)}) {some(MIDDLING)(r)}",
        ANYWHERE,
    ),
    ("one letter*", beginning(1), ANYWHERE),
    ("two letters*", beginning(2), ANYWHERE),
    ("four letters*", beginning(4), ANYWHERE),
    ("rare and two letters*", both(some(RARE), beginning(2)), ANYWHERE),
    ("a path, an address, a version", some(("src/core/engine.py", "user@example.com", "3.14")), ANYWHERE),
    ("one character of a script without spaces", lambda random: random.choice("数据系的是東検색"), ANYWHERE),
    ("two characters", some(UNSPACED), ANYWHERE),
    ("four characters", some(UNSPACED, 2, ""), ANYWHERE),
    ("two times two characters", some(UNSPACED, 2), ANYWHERE),
    ("two characters OR a common word", both(some(UNSPACED), some(COMMON), between=" OR "), ANYWHERE),
    ("a question of common words", asked(some(COMMON, 5)), ANYWHERE),
    ("a question of middling words", asked(some(COMMON, 3), some(MIDDLING, 3)), ANYWHERE),
    ("a question with a rare word", asked(some(COMMON, 4), some(MIDDLING, 1), some(RARE, 1)), ANYWHERE),
    ("a question in a script without spaces", some(UNSPACED, 5, "的"), ANYWHERE),
    ("a common word, of the user", some(COMMON), Scope(roles=("user",))),
    ("a common word, of one source", some(COMMON), Scope(source="telegram")),
    ("a common word, before the last months", some(COMMON), Scope(before="2026-01-03T00:00:00Z")),
)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
