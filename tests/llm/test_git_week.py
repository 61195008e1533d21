"""The rehearsal's summary of a week, from the output of real git."""

from __future__ import annotations

import subprocess
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from hermes_jobs.llm.git_week import COMMAND, MAX_ROWS, week_summary

ROWS = """\
{today}
newest: Log: an append names its version
     12 2026-11-23 22 Ada
      1 2026-11-23 22 Bob
      6 2026-11-21 03 Ada
    500 2026-11-16 12 Eve
"""


def output_of_command(folder: Path) -> str:
    """Standard output and errors, as the tool `terminal` returns them."""
    done = subprocess.run(
        ["sh", "-c", COMMAND],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def commit(folder: Path, times: list[tuple[datetime, str]]) -> None:
    """A repository with an empty commit for each time and author; the last one is the newest."""
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    script = "".join(
        f"commit refs/heads/main\ncommitter {author} <{author}@example.com> {int(at.timestamp())} +0000\n"
        f"data {len(f'Commit {number}')}\nCommit {number}\n"
        f"M 100644 inline file\ndata {len(str(number))}\n{number}\n"
        for number, (at, author) in enumerate(times)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=script, text=True, check=True)


def test_a_week_is_drawn_by_day() -> None:
    summary = week_summary(ROWS.format(today="2026-11-24"))
    assert summary is not None
    lines = summary.splitlines()
    assert lines[0] == "The last week in this folder, as git has it:"
    assert lines[3:10] == [
        "Wed 18  ·",
        "Thu 19  ·",
        "Fri 20  ·",
        f"Sat 21  {'█' * 14} 6",
        "Sun 22  ·",
        f"Mon 23  {'█' * 30} 13",
        "Tue 24  ·",
    ]
    assert lines[-1] == (
        "19 commits by 2 people. The busiest hour was 22:00 to 23:00."
        " 6 commits were made between midnight and five."
        ' The newest says "Log: an append names its version".'
    )


def test_an_old_week_is_dated() -> None:
    summary = week_summary(ROWS.format(today="2027-03-01"))
    assert summary is not None
    assert summary.startswith("The last week with commits, to 23 November 2026, as git has it:")
    assert "Mon 23" in summary
    assert "519 commits" not in summary


def test_every_commit_of_a_busy_week_is_counted(tmp_path: Path) -> None:
    end = datetime.now(UTC) - timedelta(days=1)
    commit(tmp_path, [(end - timedelta(hours=n % 40), f"author-{n % 3}") for n in range(1200)])
    output = output_of_command(tmp_path)
    assert len(output) < 20_000
    summary = week_summary(output)
    assert summary is not None
    assert "1,200 commits by 3 people." in summary
    assert summary.endswith('The newest says "Commit 1199".')


def test_a_list_that_was_cut_off_loses_its_incomplete_day() -> None:
    newest = date(2026, 11, 23)
    rows = [
        f"      2 {newest - timedelta(days=number // 90)} 10 author-{number}" for number in range(MAX_ROWS)
    ]
    summary = week_summary("\n".join(["2026-11-23", "newest: x", *rows]))
    assert summary is not None
    chart = summary.split("```")[1].strip().splitlines()
    assert [line.split()[-1] for line in chart] == ["180"] * 4
    assert "720 commits by 360 people." in summary


def test_a_folder_without_commits_has_no_week(tmp_path: Path) -> None:
    assert week_summary(output_of_command(tmp_path)) is None
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert week_summary(output_of_command(tmp_path)) is None
