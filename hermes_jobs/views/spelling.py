"""How texts and terms are spelled in the search index: the one place that knows what its tokens are.

The index is one FTS5 table with one column, cut at everything but letters and digits. What FTS5 cannot cut or
tell apart is spelled with private characters, which `fold` takes out of every text:

| in a text                                     | as tokens                                            |
|-----------------------------------------------|------------------------------------------------------|
| a word, folded                                | itself                                               |
| c++, c#                                       | the word, and `SIGNED` with the whole name           |
| a run of letters without spaces, or of emoji  | each pair of characters in order, between `FIRST`    |
|                                               | and `LAST` of the run; each single character, once   |
| words between two such runs                   | `BETWEEN`, once, among the pairs                     |
| such a run of letters between words           | `RUN`, once, among the words                         |
| what is known of the message (role, source …) | `FACT`, with its name and value                      |

So one expression asks for all of them at once, with every operator, newest first: pairs are to scripts
without spaces what words are to others, and a phrase of pairs finds what an index of trigrams would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import add

from hermes_jobs.domain.search import All, AnyOf, Term, Without, fold
from hermes_jobs.domain.search.folding import IGNORED, PICTOGRAPHS, UNSPACED, WORD_CHARACTER, pattern
from hermes_jobs.domain.search.query import Expression
from hermes_jobs.domain.search.terms import SIGNED_NAME, Piece, pieces

TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* N* Co'"

PAIR, FIRST, LAST, SINGLE, BETWEEN, RUN, SIGNED, FACT = map(chr, range(0xE000, 0xE008))

_SIGNS = {"+": "p", "#": "s"}
_RUNS = f"[{UNSPACED}]+|[{PICTOGRAPHS}]+"
_PICTOGRAPHS = f"[{PICTOGRAPHS}]+"
_LETTERS = f"[{UNSPACED}]+"


def spelled(text: str, known: str) -> str:
    """All that the index holds of a message: its text, and what is known of it (`fact`s)."""
    folded = fold(text)
    tokens = [known]
    if "#" in folded or "++" in folded:
        tokens += dict.fromkeys(map(_signed, pattern(SIGNED_NAME).findall(folded)))
    if not folded.isascii():
        folded = folded.replace(IGNORED, "")
        runs = list(pattern(_RUNS).finditer(folded))
        if runs:
            tokens += _singles(runs)
            tokens += _in_order(folded, runs)
            folded = _words(folded)
    tokens.append(folded)
    return " ".join(reversed(tokens))


def _singles(runs: Sequence[re.Match[str]]) -> Iterator[str]:
    return map(SINGLE.__add__, map(_CODES.__getitem__, dict.fromkeys("".join(run[0] for run in runs))))


def _in_order(folded: str, runs: Sequence[re.Match[str]]) -> Iterator[str]:
    """The runs in reverse, each as one piece of text."""
    later: re.Match[str] | None = None
    for run in reversed(runs):
        if later is not None and pattern(WORD_CHARACTER).search(folded, run.end(), later.start()):
            yield BETWEEN
        yield _run(list(map(_CODES.__getitem__, run[0])))
        later = run


def _run(codes: Sequence[str]) -> str:
    pairs = f" {PAIR}".join(map(add, codes, codes[1:]))
    return (
        f"{FIRST}{codes[0]} {PAIR}{pairs} {LAST}{codes[-1]}"
        if pairs
        else f"{FIRST}{codes[0]} {LAST}{codes[0]}"
    )


def fact(name: str, value: str) -> str:
    """The token of something that is known of a message, whatever the value is."""
    return f"{FACT}{name}{value.encode('utf-8', 'replace').hex()}"


def matching(expression: Expression) -> str:
    """The expression as FTS5 takes it."""
    match expression:
        case Term():
            return _term(expression)
        case All(parts):
            return f"({' AND '.join(map(matching, parts))})"
        case AnyOf(parts):
            return f"({' OR '.join(map(matching, parts))})"
        case Without(wanted, unwanted):
            return f"({matching(wanted)} NOT ({' OR '.join(map(matching, unwanted))}))"


def is_exact(term: Term) -> bool:
    """Whether what the index finds for the term always holds it.

    Of words beside runs it tells that both are there, each in its order, and not that they stand together.
    """
    found = list(pieces(term.text))
    return len(found) == 1 or all(piece.kind == "word" for piece in found) or all(map(_is_run, found))


def quoted(tokens: str) -> str:
    """Tokens that stand one after the other, as FTS5 takes them."""
    return '"' + tokens.replace('"', " ") + '"'


def _term(term: Term) -> str:
    found = list(pieces(term.text))
    phrases = [quoted(_signed(piece.text)) for piece in found if piece.kind == "signed"]
    if any(piece.kind == "word" for piece in found):
        ends_in_word = found[-1].kind == "word"
        phrases.append(quoted(_words(term.text)) + (" *" if term.prefix and ends_in_word else ""))
    runs = [at for at, piece in enumerate(found) if _is_run(piece)]
    if runs:
        phrases.append(quoted(" ".join(_phrase(found, runs[0], runs[-1]))))
    return phrases[0] if len(phrases) == 1 else f"({' AND '.join(phrases)})"


def _phrase(found: Sequence[Piece], first: int, last: int) -> Iterator[str]:
    """The runs of a term in order. Its outer ends may lie within longer runs, the others may not."""
    alone = first == last and len(found) == 1
    if alone and len(found[0].text) == 1:
        yield SINGLE + _CODES[found[0].text]
        return
    after_words = False
    for at in range(first, last + 1):
        piece = found[at]
        if not _is_run(piece):
            if not after_words:
                yield BETWEEN
            after_words = True
            continue
        after_words = False
        codes = [_CODES[character] for character in piece.text]
        if at > 0:
            yield FIRST + codes[0]
        yield from (PAIR + one + other for one, other in pairwise(codes))
        if at < len(found) - 1:
            yield LAST + codes[-1]


def _words(folded: str) -> str:
    """What FTS5 cuts into words: runs of letters have a place among them, pictographs have none."""
    return pattern(_LETTERS).sub(f" {RUN} ", pattern(_PICTOGRAPHS).sub(" ", folded))


def _is_run(piece: Piece) -> bool:
    return piece.kind in {"letters", "pictographs"}


def _signed(name: str) -> str:
    bare = name.rstrip("+#")
    return SIGNED + bare + _SIGNS[name[-1]]


class _Codes(dict[str, str]):
    """Each character as five hexadecimal digits: no tokenizer knows less of it than of another."""

    def __missing__(self, character: str) -> str:
        self[character] = code = f"{ord(character):05x}"
        return code


_CODES = _Codes()
