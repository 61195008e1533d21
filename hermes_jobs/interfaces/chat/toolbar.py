"""The line at the bottom of a chat: who answers, how full the window is, what it has cost."""

from __future__ import annotations

import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.chat.conversation import Conversation
from hermes_jobs.interfaces.cli.output import cut, format_cost, one_line

GAP = " · "


class ToolbarStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the conversation stands. `tokens` of `window` are in use, 0 where nobody has counted yet."""

    name: str
    model: str
    tokens: int
    window: int
    cost_usd: float | None
    is_running: bool = False
    waiting: int = 0


def toolbar_status(application: Application, conversation: Conversation) -> ToolbarStatus:
    """How it stands now, as the log and the views have it."""
    session, model = conversation.session, conversation.model
    cost: float | None = 0.0
    title = None
    if session is not None:
        try:
            view = application.views.session(session.id)
            cost, title = view.books.cost_usd, view.title
        except HermesJobsError:
            cost = None
    return ToolbarStatus(
        name=title or (session.id if session else "new session"),
        model=model,
        tokens=session.prompt_tokens if session else 0,
        window=application.endpoints.by_name.window_of(model),
        cost_usd=cost,
        is_running=session is not None and session.current is not None,
        waiting=len(session.waiting) if session else 0,
    )


def toolbar_text(standing: ToolbarStatus, columns: int) -> str:
    """The line, in at most so many columns."""
    fill = f"{standing.tokens / max(standing.window, 1):.0%} of {_short(standing.window)} tokens"
    state = "working, Ctrl-C cancels" if standing.is_running else "/help"
    parts = [
        one_line(standing.model),
        fill,
        format_cost(standing.cost_usd),
        f"{standing.waiting} waiting" if standing.waiting else "",
        state,
        one_line(standing.name),
    ]
    return cut(f" {GAP.join(part for part in parts if part)}", columns)


def _short(tokens: int) -> str:
    return f"{tokens // 1000}k" if tokens >= 1000 else str(tokens)
