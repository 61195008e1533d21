"""Recalls memory entries that do not fit into the prompt, if a message is about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from hermes_jobs.features.memory.rules.entries import Entry
from hermes_jobs.features.memory.rules.likeness import are_alike, contains
from hermes_jobs.features.memory.rules.memory import is_shown
from hermes_jobs.features.recall.fused_recall import RecallQuery
from hermes_jobs.features.recall.question_vector import QuestionVectors
from hermes_jobs.features.recall.rules import digest_of
from hermes_jobs.kernel.engine.ports import Recalled
from hermes_jobs.kernel.events import RecalledItem, RecallTrack
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.text.entities import names_it
from hermes_jobs.text.scan.scanner import scan
from hermes_jobs.text.search.function_words import function_roots
from hermes_jobs.text.search.fusion import Fused, fused
from hermes_jobs.text.search.question import is_unspaced, roots
from hermes_jobs.text.search.ranking import by_length, rarity
from hermes_jobs.text.tokens import tokens

FOUND = 8  # entries, at most
# Entries of each ranking that are read, so that others take the places of those that say the same.
MAX_CANDIDATES = 4 * FOUND
MIN_RELATIVE_SCORE = 0.4  # the least score of an entry, relative to the best one
COMMON = 0.2  # a word in a larger share of the entries recalls none by itself
SHORT = 3  # least letters of a word that recalls by itself; any length with a digit, more in other scripts
OTHERS = frozenset(
    {"och", "att", "det", "som", "har", "ett", "jag", "ikke", "hva", "hun"}  # Swedish, Danish, Norwegian
    | {"nie", "jak", "czy", "jest", "dla", "ale", "jsem", "bez", "nad", "ili"}  # Polish, Czech, Croatian
    | {"bir", "icin", "ama", "cok", "nem", "hogy", "egy", "ezt", "oli"}  # Turkish, Hungarian, Finnish
)
"""Common words in languages without a list of function words."""
HEADING = "From your memory, what is not in the prompt:"


class EntryIndex:
    """BM25 over the stems of entries and tags; entries are short, so each stem counts once."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._roots = [roots(" ".join((entry.text, *entry.tags))) for entry in entries]
        self._holding = Counter(root for root_set in self._roots for root in root_set)
        self._weights = by_length([len(entry.text) for entry in entries])

    def best(self, text: str) -> tuple[Entry, ...]:
        """The entries that match the text, best first; none if only common words match."""
        question, num_entries = roots(text), len(self._entries)
        rare = {
            root
            for root in question
            if is_distinctive(root) and 0 < self._holding[root] <= max(1, COMMON * num_entries)
        }
        ranked = sorted(
            (
                (sum(rarity(self._holding[root], num_entries) for root in question & own) / weight, -index)
                for index, (own, weight) in enumerate(zip(self._roots, self._weights, strict=True))
                if rare & own
            ),
            reverse=True,
        )
        return tuple(
            self._entries[-index]
            for score, index in ranked[:MAX_CANDIDATES]
            if score >= MIN_RELATIVE_SCORE * ranked[0][0]
        )


class EntryRecall:
    """Recalls entries. `tail(lineage)`: those that do not fit into a session's prompt; `limit` in tokens;
    `vectors` None: no search by vectors."""

    def __init__(
        self,
        tail: Callable[[str], tuple[Entry, ...]],
        limit: int,
        vectors: QuestionVectors | None = None,
    ) -> None:
        self._tail = tail
        self._limit = limit
        self._vectors = vectors
        self._indexed: tuple[tuple[Entry, ...], EntryIndex] = ((), EntryIndex(()))

    def __call__(self, session: Session, cue: RecallQuery) -> Recalled:
        """The entries that match the text and are in neither the prompt nor this conversation."""
        tail = self._tail(session.lineage)
        if not tail:
            return Recalled()
        prompt = session.started.system_prompt if session.started is not None else ""
        lines, items, remaining = [HEADING], list[RecalledItem](), self._limit
        for entry, tracks in distinct(fused(self._rankings(tail, cue)))[:FOUND]:
            line = f"- {entry.day}: {' '.join(entry.text.split())}"
            fits = tokens(line) + 1 <= remaining
            if (
                fits
                and not is_shown(entry.text, prompt)
                and not _is_of(entry, session)
                and not scan(entry.text)
            ):
                lines.append(line)
                items.append(RecalledItem("memory", str(entry.version), tracks))
                remaining -= tokens(line) + 1
        memories = tuple(int(item.name) for item in items)
        return Recalled("\n".join(lines), memories, tuple(items)) if items else Recalled()

    def _rankings(self, tail: tuple[Entry, ...], cue: RecallQuery) -> Mapping[RecallTrack, Sequence[Entry]]:
        indexed, index = self._indexed
        if indexed != tail:
            index = EntryIndex(tail)
            self._indexed = (tail, index)
        rankings: dict[RecallTrack, Sequence[Entry]] = {
            "words": index.best(cue.text),
            "entities": _naming(tail, cue.names),
        }
        if cue.vector and self._vectors is not None:
            entries_by_digest = {digest_of((entry.text,)): entry for entry in tail}
            vectors = self._vectors
            nearest = vectors.index.nearest_texts(
                vectors.model, cue.vector, entries_by_digest.keys(), least=vectors.least, limit=MAX_CANDIDATES
            )
            rankings["meaning"] = [entries_by_digest[digest] for digest in nearest]
        return rankings


def _naming(tail: Sequence[Entry], names: Sequence[str]) -> Sequence[Entry]:
    """The entries with any of these names: those with the most of them first, then the newest."""
    counts = {skill: sum(names_it(skill.text, name) for name in names) for skill in tail} if names else {}
    entries = [key for key, count in counts.items() if count]
    return sorted(entries, key=lambda item: (-counts[item], -item.touched))[:MAX_CANDIDATES]


def distinct(hits: Sequence[Fused[Entry, RecallTrack]]) -> list[Fused[Entry, RecallTrack]]:
    """Those that say something of their own, best first, then those that are merely like a better one.

    Left out is what a later entry contains; that one takes the better place of the two. What is later and
    contained stays: it may take back what the longer one says.
    """
    distinct_hits: list[Fused[Entry, RecallTrack]] = []
    for candidate in hits:
        index = next(
            (
                index
                for index, other in enumerate(distinct_hits)
                if _is_one_enough(candidate.thing, other.thing)
            ),
            None,
        )
        if index is None:
            distinct_hits.append(candidate)
        elif candidate.thing.touched > distinct_hits[index].thing.touched:
            distinct_hits[index] = candidate
    first: list[Fused[Entry, RecallTrack]] = []
    alike: list[Fused[Entry, RecallTrack]] = []
    for hit in distinct_hits:
        own = roots(hit.thing.text)
        (alike if any(are_alike(own, roots(other.thing.text)) for other in first) else first).append(hit)
    return [*first, *alike]


def _is_one_enough(one: Entry, other: Entry) -> bool:
    """Whether the later of the two contains the earlier one."""
    earlier, later = sorted((one, other), key=lambda item: item.touched)
    return contains(roots(later.text), roots(earlier.text))


def _is_of(entry: Entry, session: Session) -> bool:
    """Whether this conversation wrote the entry, and so contains it."""
    return entry.evidence is not None and entry.evidence.session == session.id


def is_distinctive(root: str) -> bool:
    """Whether a word is specific enough to recall an entry by itself."""
    if is_unspaced(root) or any(letter.isdigit() for letter in root):
        return True
    long_enough = len(root) >= SHORT if root.isascii() else len(root) > SHORT
    return long_enough and root not in function_roots() and root not in OTHERS
