"""The last week of a folder as git has it: the command, and the chart of its output."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

import msgspec

MAX_ROWS = 400
COMMAND = (
    "date +%F; git log -1 --no-merges --pretty='newest: %s' -- . && "
    "git log -5000 --no-merges --date=format:'%F %H' --pretty='%ad %an' -- . "
    f"| sort -r | uniq -c | head -{MAX_ROWS}"
)
"""Prints today's date, the newest commit's subject, and a row for each day, hour and author, newest first.
Counted there, since the list of a busy week's commits is too large for a tool's result."""

WIDTH = 30  # columns of the longest bar
WEEK = 7  # days
_ROW = re.compile(
    r"^ *(?P<commits>\d+) (?P<day>\d{4}-\d\d-\d\d) (?P<hour>\d\d) (?P<author>.*)$", re.MULTILINE
)
_TODAY = re.compile(r"\s*(\d{4}-\d\d-\d\d)(?:\n|$)")
_NEWEST = re.compile(r"^newest: (.*)$", re.MULTILINE)
_NIGHT = range(5)  # hours


class _Row(msgspec.Struct, frozen=True):
    """The commits of an author in an hour."""

    day: date
    hour: int
    author: str
    commits: int


def is_output(text: str) -> bool:
    """Whether the text is the output of `COMMAND`."""
    return _TODAY.match(text) is not None


def week_summary(output: str) -> str | None:
    """The last week in the output of `COMMAND`; None if it has no commit."""
    today = _TODAY.match(output)
    rows = [
        _Row(date.fromisoformat(row["day"]), int(row["hour"]), row["author"], int(row["commits"]))
        for row in _ROW.finditer(output)
    ]
    if not rows or today is None:
        return None
    last = max(row.day for row in rows)
    now = date.fromisoformat(today[1])
    is_recent = last <= now < last + timedelta(days=WEEK)
    days = _days(now if is_recent else last, rows)
    week = [row for row in rows if row.day >= days[0]]
    title = "The last week in this folder" if is_recent else f"The last week with commits, to {last:%d %B %Y}"
    newest = _NEWEST.search(output)
    subject = f' The newest says "{newest[1]}".' if newest else ""
    return f"{title}, as git has it:\n\n```\n{_chart(days, week)}\n```\n\n{_sentences(week)}{subject}"


def _days(last: date, rows: Sequence[_Row]) -> list[date]:
    """The days of the chart. Of a list that was cut off, the oldest day is incomplete and left out."""
    days = [last - timedelta(days=back) for back in reversed(range(WEEK))]
    if len(rows) < MAX_ROWS:
        return days
    oldest = min(row.day for row in rows)
    return [day for day in days if day > oldest] or days[-1:]


def _chart(days: Sequence[date], week: Sequence[_Row]) -> str:
    counts: Counter[date] = Counter()
    for row in week:
        counts[row.day] += row.commits
    maximum = max(counts.values())
    bars = [(day, counts[day], "█" * -(-counts[day] * WIDTH // maximum)) for day in days]
    return "\n".join(
        f"{day:%a} {day.day:2}  {bar} {count:,}" if count else f"{day:%a} {day.day:2}  ·"
        for day, count, bar in bars
    )


def _sentences(week: Sequence[_Row]) -> str:
    commits = sum(row.commits for row in week)
    people = len({row.author for row in week})
    hours: Counter[int] = Counter()
    for row in week:
        hours[row.hour] += row.commits
    hour, _ = hours.most_common(1)[0]
    sentences = [
        f"{_count(commits, 'commit')} by {_count(people, 'person', 'people')}.",
        f"The busiest hour was {hour:02}:00 to {(hour + 1) % 24:02}:00.",
    ]
    if late := sum(hours[hour] for hour in _NIGHT):
        sentences.append(f"{_count(late, 'commit was', 'commits were')} made between midnight and five.")
    return " ".join(sentences)


def _count(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"
