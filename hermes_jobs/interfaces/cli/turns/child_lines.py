"""Running sub-agents below a turn, a line each: current call, tokens, cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from hermes_jobs.interfaces.cli.output import cut, line_width, one_line
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.text.figures import duration, money, pluralize

MIN_GOAL_COLUMNS = 16  # columns of a goal in a line, however narrow it is
DOING = 28  # columns of what it does
QUIET = 60.0  # seconds after which the time without an event is shown
HELD, ASKS, WAITS = "waits for a slot", "waiting for the model", "waits for you"
ENDS: dict[e.ChildStatus, str] = {
    "completed": "done",
    "out_of_budget": "out of budget",
    "stopped": "stopped by a limit",
    "unknown": "outcome unknown",
}


class ChildLine(msgspec.Struct):
    """A running sub-agent; `depth` is 1 below the shown turn, `running` its calls by id.

    `at`: the time of its last event, in seconds since the epoch.
    """

    label: str
    depth: int
    doing: str = ASKS
    running: dict[str, str] = {}
    tokens: int = 0
    cost_usd: float | None = 0.0
    at: float = 0.0

    def text(self, now: float, width: int) -> str:
        """The line, in at most `width` columns, with the time without progress if it is long."""
        doing = next(reversed(self.running.values()), self.doing)
        if self.at and now - self.at >= QUIET:
            doing = f"{doing} for {duration(now - self.at)}"
        figures = f"{self.tokens / 1000:.1f}k tokens" if self.tokens else ""
        cost = money(self.cost_usd) if self.cost_usd else ""
        rest = "".join(f" · {part}" for part in (cut(doing, DOING), figures, cost) if part)
        return _fitted(f"{'  ' * self.depth}↳ ", self.label, rest, width)

    def end(self, event: e.ChildEnded, width: int) -> str:
        """The line about its end, in at most `width` columns."""
        cost = f", {money(event.cost_usd)}" if event.cost_usd else ""
        calls = pluralize(event.num_model_calls, "model call")
        calls += f", {pluralize(event.num_tool_calls, 'tool call')}"
        rest = f": {ENDS.get(event.status, event.status)} ({calls}{cost})"
        return _fitted(f"{'  ' * (self.depth - 1)}· ", self.label, rest, width)


class ChildLines:
    """Follows the sub-agents below a session; `notify` is called with a line at the end of each.

    `now` gives seconds since the epoch, `width` the columns of a line.
    """

    def __init__(
        self, notify: Callable[[str], None], now: Callable[[], float], width: Callable[[], int]
    ) -> None:
        self._tell = notify
        self._width = width
        self._now = now
        self._lines: dict[str, ChildLine] = {}

    def follows(self, stream: str) -> bool:
        """Whether that is the stream of a running sub-agent."""
        return lineage_of(stream) in self._lines

    def handle(self, recorded: RecordedEvent) -> None:
        """Handle an event of the shown session, or of a sub-agent below it."""
        event, here = recorded.event, self._lines.get(lineage_of(recorded.stream))
        match event:
            case e.ChildrenStarted():
                for ref in event.children:
                    label = one_line(f"{ref.role}: {ref.goal}" if ref.role else ref.goal)
                    self._lines[ref.session] = ChildLine(label=label, depth=(here.depth if here else 0) + 1)
            case e.ChildEnded():
                line = self._lines.pop(event.child, None)
                if line is not None:
                    self._tell(line.end(event, self._width()))
            case _ if here is not None:
                here.at = datetime.fromisoformat(recorded.recorded_at).timestamp()
                _follow(here, event)
            case _:
                pass

    def lines(self) -> list[str]:
        """A line for each running one, children below their parents."""
        return [line.text(self._now(), self._width()) for line in self._lines.values()]


def _fitted(mark: str, label: str, rest: str, width: int) -> str:
    """The parts as one line, of which the label gets what the others leave of the width."""
    free = width - line_width(f"{mark}{rest}")
    return f"{mark}{cut(label, max(free, MIN_GOAL_COLUMNS))}{rest}"


def _follow(line: ChildLine, event: e.Event) -> None:
    """Update a sub-agent's line by an event."""
    match event:
        case e.TurnSubmitted(held=True):
            line.doing = HELD
        case e.TurnReleased() | e.ModelCallStarted():
            line.doing = ASKS
        case e.ToolStarted():
            line.running = {**line.running, event.call: event.name}
        case e.ToolFinished() | e.ToolInterrupted():
            line.running = {call: name for call, name in line.running.items() if call != event.call}
        case e.ApprovalRequested() | e.InputRequested():
            line.doing = WAITS
        case e.ApprovalGiven() | e.ApprovalDenied() | e.InputAnswered():
            line.doing = ASKS
        case e.ModelReplied():
            line.tokens += event.usage.total_tokens
            has_cost = line.cost_usd is not None and event.cost_usd is not None
            line.cost_usd = (line.cost_usd or 0.0) + (event.cost_usd or 0.0) if has_cost else None
        case _:
            pass
