"""A query whose words need not all be there: what of it has to be, and what is worth looking for.

Quoted phrases have to be in every message; in a whole sentence, where none holds them, they are looked for
like words. Each other word may be there, in any of its forms. A query with
`AND`, `OR` or `NOT` says itself what it needs, and is not a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import msgspec

from hermes_jobs.text.search.folding import UNSPACED, WORD_CHARACTERS, fold, pattern
from hermes_jobs.text.search.function_words import function_roots, roots_of_now
from hermes_jobs.text.search.query import MAX_CHARS, Expression, any_of, every, positive_terms, tokens
from hermes_jobs.text.search.stems import forms, stem
from hermes_jobs.text.search.terms import Term, pieces

MAX_WORDS = 40  # of a long text; those that are met first
_JOINED = rf"{WORD_CHARACTERS}(?:['’‘`-]{WORD_CHARACTERS})+"


class QuestionWord(msgspec.Struct, frozen=True):
    """Something a question asks for, met by any of its terms; the first is as it was written.

    `root` is the stem or pair of characters that stands for it in passages; None for what has none. The terms
    of a word are its forms; a function word has none beside itself.
    """

    terms: tuple[Term, ...]
    root: str | None = None

    @property
    def expression(self) -> Expression:
        """One of its terms."""
        expression = any_of(self.terms)
        assert expression is not None
        return expression


class Question(msgspec.Struct, frozen=True):
    """`must` has to be in every message (None: nothing has to be); any of `parts` is searched for."""

    must: Expression | None
    parts: tuple[QuestionWord, ...]

    @property
    def num_words(self) -> float:
        """The approximate number of words; two characters of a script without spaces count as one."""
        pairs = sum(word.root is not None and is_unspaced(word.root) for word in self.parts)
        return len(self.parts) - pairs / 2

    @property
    def without_must(self) -> Question:
        """The same where no phrase has to be there: each is looked for like a word, and stays whole."""
        phrases = () if self.must is None else positive_terms(self.must)
        return Question(None, (*self.parts, *(QuestionWord((phrase,)) for phrase in phrases)))


def asks_for_now(question: Question) -> bool:
    """Whether it asks for what holds at present, and not for what held once."""
    return any(word.root in roots_of_now() for word in question.parts)


def question(query: str) -> Question | None:
    """The query as a question; None where it says itself what has to be there, or holds nothing else."""
    must: list[Expression] = []
    words: dict[str, QuestionWord] = {}
    for token in tokens(query):
        if token.sign in {"AND", "OR", "NOT"}:
            return None
        if token.term is None:
            continue
        if token.quoted:
            must.append(token.term)
            continue
        for form in _words_of(token.term):
            words.setdefault(form.root or form.terms[0].text, form)
    return Question(every(must), tuple(words.values())[:MAX_WORDS]) if words else None


def as_question(text: str) -> str:
    """Any text as a query that is a question: nothing in it is an operator, and nothing has to be there.

    Empty where there is nothing in it to look for.
    """
    plain = re.sub(r"\b(AND|OR|NOT)\b", lambda word: word[0].lower(), text[:MAX_CHARS])
    plain = plain.translate({ord(mark): " " for mark in '"“”„‟＂*'}).strip()
    return plain if question(plain) is not None else ""


@lru_cache(maxsize=20_000)
def roots(text: str) -> frozenset[str]:
    """What stands for each word of a short text, in any of its forms: stems, and pairs of characters of a
    script without spaces."""
    return frozenset(root_sequence(text))


def root_sequence(text: str) -> tuple[str, ...]:
    """The `roots` of a short text in their order, with repetitions."""
    ordered: list[str] = []
    for piece in pieces(fold(text)):
        if piece.kind == "word":
            ordered.append(stem(piece.text))
        elif piece.kind == "signed" or len(piece.text) == 1:
            ordered.append(piece.text)
        else:
            ordered.extend(map("".join, pairwise(piece.text)))
    return tuple(ordered)


def _words_of(term: Term) -> Iterator[QuestionWord]:
    if term.prefix:
        yield QuestionWord((term,))
        return
    parts = list(pieces(term.text))
    if pattern(_JOINED).fullmatch(term.text):
        for piece in parts:
            if len(piece.text) > 1:
                yield _word(piece.text)
        return
    spelled = {piece.kind for piece in parts}
    if spelled == {"word"} or "signed" in spelled:
        yield _word(parts[0].text) if len(parts) == 1 and spelled == {"word"} else QuestionWord((term,))
        return
    for piece in parts:
        if piece.kind == "word":
            yield _word(piece.text)
        elif len(piece.text) == 1 or not is_unspaced(piece.text):
            yield QuestionWord((Term(piece.text),), piece.text if len(piece.text) == 1 else None)
        else:
            for pair in map("".join, pairwise(piece.text)):
                yield QuestionWord((Term(pair),), pair)


def is_unspaced(root: str) -> bool:
    """Whether it is of a script without spaces."""
    return pattern(f"[{UNSPACED}]").match(root) is not None


def _word(word: str) -> QuestionWord:
    root = stem(word)
    written = (word,) if root in function_roots() else forms(word)
    return QuestionWord(tuple(map(Term, written)), root)
