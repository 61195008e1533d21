"""The origin of a write to the memory or a skill: its author, and the call that it came from."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

Author = Literal["turn", "review", "flush", "user", "hand_edit", "curator", "consolidation"]
"""The author of a write: the agent in a conversation, in a review or before a compression; a user by command;
a user in an editor; a curator's proposal that a user applied; or a model that read a finished conversation.
"""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a write: session, turn, and tool call. `confirmed_by`: the person who has decided that it
    is made, after it was held; unset for others."""

    session: str
    turn: str | None = None
    call: str | None = None
    confirmed_by: str | UnsetType = UNSET

    @property
    def confirmed(self) -> str:
        """The person in `confirmed_by`; empty where it is unset."""
        return self.confirmed_by or ""
