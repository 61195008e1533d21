"""Names of schedules: lookup, cleaning, and descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from hermes_jobs.errors import Rejected
from hermes_jobs.features.schedules.events import Plan
from hermes_jobs.features.schedules.rules.schedule import Schedule, start_of
from hermes_jobs.features.schedules.rules.timing import rule_of, zone_of
from hermes_jobs.kernel.streams.decision import StateLoader
from hermes_jobs.kernel.turns.titles import clean_title, title_key


def existing(streams: Sequence[str], load: StateLoader) -> tuple[Schedule, ...]:
    """The schedules of these streams that were not removed."""
    loaded: tuple[Schedule, ...] = tuple(load(stream) for stream in streams)
    return tuple(schedule for schedule in loaded if schedule.plan is not None and not schedule.removed)


def chosen(name: str, schedules: Sequence[Schedule]) -> Schedule:
    """The schedule with that id, id prefix or name. Raises `Rejected`, kind `ambiguous` or
    `unknown_schedule`.
    """
    key = title_key(name)
    names = {
        schedule.id: title_key(schedule.plan.name) for schedule in schedules if schedule.plan is not None
    }
    matching = (
        [schedule for schedule in schedules if schedule.id == name]
        or [schedule for schedule in schedules if names[schedule.id] == key]
        or [
            schedule
            for schedule in schedules
            if key and (schedule.id.startswith(name) or names[schedule.id].startswith(key))
        ]
    )
    named = ", ".join(
        f"{schedule.id} “{schedule.plan.name}”"
        for schedule in matching or schedules
        if schedule.plan is not None
    )
    if not matching:
        there = f"There are {named}." if named else "There are none."
        raise Rejected(f"There is no schedule {name!r}.", kind="unknown_schedule", hint=there)
    if len(matching) > 1:
        raise Rejected(f"{name!r} fits several schedules: {named}.", kind="ambiguous", hint="Give an id.")
    return matching[0]


def describe(schedule: Schedule) -> str:
    """Id, name, timing, status and prompt of a schedule, as text."""
    plan = schedule.plan
    assert plan is not None, f"{schedule.stream} has no plan"
    when = f"{plan.timing}, {plan.timezone}; {describe_status(schedule)}"
    return f"{schedule.id} “{plan.name}”: {when}. Task: {plan.text}"


def describe_status(schedule: Schedule) -> str:
    """The next due time, or the reason why there is none."""
    plan = schedule.plan
    assert plan is not None, f"{schedule.stream} has no plan"
    if schedule.status == "paused":
        return f"paused ({schedule.pause_reason})" if schedule.pause_reason else "paused"
    if schedule.next_due is None:
        return schedule.status
    return f"next {rule_of(plan).shown(start_of(schedule.id, plan, schedule.next_due))}"


MAX_LENGTH = 60  # characters; a session's title appends the due time
FROM_TEXT = 40  # characters of the prompt in a name made from it


def clean_name(name: str) -> str:
    """The name on one line. Raises `Rejected`, kind `usage`, where nothing is left or it is too long."""
    clean = clean_title(name)
    if len(clean) > MAX_LENGTH:
        raise Rejected(
            f"The name has {len(clean)} characters; at most {MAX_LENGTH} are allowed.",
            kind="usage",
            hint="Give a shorter one with --name.",
        )
    return clean


def name_from(text: str) -> str:
    """A name for a schedule without one: the beginning of its prompt."""
    line = clean_title(" ".join(text.split())[:FROM_TEXT])
    if len(" ".join(text.split())) <= FROM_TEXT:
        return line.rstrip(".")
    return f"{line.rsplit(' ', 1)[0]}…"


def unused(name: str, others: Iterable[str]) -> str:
    """The name, with a number appended if it is taken."""
    used_keys = {title_key(other) for other in others}
    names = (name if number == 1 else f"{name} {number}" for number in range(1, len(used_keys) + 2))
    return next(candidate for candidate in names if title_key(candidate) not in used_keys)


def title_of(plan: Plan, due: float) -> str:
    """The title of a run's own session. Titles are unique names, so it includes the due time."""
    moment = datetime.fromtimestamp(due, zone_of(plan.timezone))
    return f"{plan.name} ({moment:%Y-%m-%d %H:%M:%S})".replace(":00)", ")")
