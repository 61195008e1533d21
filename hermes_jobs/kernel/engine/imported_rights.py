"""What imported events would allow here, and how that is held back until a user accepts it.

| came along                                  | becomes                                    |
|---------------------------------------------|--------------------------------------------|
| a rule that allows calls                    | a proposal: `approvals accept NUMBER`      |
| a rule that forbids calls, or asks          | holds at once                              |
| the mode `full`, an approval, a turn's own settings | is withdrawn                       |
| keys of the API                             | are revoked                                |
| a schedule                                  | is paused (`quiesce`), or runs, if resumed |
| a schedule's condition                      | has to be approved: `schedule edit ID --if`|
| memory, skills, system prompts              | are used: their texts are scanned          |
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.streams.approval_rules import (
    STREAM,
    ApprovalRule,
    ApprovalRules,
    evolve,
    propose_allowing,
)
from hermes_jobs.kernel.streams.decision import append
from hermes_jobs.kernel.streams.streams import withheld_of, withholding
from hermes_jobs.kernel.turns.rights import brings_along, rights_of, withdrawn
from hermes_jobs.kernel.turns.session import is_session


class ImportedRights(msgspec.Struct, kw_only=True):
    """What imported events allow, collected while they are read.

    `sessions`: what may run without asking, by session; `withdraw`: the streams of sessions that lose
    something. `prompts`: the distinct paragraphs of the sessions' system prompts.
    """

    rules: ApprovalRules = ApprovalRules()
    sessions: dict[str, dict[str, None]] = {}
    withdraw: dict[str, None] = {}
    prompts: dict[str, None] = {}

    def see(self, stream: str, event: e.Event) -> None:
        """Take another event, in the order of its stream."""
        if isinstance(event, e.ApprovalRuleEvent):
            self.rules = evolve(self.rules, event)
        elif isinstance(event, e.SessionStarted):
            self.prompts.update(dict.fromkeys(event.system_prompt.split("\n\n")))
        elif is_session(stream) and brings_along(event):
            self.withdraw[stream] = None
            self.sessions.setdefault(stream, {}).update(dict.fromkeys(rights_of(event)))

    @property
    def allowing(self) -> tuple[ApprovalRule, ...]:
        """The rules in force that allow calls."""
        return tuple(rule for rule in self.rules.rules if rule.ruling == "allow")


def withhold(engine: Engine, rights: ImportedRights, streams: Iterable[str], by: str) -> None:
    """Propose the imported rules that allow, withdraw what the sessions had, and take back what the others
    allow, as their kinds say; `by` is the author."""
    imported = frozenset(streams)
    if STREAM in imported:
        state = engine.state(STREAM)
        assert isinstance(state, ApprovalRules)
        for event in propose_allowing(state, by=by):
            engine.change(append(STREAM, event), by)
    for stream in rights.withdraw:
        if stream in imported:
            session = engine.sessions.load(stream)
            if withdrawn(session) == session:
                continue
            engine.change(append(stream, e.RightsWithdrawn(session=session.id, by=by)), by)
    prefixes = withholding()
    for stream in sorted(each for each in imported if each.startswith(prefixes)):
        if events := withheld_of(engine.state(stream), by):
            engine.change(append(stream, *events), by)
