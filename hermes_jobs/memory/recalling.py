"""Our own recall: what was said in earlier sessions about what the user just said."""

from __future__ import annotations

import re
from collections import Counter

from hermes_jobs.domain.session import Session
from hermes_jobs.engine.archive import Archive, Scope

FOUND = 8
WORDS = 12  # of a text that are searched for
SHORTEST = 4  # a shorter word says little; signs of scripts without spaces count by themselves
_WORD = re.compile(r"[^\W_][\w'’./@-]*[^\W_]|[^\W_]")
_MARKS = re.compile(r">>>|<<<")
_EAST_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


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
    """The words of a text that are worth searching for: the longest, each once."""
    words = Counter(
        word.lower() for word in _WORD.findall(text) if len(word) >= SHORTEST or _EAST_ASIAN.search(word)
    )
    ranked = sorted(words, key=lambda word: (-min(len(word), 12), word))
    return tuple(word.replace('"', "") for word in ranked[:WORDS])


def _plain(snippet: str) -> str:
    return " ".join(_MARKS.sub("", snippet).split())
