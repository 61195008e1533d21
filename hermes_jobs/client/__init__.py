"""hermes-jobs from Python: a home, its turns, sessions, schedules and memory.

    from hermes_jobs.client import Home

    with Home() as home:
        turn = home.send("What changed in this folder today?")
        print(turn.result, turn.cost_usd)

Results are the structs that `--json` prints; errors are those of `hermes_jobs.errors`. A `Home` is safe for
threads. docs/python.md has the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_jobs.client.approvals import Approvals, Rule, TestedCall
    from hermes_jobs.client.following import TextPart, TurnEvent
    from hermes_jobs.client.home import Home
    from hermes_jobs.client.memory import Memory
    from hermes_jobs.client.schedules import Schedules
    from hermes_jobs.client.sessions import Sessions, Undone
    from hermes_jobs.client.turns import TurnOptions, Turns
    from hermes_jobs.errors import HermesJobsError, LogUnavailable, Misconfigured, OutOfBudget, Rejected
    from hermes_jobs.features.memory.rules.entries import Entry
    from hermes_jobs.features.schedules.schedule_json import RunJson as Run
    from hermes_jobs.features.schedules.schedule_json import ScheduleJson as Schedule
    from hermes_jobs.features.usage.tables.usage import Spending
    from hermes_jobs.kernel.turns.questions import Question
    from hermes_jobs.kernel.views.models import MessageView as Message
    from hermes_jobs.kernel.views.session_json import SessionJson as Session
    from hermes_jobs.kernel.views.turn_json import DetailedTurnJson as DetailedTurn
    from hermes_jobs.kernel.views.turn_json import ListedTurnJson as ListedTurn
    from hermes_jobs.kernel.views.turn_json import TurnJson as Turn

# Imported on first use: the command line needs single modules of this package, and starts with few.
_PLACES = {
    **dict.fromkeys(("Approvals", "Rule", "TestedCall"), "client.approvals"),
    "Home": "client.home",
    "Memory": "client.memory",
    "Schedules": "client.schedules",
    **dict.fromkeys(("Sessions", "Undone"), "client.sessions"),
    **dict.fromkeys(("TextPart", "TurnEvent"), "client.following"),
    **dict.fromkeys(("TurnOptions", "Turns"), "client.turns"),
    "Entry": "features.memory.rules.entries",
    "Question": "kernel.turns.questions",
    **dict.fromkeys(
        ("HermesJobsError", "LogUnavailable", "Misconfigured", "OutOfBudget", "Rejected"), "errors"
    ),
    "Message": "kernel.views.models:MessageView",
    "Run": "features.schedules.schedule_json:RunJson",
    "Schedule": "features.schedules.schedule_json:ScheduleJson",
    "Session": "kernel.views.session_json:SessionJson",
    "DetailedTurn": "kernel.views.turn_json:DetailedTurnJson",
    "ListedTurn": "kernel.views.turn_json:ListedTurnJson",
    "Turn": "kernel.views.turn_json:TurnJson",
    "Spending": "features.usage.tables.usage",
}


if not TYPE_CHECKING:  # else a type checker takes any name for one of them

    def __getattr__(name: str) -> object:
        """A public name, imported from its module. Raises `AttributeError` for another one."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = _PLACES[name].partition(":")
        value: object = getattr(import_module(f"hermes_jobs.{module}"), attribute or name)
        globals()[name] = value
        return value


__all__ = [
    "Approvals",
    "DetailedTurn",
    "Entry",
    "HermesJobsError",
    "Home",
    "ListedTurn",
    "LogUnavailable",
    "Memory",
    "Message",
    "Misconfigured",
    "OutOfBudget",
    "Question",
    "Rejected",
    "Rule",
    "Run",
    "Schedule",
    "Schedules",
    "Session",
    "Sessions",
    "Spending",
    "TestedCall",
    "TextPart",
    "Turn",
    "TurnEvent",
    "TurnOptions",
    "Turns",
    "Undone",
]
