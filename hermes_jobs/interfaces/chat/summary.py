"""The first and last lines of a chat: the model; the turns, their cost, how to continue."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.cli.model_format import model_label
from hermes_jobs.interfaces.cli.output import cut, one_line
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.views.models import TurnView
from hermes_jobs.settings import Settings
from hermes_jobs.text.figures import money, pluralize

COUNTED = 1000  # the newest turns of a session that may belong to this chat


def greeting(settings: Settings, model: str) -> Iterator[str]:
    """The model and session, in lines of up to 80 columns."""
    if settings.choice(model).rehearsal:
        yield "hermes-jobs chat. No language model is connected: a small script answers."
        yield "Connect one: hermes-jobs setup"
        return
    yield f"hermes-jobs chat with {one_line(model)}"
    yield f"({model_label(settings, model)})"


class ChatSummary:
    """The turns since the chat began, in any session."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._from = application.log.last_position()

    def lines(self, lineage: str | None) -> Iterator[str]:
        """Turns and cost since then, and how to continue the lineage; empty without turns."""
        if lineage is None:
            return
        try:
            yield from self._done(self._application.views.turns(session=lineage, limit=COUNTED))
            title = self._application.views.session(lineage).title
        except HermesJobsError:
            title = None
        called = f"   ({cut(one_line(title), 40)})" if title else ""
        session = self._application.engine().sessions.load(stream_of(lineage))
        if session.children:
            count = pluralize(len(session.children), "sub-agent")
            where = "" if self._application.workers.are_live() else " when a worker runs: hermes-jobs up"
            yield f"{count} at work: they continue{where}."
        yield f"Come back with: hermes-jobs chat -s {lineage}{called}"

    def _done(self, turns: tuple[TurnView, ...]) -> Iterator[str]:
        turns_here = [turn_view for turn_view in turns if turn_view.position > self._from]
        if not turns_here:
            return
        costs = [self._application.views.tree_below(turn.id).totals.cost_usd for turn in turns_here]
        cost = None if None in costs else sum(cost or 0 for cost in costs)
        failed = sum(turn.status == "failed" for turn in turns_here)
        text = f"{pluralize(len(turns_here), 'turn')}{f' ({failed} failed)' if failed else ''}"
        yield f"{text}, cost {money(cost)}."
