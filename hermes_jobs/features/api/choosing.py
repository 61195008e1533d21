"""Which session a request of OpenAI's form continues: its clients send the whole conversation each time."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import NamedTuple

from hermes_jobs.errors import Rejected
from hermes_jobs.features.api.events import SOURCE
from hermes_jobs.features.api.prompts import Prompt, Said
from hermes_jobs.features.api.wire import Call
from hermes_jobs.kernel.views.models import MessageView
from hermes_jobs.kernel.views.rows import fetched
from hermes_jobs.kernel.views.sessions import preview
from hermes_jobs.text.fences import untrusted

HEADER = "X-Hermes-Session"
CANDIDATES = 20
BEFORE = "The conversation before this one"
BEFORE_CHARS = 100_000


class Chosen(NamedTuple):
    """The session; `begins`: it is a title, which a new one gets. `system`: for a new one."""

    session: str | None
    begins: bool
    system: str | None


def choose(call: Call, prompt: Prompt, user: str | None) -> Chosen:
    """The session that the header names, that of `user`, or that of the conversation; else a new one.

    Raises `Rejected` for a session of others.
    """
    system = _system(prompt.system, prompt.history)
    if named := call.request.headers.get(HEADER):
        _refuse_of_others(call, named)
        return Chosen(named, begins=True, system=system)
    if user and not prompt.history:
        return Chosen(f"{call.by} {user}", begins=True, system=system)
    return Chosen(_recognised(call, prompt.history), begins=False, system=system)


def continued(call: Call, turn: str) -> str:
    """The session of that turn, where that was the last one; else a fork that ends with it.

    Raises `Rejected`."""
    site = call.site
    session = site.turns.current(call.turn(turn)).session
    last = site.turns.list(session=session, limit=1)
    if last and last[0].turn == turn:
        return session
    return site.sessions.fork(session, at=turn).session


def _refuse_of_others(call: Call, name: str) -> None:
    views = call.site.application.views
    try:
        source = views.session(views.find_session(name)).source
    except Rejected as unknown:
        if unknown.kind == "unknown_session":
            return
        raise
    if not call.may("read") and call.key is not None and source != SOURCE + call.key.key:
        raise Rejected(f"There is no session {name!r}.", kind="unknown_session")


def _system(system: str, history: Sequence[Said]) -> str | None:
    """The system prompt of a session that begins in the middle of a conversation."""
    if not history:
        return system or None
    said = "\n\n".join(f"{role}: {text}" for role, text in history)
    return "\n\n".join(filter(None, (system, untrusted(BEFORE, said, BEFORE_CHARS))))


def _recognised(call: Call, history: Sequence[Said]) -> str | None:
    """The session in which that history ends, or a fork of it there; None where there is none."""
    if not history or history[-1][0] != "assistant":
        return None
    texts = [text for role, text in history if role == "user"]
    if not texts:
        return None
    views = call.site.application.views
    for turn, session in views.read(select_candidates, call.by, preview(texts[-1])):
        if _ends(views.messages(session), turn, history):
            try:
                return continued(call, turn)
            except Rejected:  # it has not ended, or was undone
                return None
    return None


def select_candidates(connection: Connection, source: str, beginning: str) -> list[tuple[str, str]]:
    """The newest turns of that source, with their sessions, whose text begins so."""
    query = """
        SELECT turn, session FROM turns WHERE source = ? AND preview = ? ORDER BY position DESC LIMIT ?
    """
    rows = fetched(connection, query, (source, beginning, CANDIDATES))
    return [(row["turn"], row["session"]) for row in rows]


def _ends(messages: Sequence[MessageView], turn: str, history: Sequence[Said]) -> bool:
    """Whether the history ends with that turn, and with those before it in its session."""
    turns: dict[str, list[MessageView]] = {}
    for message in messages:
        turns.setdefault(message.turn, []).append(message)
    until = list(turns)[: list(turns).index(turn) + 1] if turn in turns else []
    said = [_said(turns[each]) for each in until]
    pairs = list(zip(history[::2], history[1::2], strict=False))
    shorter = pairs[-len(said) :] if said else []
    return bool(said) and all(
        _same(pair, each) for pair, each in zip(shorter, said[-len(shorter) :], strict=True)
    )


def _said(messages: Sequence[MessageView]) -> tuple[str, list[str]]:
    """The text of a turn, and the replies in it."""
    text = "".join(message.content for message in messages if message.role == "user")
    return text, [message.content for message in messages if message.role == "assistant" and message.content]


def _same(pair: tuple[Said, Said], turn: tuple[str, list[str]]) -> bool:
    """Whether a question and its answer are those of the turn; a client may show the last reply, or all."""
    (_, asked), (_, answered) = pair
    text, replies = turn
    answers = {_plain("\n\n".join(replies)), _plain(replies[-1] if replies else "")}
    return _plain(asked) == _plain(text) and _plain(answered) in answers


def _plain(text: str) -> str:
    return " ".join(text.split())
