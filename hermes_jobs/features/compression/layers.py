"""A summary in layers, and its text form, the only form that a history stores.

The messages of the last compression are summarised in detail (`recent`). Older ones are a list of lines,
the newest first (`earlier`): a summariser writes each line once. Lines that do not fit are archived: the
log has their source, and the summary says how to find it. The state by entity is a further part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.compression import entity_state
from hermes_jobs.features.compression.checkpoint import condense, read_checkpoint
from hermes_jobs.features.compression.entity_state import EntityState, distinct, entry_text, plain
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, head, token_weight, tokens

EARLIER_SHARE = STATE_SHARE = 0.25
"""The maximum share of a summary's tokens of each layer; `earlier` also gets the rest of the others."""
RECENT_LEAST, RECENT_MOST = 0.5, 2.0
"""The minimum requested from a summariser, and the maximum used of its answer, as parts of the same."""
EARLIER, ARCHIVED = "# Earlier, the newest first", "# Archived"
FROM = "From {session}:"
CUT = "(The rest was too long for this summary. `recall_compacted` finds what it stood for.)"
ARCHIVE = """\
{lines} of older summaries, from session {session} on, are left out here. `recall_compacted` finds what they
stood for, word for word."""
ARCHIVE_TOKENS = 40
"""Tokens of the note about the archive, with ids of the usual length."""

_ARCHIVED = re.compile(
    r"(?P<lines>[\d,]+) \w+ of older summaries, from session (?P<session>.*?) on, are left out"
)
_FROM = re.compile(re.escape(FROM).replace(r"\{session\}", "(?P<session>.*)"))
_LISTED = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s")
_TOP = re.compile(r"^#(?=\s)", re.MULTILINE)


class Episode(msgspec.Struct, frozen=True):
    """Lines about the messages compressed in session `session`."""

    session: str
    lines: tuple[str, ...]


class Archive(msgspec.Struct, frozen=True):
    """The number of archived lines of earlier summaries; `session` is the oldest of them."""

    lines: int
    session: str


class Layers(msgspec.Struct, frozen=True, kw_only=True):
    """A summary. `earlier`: the newest first; a session occurs once."""

    recent: str = ""
    earlier: tuple[Episode, ...] = ()
    archive: Archive | None = None
    state: EntityState = entity_state.EMPTY_STATE


# --- from one compression to the next -------------------------------------------------------------


def show(layers: Layers) -> str:
    """The part of the summary so far that a summariser may change."""
    return render(Layers(recent=layers.recent, state=layers.state))


def room_for_answer(before: Layers, state: EntityState, budget: int) -> int:
    """The tokens that a summariser may write, so that the whole summary has about `budget`."""
    older = EARLIER_SHARE if before.recent or before.earlier else 0.0
    layers = render(Layers(state=entity_state.fit(state, int(budget * STATE_SHARE))))
    return max(int(budget * RECENT_LEAST), budget - tokens(layers) - int(budget * older), 1)


def continue_layers(
    before: Layers, observed: EntityState, answers: Sequence[str], session: str, budget: int
) -> Layers:
    """The summary after a compression of `session`, within its bounds.

    `answers` are the summariser's answers for each part of the middle, each an update of the one before.
    """
    checkpoints = [read_checkpoint(answer) for answer in answers]
    last = checkpoints[-1]
    lines = distinct(line for checkpoint in checkpoints for line in checkpoint.earlier) or condense(
        before.recent
    )
    state = entity_state.merge(before.state, observed)
    return fit(
        Layers(
            recent=last.prose,
            earlier=(Episode(session, lines), *before.earlier),
            archive=before.archive,
            state=replace(
                state,
                open_ends=state.open_ends if last.open_ends is None else last.open_ends,
                decisions=distinct((*last.decisions, *state.decisions)),
            ),
        ),
        budget,
        session,
    )


def fit(layers: Layers, budget: int, session: str) -> Layers:
    """The summary without repetitions, each layer within its share of `budget` tokens; the rest is archived,
    under `session` unless it names its own."""
    state = entity_state.fit(layers.state, int(budget * STATE_SHARE))
    seen_lines = set(map(plain, (*state.open_ends, *state.decisions)))
    recent = _cut(_once(_TOP.sub("##", layers.recent), seen_lines), int(budget * RECENT_MOST))
    remaining = budget - tokens(render(Layers(recent=recent, state=state)))
    limit = max(int(budget * EARLIER_SHARE), remaining)
    earlier, left_out = _within(_without_seen(layers.earlier, seen_lines), limit)
    dropped = (
        entity_state.count(layers.state)
        - entity_state.count(state)
        + sum(len(omitted.lines) for omitted in left_out)
    )
    archive = layers.archive
    if dropped:
        oldest = left_out[-1].session if left_out else session
        archive = Archive(dropped + (archive.lines if archive else 0), archive.session if archive else oldest)
    return Layers(recent=recent, earlier=earlier, archive=archive, state=state)


def _once(prose: str, seen_lines: set[str]) -> str:
    """The prose without list lines in `seen_lines`; its own lines are added to that."""
    unique: list[str] = []
    for line in prose.splitlines():
        if _LISTED.match(line):
            event = plain(line)
            if event and event in seen_lines:
                continue
            seen_lines.add(event)
        unique.append(line)
    return "\n".join(unique).strip()


def _cut(prose: str, limit: int) -> str:
    """The first lines that fit into `limit` tokens, with a note about the rest."""
    maximum = limit * CHARACTERS_A_TOKEN
    if token_weight(prose) <= maximum:
        return prose
    beginning = head(prose, max(maximum - len(CUT) - 1, 0))
    complete, _, _ = beginning.rpartition("\n")
    return f"{(complete or beginning).rstrip()}\n{CUT}".strip()


def _without_seen(episodes: Iterable[Episode], seen_lines: set[str]) -> tuple[Episode, ...]:
    """The episodes without lines in `seen_lines`, one for each session."""
    unseen: dict[str, list[str]] = {}
    for episode in episodes:
        lines = unseen.setdefault(episode.session, [])
        for line in map(entry_text, episode.lines):
            if plain(line) and plain(line) not in seen_lines:
                seen_lines.add(plain(line))
                lines.append(line)
    return tuple(Episode(session, tuple(lines)) for session, lines in unseen.items() if lines)


def _within(episodes: Sequence[Episode], limit: int) -> tuple[tuple[Episode, ...], tuple[Episode, ...]]:
    """The episodes that fit into `limit` tokens, and the rest."""
    remaining = limit * CHARACTERS_A_TOKEN - token_weight(EARLIER) - 2
    fitting: list[Episode] = []
    for index, episode in enumerate(episodes):
        remaining -= token_weight(FROM.format(session=episode.session)) + 1
        for number, line in enumerate(episode.lines):
            remaining -= token_weight(line) + 3
            if remaining < 0:
                rest = Episode(episode.session, episode.lines[number:])
                fitting += [Episode(episode.session, episode.lines[:number])] if number else []
                return tuple(fitting), (rest, *episodes[index + 1 :])
        fitting.append(episode)
    return tuple(fitting), ()


# --- as text --------------------------------------------------------------------------------------


def render(layers: Layers) -> str:
    """The summary as the text in a history."""
    return "\n\n".join(blocks(layers))


def blocks(layers: Layers) -> Iterator[str]:
    """The detail; then, each below a heading: the kinds of entities, the older lines, the archive."""
    if layers.recent:
        yield layers.recent
    yield from entity_state.render(layers.state)
    if layers.earlier:
        lines = (
            line
            for episode in layers.earlier
            for line in (
                FROM.format(session=episode.session),
                *(f"- {episode_line}" for episode_line in episode.lines),
            )
        )
        yield "\n".join((EARLIER, *lines))
    if layers.archive is not None:
        text = ARCHIVE.format(lines=pluralize(layers.archive.lines, "line"), session=layers.archive.session)
        yield f"{ARCHIVED}\n{text}"


def parse(text: str) -> Layers:
    """Parse a summary; text of another form becomes `recent`."""
    headings = {EARLIER, ARCHIVED, *entity_state.HEADINGS.values()}
    blocks: dict[str, list[str]] = {"": []}
    heading = ""
    for line in text.splitlines():
        if line in headings:
            heading = line
        else:
            blocks.setdefault(heading, []).append(line)
    archived = _ARCHIVED.match("\n".join(blocks.get(ARCHIVED, ())))
    return Layers(
        recent="\n".join(blocks[""]).strip(),
        earlier=tuple(_episodes(blocks.get(EARLIER, ()))),
        archive=Archive(int(archived["lines"].replace(",", "")), archived["session"]) if archived else None,
        state=entity_state.parse(blocks),
    )


def _episodes(lines: Iterable[str]) -> Iterator[Episode]:
    session, texts = "", list[str]()
    for line in lines:
        if match := _FROM.fullmatch(line):
            if texts:
                yield Episode(session, tuple(texts))
            session, texts = match["session"], []
        elif line.startswith("- "):
            texts.append(line[2:])
    if texts:
        yield Episode(session, tuple(texts))
