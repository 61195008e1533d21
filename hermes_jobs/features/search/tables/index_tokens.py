"""The tokens of texts and terms in the search index; no other module depends on their form.

The index is one FTS5 table with one column. FTS5 splits it at ASCII characters other than letters and digits,
and treats all other characters as letters, which is fast; other texts are split here. Tokens that FTS5 could
not distinguish contain private characters, which `fold` removes from every text:

| in a text                                     | as tokens                                            |
|-----------------------------------------------|------------------------------------------------------|
| a word, folded                                | itself                                               |
| c++, c#                                       | the word, and `SIGNED` with the whole name           |
| a run of letters without spaces, or of emoji  | each pair of characters in order, between `FIRST`    |
|                                               | and `LAST` of the run; each single character, once   |
| words between two such runs                   | `BETWEEN`, once, among the pairs                     |
| such a run of letters between words           | `RUN`, once, among the words                         |
| what is known of the message (role, source …) | `FACT`, with its name and value                      |

So one expression covers all of them, with every operator, newest first: pairs serve as words in scripts
without spaces, and a phrase of pairs finds the same as an index of trigrams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, zip_longest
from operator import add

from hermes_jobs.text.search import All, AnyOf, Term, Without, fold
from hermes_jobs.text.search.folding import (
    IGNORED,
    PICTOGRAPHS,
    SIGNED_LETTERS,
    UNSPACED,
    WORD_CHARACTER,
    WORD_CHARACTERS,
    pattern,
)
from hermes_jobs.text.search.function_words import function_roots
from hermes_jobs.text.search.query import Expression
from hermes_jobs.text.search.stems import stem
from hermes_jobs.text.search.terms import SIGNED_NAME, Piece, pieces

TOKENIZER = "ascii"

PAIR, FIRST, LAST, SINGLE, BETWEEN, RUN, SIGNED, FACT, OFTEN = map(chr, range(0xE000, 0xE009))
MANY = 3  # occurrences above which a word counts as frequent

_SIGNS = {"+": "p", "#": "s"}
_RUNS = f"([{UNSPACED}]+|[{PICTOGRAPHS}]+)"
_LETTER = f"[{UNSPACED}]"
_ASCII_WORD = "[a-z0-9]+"
_NO_WORDS = rf"[^\w\x00-\x7f{SIGNED_LETTERS}{RUN}]+"


def tokenize(text: str, metadata: str) -> str:
    """A message's entry in the index: its text and its attributes (`fact`s)."""
    folded = fold(text)
    has_signs = "#" in folded or "++" in folded
    signed = map(_signed, dict.fromkeys(pattern(SIGNED_NAME).findall(folded))) if has_signs else ()
    if folded.isascii():
        return " ".join((folded, *signed, metadata))
    parts = _parts(folded.replace(IGNORED, ""))
    return " ".join((_words(parts), *_in_order(parts), *_singles(parts), *signed, metadata))


def tokenize_passage(texts: Iterable[str]) -> tuple[str, int]:
    """The index entry of a passage's texts, and its number of words.

    The stem of each word, again with `OFTEN` if it occurs `MANY` times, and each pair of characters of
    a script without spaces; no function words, because these are in every passage.
    """
    words: Counter[str] = Counter()
    pairs: set[str] = set()
    for text in texts:
        folded = fold(text)
        if folded.isascii():
            words.update(pattern(_ASCII_WORD).findall(folded))
            continue
        parts = _parts(folded.replace(IGNORED, ""))
        words.update(pattern(WORD_CHARACTERS).findall(" ".join(parts[::2])))
        for run in parts[1::2]:
            pairs.update(map(add, run, run[1:]) if len(run) > 1 else run)
    stems: dict[str, int] = {}
    for word, count in words.items():
        root = stem(word)
        if root not in function_roots():
            stems[root] = stems.get(root, 0) + count
    pairs -= function_roots()
    often = [OFTEN + root for root, count in stems.items() if count >= MANY]
    return " ".join((*stems, *often, *pairs)), len(stems) + len(often) + len(pairs)


def _parts(folded: str) -> list[str]:
    """Alternating parts, starting with one outside of a run: every second part is a run."""
    return pattern(_RUNS).split(folded)


def _words(parts: Sequence[str]) -> str:
    """The words; runs of letters have a position among them, pictographs have none."""
    is_letter = pattern(_LETTER).match
    places = [f" {RUN} " if is_letter(run) else " " for run in parts[1::2]]
    among = chain.from_iterable(zip_longest(parts[::2], places, fillvalue=""))
    return pattern(_NO_WORDS).sub(" ", "".join(among))


def _in_order(parts: Sequence[str]) -> Iterator[str]:
    """The runs as pairs, and the positions of words between them."""
    for at, run in enumerate(parts[1::2]):
        if at and pattern(WORD_CHARACTER).search(parts[2 * at]):
            yield BETWEEN
        pairs = f" {PAIR}".join(map(add, run, run[1:]))
        yield f"{FIRST}{run[0]} {PAIR}{pairs} {LAST}{run[-1]}" if pairs else f"{FIRST}{run} {LAST}{run}"


def _singles(parts: Sequence[str]) -> Iterator[str]:
    return map(SINGLE.__add__, dict.fromkeys("".join(parts[1::2])))


def metadata_token(name: str, value: str) -> str:
    """The token of an attribute of a message, for any value."""
    return f"{FACT}{name}{value.encode('utf-8', 'replace').hex()}"


def fts_query(expression: Expression) -> str:
    """The expression as FTS5 takes it."""
    match expression:
        case Term():
            return _term(expression)
        case All(parts):
            return f"({' AND '.join(map(fts_query, parts))})"
        case AnyOf(parts):
            return f"({' OR '.join(map(fts_query, parts))})"
        case Without(included, excluded):
            return f"({fts_query(included)} NOT ({' OR '.join(map(fts_query, excluded))}))"


def is_exact(term: Term) -> bool:
    """Whether every match in the index contains the term.

    For words next to runs, a match contains both in order, but they may not be adjacent.
    """
    parts = list(pieces(term.text))
    return len(parts) == 1 or all(piece.kind == "word" for piece in parts) or all(map(_is_run, parts))


def quoted(tokens: str) -> str:
    """Consecutive tokens, as a phrase for FTS5."""
    return '"' + tokens.replace('"', " ") + '"'


def _term(term: Term) -> str:
    if term.text.isascii() and term.text.isalnum():  # the usual case; questions have many terms
        return quoted(term.text) + (" *" if term.prefix else "")
    parts = list(pieces(term.text))
    phrases = [quoted(_signed(piece.text)) for piece in parts if piece.kind == "signed"]
    if any(piece.kind == "word" for piece in parts):
        ends_in_word = parts[-1].kind == "word"
        phrases.append(quoted(_words(_parts(term.text))) + (" *" if term.prefix and ends_in_word else ""))
    runs = [at for at, piece in enumerate(parts) if _is_run(piece)]
    if runs:
        phrases.append(quoted(" ".join(_phrase(parts, runs[0], runs[-1]))))
    return phrases[0] if len(phrases) == 1 else f"({' AND '.join(phrases)})"


def _phrase(parts: Sequence[Piece], first: int, last: int) -> Iterator[str]:
    """The runs of a term in order. Its outer ends may lie within longer runs, the others may not."""
    alone = first == last and len(parts) == 1
    if alone and len(parts[0].text) == 1:
        yield SINGLE + parts[0].text
        return
    after_words = False
    for at in range(first, last + 1):
        piece = parts[at]
        if not _is_run(piece):
            if not after_words:
                yield BETWEEN
            after_words = True
            continue
        after_words = False
        if at > 0:
            yield FIRST + piece.text[0]
        yield from (PAIR + one + other for one, other in pairwise(piece.text))
        if at < len(parts) - 1:
            yield LAST + piece.text[-1]


def _is_run(piece: Piece) -> bool:
    return piece.kind in {"letters", "pictographs"}


def _signed(name: str) -> str:
    bare = name.rstrip("+#")
    return SIGNED + bare + _SIGNS[name[-1]]
