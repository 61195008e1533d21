"""The turns of a conversation that a consolidation reads, from the events in the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from hermes_jobs.features.memory.rules.observations import PortionTurn
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent

LONGEST = 4_000  # characters of the text, and of the answer, of a turn
CHARS = 40_000  # of all turns that are read at once: about 10,000 tokens
MARK = "[REDACTED]"


def portion(
    events: Sequence[RecordedEvent], after: int, until: int, day: Callable[[str], str]
) -> tuple[PortionTurn, ...]:
    """The turns that ended with an answer at the versions `after` < version <= `until`.

    `events` are those of the stream from its beginning; `day` gives the day of a moment (ISO 8601, UTC).
    Results of tools are left out, and credentials are redacted.
    """
    session = ""
    prompts: defaultdict[str, list[str]] = defaultdict(list)
    turns: list[PortionTurn] = []
    for recorded in events:
        match recorded.event:
            case e.SessionStarted(session=session):
                pass
            case e.TurnSubmitted(turn=turn, text=text, session=named):
                session = session or named
                prompts[turn].append(text)
            case e.TurnMerged(turn=turn, into=into):
                prompts[into] += prompts.pop(turn, [])
            case e.TurnCompleted(turn=turn, answer=answer) if after < recorded.version <= until:
                turns.append(
                    PortionTurn(
                        id=turn,
                        session=session,
                        at=recorded.recorded_at,
                        day=day(recorded.recorded_at),
                        version=recorded.version,
                        prompt=_shown("\n".join(prompts[turn])),
                        answer=_shown(answer),
                    )
                )
            case _:
                pass
    return tuple(turns)


def fitting(turns: Sequence[PortionTurn]) -> tuple[PortionTurn, ...]:
    """The first turns, as many as one request holds; at least one."""
    available, chosen = CHARS, list[PortionTurn]()
    for turn in turns:
        available -= len(turn.prompt) + len(turn.answer)
        if chosen and available < 0:
            break
        chosen.append(turn)
    return tuple(chosen)


def _shown(text: str) -> str:
    from hermes_jobs.text.scan.credentials import redact_credentials  # its rules are read from files

    plain = redact_credentials(text, MARK)
    return (
        plain if len(plain) <= LONGEST else f"{plain[:LONGEST]} … [{len(plain) - LONGEST:,} more characters]"
    )
