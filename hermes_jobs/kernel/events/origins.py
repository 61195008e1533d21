"""The origin of a write to the memory or a skill: its author, and the call that it came from."""

from __future__ import annotations

from typing import Literal

import msgspec

Author = Literal["turn", "review", "flush", "user", "hand_edit", "curator", "consolidation"]
"""The author of a write: the agent in a conversation, in a review or before a compression; a user by command;
a user in an editor; a curator's proposal that a user applied; or a model that read a finished conversation.
"""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a write: session, turn, and tool call."""

    session: str
    turn: str | None = None
    call: str | None = None
