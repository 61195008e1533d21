"""The line at the bottom of a chat: model, context usage, cost."""

from __future__ import annotations

import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.chat.conversation import Conversation
from hermes_jobs.interfaces.cli.output import cut, line_width, one_line, short_tokens
from hermes_jobs.text.figures import cost_text

GAP = " · "
DROP_ORDER = ("fill", "cost", "model", "queue", "mode")  # left out in this order on a narrow terminal
MIN_NAME_COLUMNS = 8  # columns that the session's name gets, or it is left out


class ToolbarStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the conversation. `tokens` of `window` are in use; None until the next answer of an undone
    or compressed conversation tells. `known_usd`: the known part of a cost that is not known as a whole."""

    name: str
    model: str
    tokens: int | None
    window: int
    cost_usd: float | None
    known_usd: float = 0.0
    is_running: bool = False
    waiting: int = 0
    mode: str = "ask"
    asks: bool = False
    """Whether a question waits."""

    @property
    def fill(self) -> str:
        """The used share of the window; empty if unknown."""
        return "" if self.tokens is None else f"{self.tokens / max(self.window, 1):.0%}"


def toolbar_status(application: Application, conversation: Conversation) -> ToolbarStatus:
    """The current state, from the log and the views."""
    session, model = conversation.session, conversation.model
    cost: float | None = 0.0
    known_cost = 0.0
    title = None
    if session is not None:
        try:
            view = application.views.session(session.id)
            cost, known_cost, title = view.totals.cost_usd, view.totals.known_cost_usd, view.title
        except HermesJobsError:
            cost = None
    return ToolbarStatus(
        name=title or (session.id if session else "new session"),
        model=model,
        tokens=(session.prompt_tokens or None) if session and session.messages else 0,
        window=application.endpoints.by_name.window_of(model),
        cost_usd=cost,
        known_usd=known_cost,
        is_running=session is not None and session.current is not None,
        waiting=len(session.waiting) if session else 0,
        mode=conversation.mode,
        asks=conversation.questions.first() is not None,
    )


def toolbar_text(status: ToolbarStatus, columns: int, keys: str = "") -> str:
    """The line, in at most `columns` columns; `keys` answer the question that waits.

    Where the columns do not suffice, the least important parts are left out, and the name is cut.
    """
    parts = {
        "state": _waiting(keys) if status.asks else "",
        "model": one_line(status.model),
        "mode": f"mode {status.mode}",
        "fill": f"{status.fill} of {short_tokens(status.window)} tokens" if status.fill else "",
        "cost": cost_text(status.cost_usd, status.known_usd),
        "queue": f"{status.waiting} waiting" if status.waiting else "",
        "work": "" if status.asks else "working, Ctrl-C cancels" if status.is_running else "/help",
    }
    for segment in DROP_ORDER:
        if line_width(_joined(*parts.values())) <= columns:
            break
        parts.pop(segment)
    line = _joined(*parts.values())
    free = columns - line_width(f"{line}{GAP}")
    return (
        _joined(line[1:], cut(one_line(status.name), free))
        if free >= MIN_NAME_COLUMNS
        else cut(line, columns)
    )


def _waiting(keys: str) -> str:
    return f"waits for you: {', '.join(keys[:-1])} or {keys[-1]}" if keys else "waits for you"


def _joined(*parts: str) -> str:
    return f" {GAP.join(part for part in parts if part)}"
