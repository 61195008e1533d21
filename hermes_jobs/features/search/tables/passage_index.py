"""The second index: a row for each passage, some messages of a conversation that follow each other.

A question's words are often spread over an exchange, so that no single message contains many of them. A
passage's row holds the stems of all its texts of users and the model
(`index_tokens.tokenize_passage`), each once, without positions: it takes a fraction of the message index.
Tool results are not in it, nor are searches of earlier conversations.

A passage ends when it has `MESSAGES` messages or about `CHARS` characters. Until then its row is replaced
with every batch that adds to it: FTS5 needs a row's old tokens to delete it, so they are computed again from
the texts in the log.
"""

from __future__ import annotations

from sqlite3 import Connection
from typing import Final

from hermes_jobs.features.search.tables.index_tokens import TOKENIZER, tokenize_passage
from hermes_jobs.kernel.views.message_texts import Texts

MESSAGES = 20
CHARS = 6_000
LONGEST = 20_000  # characters of a message that are in its passage's row

TABLES: Final = f"""
    CREATE TABLE passages (
        passage INTEGER PRIMARY KEY, lineage TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
        words INTEGER NOT NULL, open TEXT
    );
    CREATE INDEX passages_by_lineage ON passages (lineage, first);
    CREATE VIRTUAL TABLE entries_of_passages USING fts5 (
        tokens, content = '', columnsize = 0, detail = none, tokenize = "{TOKENIZER}"
    );
"""
"""`first` and `last` are the positions of a passage's first and last message, `words` how many tokens its row
holds, `open` the positions of its messages while more may come."""


class PassageIndex:
    """The passages of a batch of messages, written together."""

    def __init__(self, connection: Connection, texts: Texts) -> None:
        self._connection = connection
        self._texts = texts
        self._last: dict[str, _Passage | None] = {}
        self._touched: dict[int, _Passage] = {}
        (newest,) = connection.execute("SELECT max(passage) FROM passages").fetchone()
        self._newest = newest or 0

    def add(self, lineage: str, position: int, text: str) -> None:
        """Add these messages."""
        if not text:
            return
        passage = self._last[lineage] if lineage in self._last else self._find(lineage)
        if passage is None or passage.is_full:
            self._newest += 1
            passage = self._last[lineage] = _Passage(self._newest, lineage)
        passage.add(position, text)
        self._touched[passage.number] = passage

    def write(self) -> None:
        """Put the passages into the tables."""
        touched = self._touched.values()
        rows = self._connection.executemany
        rows(
            "INSERT INTO entries_of_passages (entries_of_passages, rowid, tokens) VALUES ('delete', ?, ?)",
            [(passage.number, passage.stored_tokens) for passage in touched if passage.is_stored],
        )
        spelled = [(passage, *tokenize_passage(passage.texts)) for passage in touched]
        rows(
            "INSERT INTO entries_of_passages (rowid, tokens) VALUES (?, ?)",
            [(passage.number, tokens) for passage, tokens, _ in spelled],
        )
        # Separate and by number: a statement that may replace several rows makes FTS5 flush its pending rows.
        rows(
            "UPDATE passages SET last = ?, words = ?, open = ? WHERE passage = ?",
            [
                (passage.positions[-1], words, passage.open, passage.number)
                for passage, _, words in spelled
                if passage.is_stored
            ],
        )
        rows(
            "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?)",
            [
                (passage.number, passage.lineage, *passage.range, words, passage.open)
                for passage, _, words in spelled
                if not passage.is_stored
            ],
        )

    def _find(self, lineage: str) -> _Passage | None:
        """The lineage's last passage, if it may grow."""
        query = "SELECT passage, open FROM passages WHERE lineage = ? ORDER BY first DESC LIMIT 1"
        row = self._connection.execute(query, (lineage,)).fetchone()
        passage = None
        if row is not None and row[1] is not None:
            passage = _Passage(row[0], lineage)
            open_positions = list(map(int, row[1].split()))
            texts = self._texts(open_positions)
            for position in open_positions:
                passage.add(position, texts[position])
            passage.stored_tokens, _ = tokenize_passage(passage.texts)
        self._last[lineage] = passage
        return passage


class _Passage:
    """A passage that may still grow. `stored_tokens`: those of its row, if it has one."""

    def __init__(self, number: int, lineage: str) -> None:
        self.number = number
        self.lineage = lineage
        self.positions: list[int] = []
        self.texts: list[str] = []
        self.stored_tokens: str | None = None
        self._chars = 0

    @property
    def is_stored(self) -> bool:
        return self.stored_tokens is not None

    @property
    def range(self) -> tuple[int, int]:
        """The first and the last position."""
        return self.positions[0], self.positions[-1]

    @property
    def is_full(self) -> bool:
        return len(self.positions) >= MESSAGES or self._chars >= CHARS

    @property
    def open(self) -> str | None:
        return None if self.is_full else " ".join(map(str, self.positions))

    def add(self, position: int, text: str) -> None:
        self.positions.append(position)
        self.texts.append(text[:LONGEST])
        self._chars += len(text)
