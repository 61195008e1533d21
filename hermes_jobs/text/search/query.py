"""A person's query as an expression. Whatever is typed means something: nothing here raises.

    docker compose          both words          "docker compose"      one after the other
    docker OR podman        one of them         deploy*               words that begin so
    docker NOT compose      the first without   (a OR b) c            grouped

A term with other characters inside (`src/main.py`, `it's`, `a@b.org`) is a phrase of its parts. Operators
are written in capitals; those without operands, and quotes and brackets without partners, are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import msgspec

from hermes_jobs.text.search.folding import IGNORED, fold
from hermes_jobs.text.search.terms import Term, is_searchable

MAX_CHARS = 2048
MAX_TERMS = 128
MAX_DEPTH = 20  # brackets deeper than this are dropped

_QUOTES = str.maketrans("“”„‟＂", '"""""')
_PUNCTUATION = " ()[]{}<>,;:!?'’`"
_PHRASE = re.compile(r'"(?P<phrase>[^"]*)"(?P<prefix>\*?)')
_CHUNK = re.compile(r'[^\s"]+')
_OPERATORS = ("AND", "OR", "NOT")


class All(msgspec.Struct, frozen=True):
    """Each of them."""

    parts: tuple[Expression, ...]


class AnyOf(msgspec.Struct, frozen=True):
    """At least one of them."""

    parts: tuple[Expression, ...]


class Without(msgspec.Struct, frozen=True):
    """`wanted`, and none of `unwanted`."""

    included: Expression
    excluded: tuple[Expression, ...]


Expression: TypeAlias = Term | All | AnyOf | Without


def parse(query: str) -> Expression | None:
    """What the query asks for; None where it holds nothing that can be searched."""
    return _parsed(query[: MAX_CHARS + 1])


@lru_cache(maxsize=64)
def _parsed(query: str) -> Expression | None:
    """Cached: every hit of a search asks for its query's terms."""
    return _Parser(list(tokens(query))).everything()


def tokens(query: str) -> Iterator[Token]:
    """The query's terms and signs in order, up to `MAX_TERMS` terms."""
    text = query[:MAX_CHARS].encode("utf-8", "replace").decode().translate(_QUOTES)
    return _bounded(_tokens(text))


def is_cut(query: str) -> bool:
    """Whether the query is longer than what is read of it."""
    return len(query) > MAX_CHARS


def positive_terms(expression: Expression) -> tuple[Term, ...]:
    """The terms that a match holds, or may hold; each once."""
    return tuple(dict.fromkeys(_positive(expression)))


def _positive(expression: Expression) -> Iterator[Term]:
    match expression:
        case Term():
            yield expression
        case All(parts) | AnyOf(parts):
            for part in parts:
                yield from _positive(part)
        case Without(included, _):
            yield from _positive(included)


class Token(NamedTuple):
    """A term, or one of `AND`, `OR`, `NOT`, `(`, `)`. `quoted`: it stood between quotes."""

    sign: str
    term: Term | None = None
    quoted: bool = False


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        phrase = _PHRASE.match(text, at)
        if phrase:
            yield from _term(phrase["phrase"], prefix=bool(phrase["prefix"]), quoted=True)
            at = phrase.end()
            continue
        chunk = _CHUNK.match(text, at)
        if chunk:
            yield from _chunk(chunk[0])
        at = chunk.end() if chunk else at + 1


def _chunk(chunk: str) -> Iterator[Token]:
    """What stands between spaces: an operator or a term, in brackets or not."""
    core = chunk.lstrip("(")
    yield from (Token("("),) * (len(chunk) - len(core))
    inner = core.rstrip(")")
    closing = len(core) - len(inner)
    own = min(closing, inner.count("("))  # those of `main()` belong to the word
    if inner in _OPERATORS:
        yield Token(inner)
    else:
        yield from _term(inner, prefix=inner.endswith("*"))
    yield from (Token(")"),) * (closing - own)


def _term(text: str, *, prefix: bool, quoted: bool = False) -> Iterator[Token]:
    folded = fold(text.replace("*", " ")).replace(IGNORED, "")
    bare = " ".join(folded.split()).strip(_PUNCTUATION).rstrip(".")
    if is_searchable(bare):
        yield Token("", Term(bare, prefix), quoted)


def _bounded(tokens: Iterator[Token]) -> Iterator[Token]:
    """The tokens up to `MAX_TERMS` terms."""
    terms = 0
    for token in tokens:
        terms += token.term is not None
        if terms > MAX_TERMS:
            return
        yield token


class _Parser:
    """Reads tokens, `NOT` before `AND` before `OR`. None stands for an operand that is not there."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def everything(self) -> Expression | None:
        """The whole; a bracket that closes nothing parts it and is dropped."""
        parts = []
        while self._at < len(self._tokens):
            parts.append(self._any(0))
            self._at += self._sign() == ")"
        return every([part for part in parts if part is not None])

    def _sign(self) -> str | None:
        return self._tokens[self._at].sign if self._at < len(self._tokens) else None

    def _any(self, depth: int) -> Expression | None:
        parts = [self._every(depth)]
        while self._sign() == "OR":
            self._at += 1
            parts.append(self._every(depth))
        return any_of([part for part in parts if part is not None])

    def _every(self, depth: int) -> Expression | None:
        included: list[Expression] = []
        unwanted: list[Expression] = []
        while (sign := self._sign()) is not None and sign not in {"OR", ")"}:
            negated = False
            while self._sign() in {"AND", "NOT"}:
                negated ^= self._sign() == "NOT"
                self._at += 1
            operand = self._operand(depth)
            if operand is not None:
                (unwanted if negated else included).append(operand)
        if not included:  # there is nothing to take anything from
            return every(unwanted)
        expression = every(included)
        assert expression is not None
        return Without(expression, tuple(dict.fromkeys(unwanted))) if unwanted else expression

    def _operand(self, depth: int) -> Expression | None:
        sign = self._sign()
        if sign is None or sign in {"OR", ")"}:
            return None
        token = self._tokens[self._at]
        self._at += 1
        if token.term is not None:
            return token.term
        assert sign == "(", f"{sign} is not an operand"
        if depth >= MAX_DEPTH:
            return None
        inner = self._any(depth + 1)
        self._at += self._sign() == ")"
        return inner


def every(parts: Sequence[Expression]) -> Expression | None:
    """All of them as one expression; None for none."""
    flat = [leaf for part in parts for leaf in (part.parts if isinstance(part, All) else (part,))]
    return _joined(All, flat)


def any_of(parts: Sequence[Expression]) -> Expression | None:
    """One of them as one expression; None for none."""
    flat = [leaf for part in parts for leaf in (part.parts if isinstance(part, AnyOf) else (part,))]
    return _joined(AnyOf, flat)


def _joined(kind: type[All] | type[AnyOf], parts: Sequence[Expression]) -> Expression | None:
    distinct = tuple(dict.fromkeys(parts))
    return kind(distinct) if len(distinct) > 1 else distinct[0] if distinct else None
