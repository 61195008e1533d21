"""Our own recall: what was said in earlier sessions about what the user just said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, pairwise

from hermes_jobs.domain.search.folding import UNSPACED, WORD_CHARACTER, normal, pattern
from hermes_jobs.domain.session import Session
from hermes_jobs.engine.archive import Archive, Scope

FOUND = 8
WORDS = 12  # of a text that are searched for
SHORTEST = 4  # a shorter word says little
_WORD = rf"{WORD_CHARACTER}(?:(?:{WORD_CHARACTER}|[_'’./@-])*{WORD_CHARACTER})?|[{UNSPACED}]+"
_MARKS = re.compile(r">>>|<<<")
_PARTICLES = re.compile("[\u3041-\u3096]+")  # mostly endings and little words of Japanese


class OwnRecall:
    """See `Recall`. Searches all conversations but the one that asks."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def __call__(self, session: Session, text: str) -> str:
        """What was found, a line each, the best first; empty where nothing was."""
        query = " OR ".join(f'"{word}"' for word in telling_words(text))
        if not query:
            return ""
        hits = self._archive.search(query, scope=Scope(outside=session.id), limit=FOUND)
        lines = [f"- {hit.at[:10]}, {hit.label}, {hit.role}: {_plain(hit.snippet)}" for hit in hits]
        return "\n".join(["From earlier conversations:", *lines]) if lines else ""


def telling_words(text: str) -> tuple[str, ...]:
    """The words of a text that are worth searching for: the longest, each once.

    Of scripts without spaces it is each pair of letters, since nothing tells where a word ends.
    """
    found = dict.fromkeys(chain.from_iterable(map(_telling, pattern(_WORD).findall(normal(text)))))
    ranked = sorted(found, key=lambda word: (-min(len(word), 12), bool(_PARTICLES.fullmatch(word))))
    return tuple(ranked[:WORDS])


def _telling(word: str) -> Sequence[str]:
    if pattern(f"[{UNSPACED}]").match(word):
        return tuple(map("".join, pairwise(word))) or (word,)
    return (word.lower(),) if len(word) >= SHORTEST else ()


def _plain(snippet: str) -> str:
    return " ".join(_MARKS.sub("", snippet).split())
