"""How much work it may take to judge one command: the one place that counts it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hermes_jobs.tools.brace_words import Made

MAX_CHARACTERS = 300_000  # read and expanded; a command has at most 100,000
MAX_WORDS = 5_000
MAX_MADE_WORDS = 100_000  # by braces
MAX_MADE_CHARACTERS = 10_000_000
MAX_COMMANDS = 500
MAX_PATHS = 1_500
MAX_DEPTH = 20


class Unparsable(Exception):
    """The text is not a shell command, or cannot be analysed."""


class Budget:
    """What is left for one command; every method raises `Unparsable` when it takes more than that."""

    def __init__(self) -> None:
        self._characters = MAX_CHARACTERS
        self._words = MAX_WORDS
        self._made_words = MAX_MADE_WORDS
        self._made_characters = MAX_MADE_CHARACTERS
        self._commands = MAX_COMMANDS
        self._paths = MAX_PATHS
        self._depth = 0

    def characters(self, number: int) -> None:
        """Characters to read, or those that an expansion makes. Raises `Unparsable`."""
        self._characters -= number
        if self._characters < 0:
            raise Unparsable("it expands to too much text")

    def words(self, number: int) -> None:
        """Words of commands and of those that wrappers run; parts that may be paths. Raises `Unparsable`."""
        self._words -= number
        if self._words < 0:
            raise Unparsable("it holds too many words")

    def made(self, made: Made) -> None:
        """What braces stand for, which a shell would hold in memory. Raises `Unparsable`."""
        self._made_words -= made.words
        self._made_characters -= made.characters
        if self._made_words < 0 or self._made_characters < 0:
            raise Unparsable("its braces stand for too many words")

    def command(self) -> None:
        """One more command. Raises `Unparsable`."""
        self._commands -= 1
        if self._commands < 0:
            raise Unparsable("it holds too many commands")

    def path(self) -> None:
        """One more path to look up. Raises `Unparsable`."""
        self._paths -= 1
        if self._paths < 0:
            raise Unparsable("it names too many files")

    def deep(self, depth: int) -> None:
        """A depth of nesting that a caller counts. Raises `Unparsable`."""
        if depth > MAX_DEPTH:
            raise Unparsable("it is nested too deeply")

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One more level of nesting. Raises `Unparsable`."""
        self._depth += 1
        self.deep(self._depth)
        try:
            yield
        finally:
            self._depth -= 1
