"""What the rehearsal makes of a folder's last week in git: a chart of its days, and what stands out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

import msgspec

COMMAND = (
    "git log -1000 --no-merges --shortstat --date=format:'%Y-%m-%d %H' --pretty='commit %ad by %an: %s' -- ."
)
"""Read by `week_told`. The newest thousand: what the last week was is counted from the newest."""

WIDTH = 30  # columns of the longest bar
WEEK = 7  # days
_COMMIT = re.compile(r"^commit (?P<day>\d{4}-\d\d-\d\d) (?P<hour>\d\d) by (?P<author>.*?): (?P<subject>.*)$")
_LINES = re.compile(r"(\d+) (insertion|deletion)")
_NIGHT = range(5)  # hours


class _Commit(msgspec.Struct, frozen=True):
    """A commit. `added` and `removed` are lines."""

    day: date
    hour: int
    author: str
    subject: str
    added: int = 0
    removed: int = 0


def week_told(output: str) -> str | None:
    """The last week in the output of `COMMAND`; None where it holds no commit."""
    commits = list(_commits(output))
    if not commits:
        return None
    last = max(each.day for each in commits)
    days = [last - timedelta(days=back) for back in reversed(range(WEEK))]
    week = [each for each in commits if each.day >= days[0]]
    chart = f"```\n{_chart(days, week)}\n```"
    return f"The last week in this folder, as git has it:\n\n{chart}\n\n{_sentences(week)}"


def _commits(output: str) -> Iterator[_Commit]:
    commit: _Commit | None = None
    for line in output.splitlines():
        found = _COMMIT.match(line)
        if found is not None:
            if commit is not None:
                yield commit
            day = date.fromisoformat(found["day"])
            commit = _Commit(day, int(found["hour"]), found["author"], found["subject"])
        elif commit is not None and "changed" in line:
            lines = {kind: int(number) for number, kind in _LINES.findall(line)}
            added, removed = lines.get("insertion", 0), lines.get("deletion", 0)
            commit = msgspec.structs.replace(commit, added=added, removed=removed)
    if commit is not None:
        yield commit


def _chart(days: Sequence[date], week: Sequence[_Commit]) -> str:
    counts = Counter(each.day for each in week)
    most = max(counts.values())
    rows = [(day, counts[day], "█" * -(-counts[day] * WIDTH // most)) for day in days]
    return "\n".join(
        f"{day:%a} {day.day:2}  {bar} {count}" if count else f"{day:%a} {day.day:2}  ·"
        for day, count, bar in rows
    )


def _sentences(week: Sequence[_Commit]) -> str:
    people = {each.author for each in week}
    added, removed = sum(each.added for each in week), sum(each.removed for each in week)
    told = [
        f"{_many(len(week), 'commit')} by {_many(len(people), 'person', 'people')}:"
        f" {added:,} lines came, {removed:,} went."
    ]
    hour, _ = Counter(each.hour for each in week).most_common(1)[0]
    told.append(f"The busiest hour was {hour:02}:00 to {(hour + 1) % 24:02}:00.")
    if late := sum(each.hour in _NIGHT for each in week):
        told.append(f"{_many(late, 'commit was', 'commits were')} made between midnight and five.")
    topics = Counter(each.subject.partition(":")[0] for each in week if ":" in each.subject[:30])
    if topics and (topic := topics.most_common(1)[0])[1] > 1:
        told.append(f"The favourite subject was {topic[0]} ({topic[1]} times).")
    told.append(f'The newest says "{week[0].subject}".')
    return " ".join(told)


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"
