"""hermes-jobs from Python: a home, its turns, sessions, schedules and memory.

    from hermes_jobs.client import Home

    with Home() as home:
        turn = home.send("What changed in this folder today?")
        print(turn.result, turn.cost_usd)

Results are the structs that `--json` prints; errors are those of `hermes_jobs.errors`. A `Home` is safe for
threads. docs/python.md has the rest.
"""

from hermes_jobs.client.home import Home
from hermes_jobs.client.memory import Memory
from hermes_jobs.client.schedules import Schedules
from hermes_jobs.client.sessions import Sessions
from hermes_jobs.client.turns import TextPart, TurnEvent, Turns
from hermes_jobs.domain.memory.entries import Entry
from hermes_jobs.errors import (
    HermesJobsError,
    LogUnavailable,
    Misconfigured,
    OutOfBudget,
    Rejected,
)
from hermes_jobs.views.models import MessageView as Message
from hermes_jobs.views.schedule_json import RunJson as Run
from hermes_jobs.views.schedule_json import ScheduleJson as Schedule
from hermes_jobs.views.session_json import SessionJson as Session
from hermes_jobs.views.turn_json import DetailedTurnJson as DetailedTurn
from hermes_jobs.views.turn_json import ListedTurnJson as ListedTurn
from hermes_jobs.views.turn_json import TurnJson as Turn
from hermes_jobs.views.usage import Spending

__all__ = [
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
    "Rejected",
    "Run",
    "Schedule",
    "Schedules",
    "Session",
    "Sessions",
    "Spending",
    "TextPart",
    "Turn",
    "TurnEvent",
    "Turns",
]
