"""Events of the stream `approvals`: standing rules for calls that would need approval, or that are
forbidden."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.field_kinds import NAME

Mode = Literal["ask", "edits", "plan", "full"]
"""What an agent may do without asking; see `hermes_jobs.kernel.streams.approval_rules`."""

Ruling = Literal["allow", "ask", "deny"]
ApprovalScope = Literal["once", "session", "always"]


class CallPattern(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The calls of one tool, or of a group of tools such as `edit`.

    `pattern` is for the call's command, path or address; with `exact` it is the whole of it. `folder`: only
    in that folder and below it; empty: anywhere. `answers`: only these questions are answered by it; None:
    all that a pattern can answer.
    """

    tool: Annotated[str, NAME]
    pattern: str
    exact: bool = False
    folder: str = ""
    answers: tuple[str, ...] | None = None


class ApprovalRuleAdded(Event, frozen=True, kw_only=True):
    """A user made a rule. Its time is in the envelope."""

    number: int
    ruling: Ruling
    calls: CallPattern
    by: str


class ApprovalRuleRemoved(Event, frozen=True, kw_only=True):
    """A user removed the rule of that number."""

    number: int
    by: str


class ApprovalRulesProposed(Event, frozen=True, kw_only=True):
    """The rules of these numbers came from elsewhere: none is in force until a user accepts it."""

    numbers: tuple[int, ...]
    by: str


class ApprovalRuleAccepted(Event, frozen=True, kw_only=True):
    """A user accepted the proposed rule of that number: it is in force."""

    number: int
    by: str


ApprovalRuleEvent = ApprovalRuleAdded | ApprovalRuleRemoved | ApprovalRulesProposed | ApprovalRuleAccepted
