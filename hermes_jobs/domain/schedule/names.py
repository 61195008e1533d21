"""What schedules and the sessions of their runs are called."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from hermes_jobs.domain.events import Plan
from hermes_jobs.domain.schedule.timing import zone_of
from hermes_jobs.domain.session.titles import clean_title, title_key
from hermes_jobs.errors import Rejected

MAX_LENGTH = 60  # characters; a session's title adds the moment
FROM_TEXT = 40  # characters that a name takes from the text


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
    """A name for a schedule of which only the text is known: how that begins."""
    line = clean_title(" ".join(text.split())[:FROM_TEXT])
    if len(" ".join(text.split())) <= FROM_TEXT:
        return line.rstrip(".")
    return f"{line.rsplit(' ', 1)[0]}…"


def unused(name: str, others: Iterable[str]) -> str:
    """The name, with a number behind it where others read the same."""
    taken = {title_key(each) for each in others}
    names = (name if number == 1 else f"{name} {number}" for number in range(1, len(taken) + 2))
    return next(each for each in names if title_key(each) not in taken)


def title_of(plan: Plan, due: float) -> str:
    """The title of a run's own session: titles are names, so the moment is part of it."""
    moment = datetime.fromtimestamp(due, zone_of(plan.timezone))
    return f"{plan.name} ({moment:%Y-%m-%d %H:%M:%S})".replace(":00)", ")")
