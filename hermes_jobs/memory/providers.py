"""All memories of one process: our own, always first, and at most one beside it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from hermes_jobs.domain import events as e
from hermes_jobs.domain.messages import AssistantMessage, Message, UserMessage
from hermes_jobs.domain.scan import noted
from hermes_jobs.domain.session import Session
from hermes_jobs.domain.streams import StreamState
from hermes_jobs.engine.ports import Recall, ToolSpec
from hermes_jobs.memory.provider import MemoryProvider, ProviderSession, Turn
from hermes_jobs.memory.registered import Registered

logger = logging.getLogger(__name__)

CHARACTERS_A_TOKEN = 4
BLOCK_CHARACTERS = 4_000
KINDS = frozenset({"conversation", "scheduled"})
"""Sessions whose turns a provider beside ours hears of."""

Block = Callable[[Session], str]


class Providers:
    """The built-in memory is `block` and `recall`; `add` puts one beside it. Safe for many threads."""

    def __init__(self, block: Block, recall: Recall, *, recall_tokens: int) -> None:
        self._block = block
        self._recall = recall
        self._room = recall_tokens * CHARACTERS_A_TOKEN
        self._external: Registered | None = None

    @property
    def external(self) -> Registered | None:
        """The one beside ours."""
        return self._external

    def add(self, provider: Registered) -> bool:
        """Put a provider beside ours; whether it was taken. A second one is refused."""
        if self._external is not None:
            logger.warning(
                "memory provider %s is left out: there may be one beside the built-in one, and that is %s",
                provider.name,
                self._external.name,
            )
            return False
        if not provider.probe("is_available", lambda each: each.is_available(), otherwise=False):
            logger.warning("memory provider %s is not available: it is left out", provider.name)
            return False
        self._external = provider
        return True

    def close(self) -> None:
        """Let go of everything, after a short wait for what is still being learned."""
        if self._external is not None:
            self._external.close()

    # --- for a turn -----------------------------------------------------------------------------

    def block(self, session: Session) -> str:
        """What the memories put into a session's system prompt, our own first."""
        return "\n\n".join(block for block in (self._block(session), self._external_block(session)) if block)

    def recall(self, session: Session, text: str) -> str:
        """What the memories bring to mind for a turn, within the limit. See `Recall`."""
        found = [self._recall(session, text)]
        if self._external is not None:
            which = _met(self._external, session)
            self._external.ask(which, "on_turn_start", lambda each: _hook(each, "on_turn_start", text), None)
            found.append(self._external.ask(which, "prefetch", lambda each: each.prefetch(text), ""))
        return _cut(noted("\n\n".join(each.strip() for each in found if each and each.strip())), self._room)

    def tools(self, taken: Collection[str]) -> tuple[ToolSpec, ...]:
        """The tools of the provider beside ours, less those whose name another tool has."""
        if self._external is None:
            return ()
        none: tuple[ToolSpec, ...] = ()
        brought = self._external.probe("get_tool_schemas", lambda each: tuple(each.get_tool_schemas()), none)
        for spec in brought:
            if spec.name in taken:
                logger.warning("memory provider %s: its tool %s is left out", self._external.name, spec.name)
        return tuple(spec for spec in brought if spec.name not in taken)

    def call_tool(self, session: str, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one of those tools for a session. Raises whatever it raises."""
        assert self._external is not None, f"{name} belongs to nobody"
        return noted(self._external.call_tool(ProviderSession(id=session), name, dict(arguments)))

    def _external_block(self, session: Session) -> str:
        if self._external is None or _kind_of(session) not in KINDS:
            return ""
        block = self._external.ask(
            _met(self._external, session), "system_prompt_block", lambda each: each.system_prompt_block(), ""
        )
        return _cut(noted(block.strip()), BLOCK_CHARACTERS)

    def before_compression(self, session: Session) -> None:
        """Let the provider beside ours see what is about to give way to a summary, and wait for it."""
        if self._external is None or _kind_of(session) not in KINDS:
            return
        turns = _turns(session.messages)
        self._external.learn(
            _met(self._external, session),
            "on_pre_compress",
            lambda each: _hook(each, "on_pre_compress", turns),
            wait=True,
        )

    # --- after it -------------------------------------------------------------------------------

    def witness(self, before: StreamState, facts: Sequence[e.Event], after: StreamState) -> None:
        """Let the provider beside ours learn from what was appended. See `Witness`."""
        external = self._external
        if external is None:
            return
        for fact in facts:
            if isinstance(fact, e.MemoryAdded | e.MemoryReplaced | e.MemoryRemoved):
                _tell_write(external, fact)
            elif isinstance(before, Session) and isinstance(after, Session):
                _tell(external, before, fact, after)


def _tell(external: Registered, before: Session, fact: e.Event, after: Session) -> None:
    if _kind_of(before) not in KINDS:
        return
    session = _met(external, before)
    match fact:
        case e.TurnCompleted():
            turn = before.find(fact.turn)
            said = "\n\n".join(turn.texts) if turn is not None else ""
            external.learn(session, "sync_turn", lambda each: each.sync_turn(said, fact.answer))
            external.learn(session, "queue_prefetch", lambda each: each.queue_prefetch(said))
        case e.ContextCompressed():
            into = _known_by(after)
            external.switch(session.id, into)
            _tell_switch(external, into)
        case e.SessionEnded() if fact.reason != "compression":
            turns = _turns(before.messages)
            external.learn(session, "on_session_end", lambda each: _hook(each, "on_session_end", turns))
            external.learn(session, "shutdown", lambda _each: external.end(session))
        case _:
            pass


def _met(external: Registered, session: Session) -> ProviderSession:
    """How a session is known to the provider, which has heard by then as what it goes on."""
    known = _known_by(session)
    if known.continues is not None and external.switch(known.continues, known):
        _tell_switch(external, known)
    return known


def _tell_switch(external: Registered, into: ProviderSession) -> None:
    external.learn(
        into,
        "on_session_switch",
        lambda each: _hook(each, "on_session_switch", into, reset=False, reason="compression"),
    )


def _tell_write(external: Registered, fact: e.MemoryEvent) -> None:
    action = {e.MemoryAdded: "add", e.MemoryReplaced: "replace", e.MemoryRemoved: "remove"}[type(fact)]
    content = fact.old if isinstance(fact, e.MemoryRemoved) else fact.content
    session = ProviderSession(id=fact.evidence.session if fact.evidence else "")
    external.learn(
        session, "on_memory_write", lambda each: _hook(each, "on_memory_write", action, fact.target, content)
    )


def _hook(provider: MemoryProvider, name: str, *values: object, **named: object) -> None:
    """Call a method that need not be there."""
    method = getattr(provider, name, None)
    if method is not None:
        method(*values, **named)


def _known_by(session: Session) -> ProviderSession:
    started = session.started
    return ProviderSession(
        id=session.id,
        kind=_kind_of(session),
        source=started.source if started else "",
        continues=started.parent if started and started.at is None else None,
    )


def _kind_of(session: Session) -> e.SessionKind:
    if session.started is not None:
        return session.started.kind
    return session.opening.kind if session.opening is not None else "conversation"


def _turns(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """What was said and answered; work in between is left out."""
    turns: list[Turn] = []
    said = ""
    for message in messages:
        if isinstance(message, UserMessage):
            said = message.content
        elif isinstance(message, AssistantMessage) and not message.tool_calls:
            turns.append(Turn(said, message.content))
    return tuple(turns)


def _cut(text: str, room: int) -> str:
    """As many whole lines as fit; of a first line that does not, its beginning."""
    if len(text) <= room:
        return text
    end = text.rfind("\n", 0, room)
    return text[: end if end > 0 else room].rstrip()
