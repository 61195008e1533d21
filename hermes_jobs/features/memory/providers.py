"""All memories of one process: the built-in one first, and at most one external provider."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.provider import MemoryProvider, ProviderSession, Turn
from hermes_jobs.features.memory.provider_host import ProviderHost
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import ListenerError, Recall, Recalled, ToolContext, ToolSpec
from hermes_jobs.kernel.engine.repository import EventsOf
from hermes_jobs.kernel.engine.session_info import kind_of, session_info
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, UserMessage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.text.scan.scanner import redact_findings
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, head, token_weight

logger = logging.getLogger(__name__)

BLOCK_TOKENS = 1_000
KINDS = frozenset({"conversation", "scheduled"})
"""Kinds of sessions whose events an external provider gets."""

Block = Callable[[Session], str]


class Providers:
    """The built-in memory, which is `block` and `recall`, and one provider that `add` adds to it.

    The added provider is given the events that `events` replays. Safe for many threads.
    """

    def __init__(self, block: Block, recall: Recall, events: EventsOf, *, recall_tokens: int) -> None:
        self._block = block
        self._recall = recall
        self._events = events
        self._recall_tokens = recall_tokens
        self._external: ProviderHost | None = None

    @property
    def external(self) -> ProviderHost | None:
        """The external provider."""
        return self._external

    @property
    def listener(self) -> Providers | None:
        """These, if there is an external provider, which listens to sessions."""
        return self if self._external is not None else None

    def add(self, provider: ProviderHost) -> bool:
        """Add an external provider; returns whether it was accepted. A second one is refused."""
        if self._external is not None:
            logger.warning(
                "memory provider %s is left out: there may be one beside the built-in one, and that is %s",
                provider.name,
                self._external.name,
            )
            return False
        if not provider.probe("is_available", lambda item: item.is_available(), otherwise=False):
            logger.warning("memory provider %s is not available: it is left out", provider.name)
            return False
        self._external = provider
        return True

    def close(self) -> None:
        """Release all resources."""
        if self._external is not None:
            self._external.close()

    # --- for a turn -----------------------------------------------------------------------------

    def block(self, session: Session) -> str:
        """The memories' sections of a session's system prompt, the built-in one first."""
        return "\n\n".join(block for block in (self._block(session), self._external_block(session)) if block)

    def recall(self, session: Session, text: str) -> Recalled:
        """The recalled context for a turn, within the limit. See `Recall`."""
        own = self._recall(session, text)
        texts = [own.text]
        if self._external is not None:
            which = session_info(session)
            self._external.ask(which, "on_turn_start", lambda item: _hook(item, "on_turn_start", text), None)
            texts.append(self._external.ask(which, "prefetch", lambda item: item.prefetch(text), ""))
        joined = redact_findings("\n\n".join(part.strip() for part in texts if part and part.strip()))
        return replace(own, text=_cut(joined, self._recall_tokens))

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools of the external provider."""
        if self._external is None:
            return ()
        no_specs: tuple[ToolSpec, ...] = ()
        return self._external.probe("get_tool_schemas", lambda item: tuple(item.get_tool_schemas()), no_specs)

    def call_tool(self, context: ToolContext, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one of those tools for a session. Raises its errors."""
        assert self._external is not None, f"{name} belongs to nobody"
        session = ProviderSession(id=context.session, source=context.source, lineage=context.lineage)
        return redact_findings(self._external.call_tool(session, name, dict(arguments)))

    def _external_block(self, session: Session) -> str:
        if self._external is None or kind_of(session) not in KINDS:
            return ""
        block = self._external.ask(
            session_info(session), "system_prompt_block", lambda item: item.system_prompt_block(), ""
        )
        return _cut(redact_findings(block.strip()), BLOCK_TOKENS)

    def before_compression(self, session: Session) -> None:
        """Pass the messages to be summarised to the external provider, and wait for it."""
        if self._external is None or kind_of(session) not in KINDS:
            return
        turns = _turns(session.messages)
        what = "on_pre_compress"
        self._external.try_call(session_info(session), what, lambda item: _hook(item, what, turns))

    # --- after it -------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The added provider's name as a listener. See `Listener`."""
        return f"memory:{self._external.name}" if self._external is not None else ""

    def notify(self, session: Session, after: int) -> None:
        """Pass a session's new events to the added provider. See `Listener`. Raises `ListenerError`."""
        if self._external is None or kind_of(session) not in KINDS:
            return
        for before, event, then in self._events(session.stream, after, session.version):
            try:
                _tell(self._external, before, event, then)
            except Exception as error:
                raise ListenerError(self._external.describe_error(error), upto=before.version) from error

    def notify_write(self, session: Session, write: memory_events.MemoryEvent) -> None:
        """Pass a write to the built-in memory on. See `MemoryWriteListener`. Raises `ListenerError`."""
        if self._external is None or isinstance(
            write,
            memory_events.MemoryArranged | memory_events.MemoryConflicted | memory_events.MemoryConfirmed,
        ):
            return
        action = {
            memory_events.MemoryAdded: "add",
            memory_events.MemoryReplaced: "replace",
            memory_events.MemoryRemoved: "remove",
        }[type(write)]
        content = write.old if isinstance(write, memory_events.MemoryRemoved) else write.content
        try:
            self._external.notify_session(
                session_info(session),
                lambda item: _hook(item, "on_memory_write", action, write.target, content),
            )
        except Exception as error:
            raise ListenerError(self._external.describe_error(error)) from error


def switch(provider: MemoryProvider, session: ProviderSession) -> None:
    """Call a provider's hook: its conversation continues as that session."""
    _hook(provider, "on_session_switch", session, reset=False, reason="compression")


def _tell(external: ProviderHost, before: Session, event: e.SessionEvent, after: Session) -> None:
    """Call the hook for one event. Raises the hook's errors."""
    match event:
        case e.TurnCompleted():
            turn = before.find(event.turn)
            user = "\n\n".join(turn.texts) if turn is not None else ""
            external.notify_session(session_info(before), lambda item: item.sync_turn(user, event.answer))
            external.try_call(session_info(before), "queue_prefetch", lambda item: item.queue_prefetch(user))
        case e.ChildEnded():
            goals = (child.ref.goal for child in before.children if child.ref.session == event.child)
            task, result = next(goals, ""), event.answer or f"{event.status}: {event.message}"
            external.notify_session(
                session_info(before), lambda item: _hook(item, "on_delegation", task, result)
            )
        case e.SessionStarted(parent=str(), at=None):
            external.switch_session(session_info(after))
        case e.SessionEnded() if event.reason != "compression":
            turns = _turns(before.messages)
            external.notify_session(session_info(before), lambda item: _hook(item, "on_session_end", turns))
            external.end(session_info(before))
        case _:
            pass


def _hook(provider: MemoryProvider, name: str, *values: object, **named: object) -> None:
    """Call an optional method."""
    method = getattr(provider, name, None)
    if method is not None:
        method(*values, **named)


def _turns(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """The user's messages and the answers, without the work in between."""
    turns: list[Turn] = []
    user = ""
    for message in messages:
        if isinstance(message, UserMessage):
            user = message.content
        elif isinstance(message, AssistantMessage) and not message.tool_calls:
            turns.append(Turn(user, message.content))
    return tuple(turns)


def _cut(text: str, limit: int) -> str:
    """The whole lines that fit into `limit` tokens; if the first does not, its beginning."""
    if token_weight(text) <= limit * CHARACTERS_A_TOKEN:
        return text
    fits = head(text, limit * CHARACTERS_A_TOKEN)
    end = fits.rfind("\n")
    return fits[: end if end > 0 else None].rstrip()
