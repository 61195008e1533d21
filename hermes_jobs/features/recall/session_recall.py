"""Built-in recall: passages of earlier sessions that match the user's message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from hermes_jobs.features.recall.fused_recall import RecallQuery
from hermes_jobs.features.recall.question_vector import QuestionVectors
from hermes_jobs.kernel.engine.ports import Recalled
from hermes_jobs.kernel.engine.ports.conversation_search import ConversationSearch, Near, Passage, Scope
from hermes_jobs.kernel.events import RecalledItem, RecallTrack
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.text.entities import names_it
from hermes_jobs.text.search.fusion import fused
from hermes_jobs.text.search.question import as_question

MAX_ENTITIES = 2  # entities that are searched by name
FOUND = 6  # passages, each with its neighbours
MIN_WORD_SHARE = 0.25  # the least share of the text's words, weighted by rarity, in a passage
TEXT_CHARS = 400  # shown characters of a passage


class SessionRecall:
    """Searches all conversations but the current one. `vectors` None: no search by vectors."""

    def __init__(self, archive: ConversationSearch, vectors: QuestionVectors | None = None) -> None:
        self._archive = archive
        self._vectors = vectors

    def __call__(self, session: Session, cue: RecallQuery) -> Recalled:
        """The passages found, best first, each with its neighbours."""
        query = as_question(cue.text)
        tracks: dict[RecallTrack, Sequence[Passage]] = {
            "words": self._found(session, query) if query else (),
            "entities": self._naming(session, cue),
            "meaning": self._near(session, cue.vector),
        }
        passages: dict[int, Passage] = {}
        ranks: dict[int, int] = {}
        rankings: dict[RecallTrack, list[int]] = {}
        for track, ranked in tracks.items():
            own = [
                next(
                    (ranks[position] for position in _positions(passage) if position in ranks),
                    passage.hit.position,
                )
                for passage in ranked
            ]
            rankings[track] = own
            for key, passage in zip(own, ranked, strict=True):
                passages.setdefault(key, passage)
                ranks |= {position: key for position in _positions(passages[key]) if position not in ranks}
        best = fused(rankings)[:FOUND]
        lines = [line for hit in best for line in _lines(passages[hit.thing])]
        items = tuple(RecalledItem("turn", passages[hit.thing].hit.turn, hit.tracks) for hit in best)
        return Recalled("\n".join(["From earlier conversations:", *lines]) if lines else "", found=items)

    def _found(self, session: Session, query: str) -> Sequence[Passage]:
        return self._archive.passages(
            query, scope=Scope(outside=session.id), limit=FOUND, least=MIN_WORD_SHARE
        )

    def _naming(self, session: Session, cue: RecallQuery) -> Sequence[Passage]:
        """Passages about entities that the text refers to by other names; the text's own words find the
        rest."""
        names = [name for name in cue.names if not names_it(cue.text, name)][:MAX_ENTITIES]
        each_found = [self._found(session, f'"{name}"') for name in names]
        in_turn = chain.from_iterable(zip_longest(*each_found))
        return tuple({passage.hit.position: passage for passage in in_turn if passage is not None}.values())

    def _near(self, session: Session, vector: bytes) -> Sequence[Passage]:
        vectors = self._vectors
        if not vector or vectors is None:
            return ()
        return vectors.index.nearest_passages(
            vectors.model, vector, outside=session.id, least=vectors.least, limit=FOUND
        )


def _positions(passage: Passage) -> Iterator[int]:
    """The positions of the passage and its neighbours."""
    yield passage.hit.position
    yield from (side.position for side in (passage.before, passage.after) if side is not None)


def _lines(passage: Passage) -> Iterator[str]:
    hit = passage.hit
    if passage.before is not None:
        yield f"- {hit.at[:10]}, {hit.label}, {_line(passage.before)}"
        yield f"  {hit.role}: {_cut(passage.text)}"
    else:
        yield f"- {hit.at[:10]}, {hit.label}, {hit.role}: {_cut(passage.text)}"
    if passage.after is not None:
        yield f"  {_line(passage.after)}"


def _line(passage: Near) -> str:
    return f"{passage.role}: {_cut(passage.text)}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS else line[: TEXT_CHARS - 1] + "…"
