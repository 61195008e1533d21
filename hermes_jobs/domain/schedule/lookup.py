"""Which schedule is meant: by its id, its name in any case, or the unique beginning of either."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_jobs.domain.decision import StateLoader
from hermes_jobs.domain.schedule.schedule import Schedule
from hermes_jobs.domain.session.titles import title_key
from hermes_jobs.errors import Rejected


def existing(streams: Sequence[str], load: StateLoader) -> tuple[Schedule, ...]:
    """The schedules of these streams that were not removed."""
    loaded: tuple[Schedule, ...] = tuple(load(stream) for stream in streams)
    return tuple(each for each in loaded if each.plan is not None and not each.removed)


def chosen(given: str, schedules: Sequence[Schedule]) -> Schedule:
    """The one that is meant. Raises `Rejected`, kind `ambiguous` or `unknown_schedule`."""
    wanted = title_key(given)
    names = {each.id: title_key(each.plan.name) for each in schedules if each.plan is not None}
    found = (
        [each for each in schedules if each.id == given]
        or [each for each in schedules if names[each.id] == wanted]
        or [
            each
            for each in schedules
            if wanted and (each.id.startswith(given) or names[each.id].startswith(wanted))
        ]
    )
    named = ", ".join(f"{each.id} «{each.plan.name}»" for each in found or schedules if each.plan is not None)
    if not found:
        there = f"There are {named}." if named else "There are none."
        raise Rejected(f"There is no schedule {given!r}.", kind="unknown_schedule", hint=there)
    if len(found) > 1:
        raise Rejected(f"{given!r} fits several schedules: {named}.", kind="ambiguous", hint="Give an id.")
    return found[0]
