"""Tables on a terminal: the telling column gets the room that there is, and lines fit."""

from __future__ import annotations

import pytest

from hermes_jobs.interfaces.cli.output import line_width
from hermes_jobs.interfaces.cli.table import Column, Table

TEXT = "The staging server is restarted every Sunday; ask Ada before deploying on Fridays"
ROWS = [
    ["t3k9", "completed", "…/projects/website", TEXT],
    ["t4", "failed", "~", "大きなファイルを取り除く方法" * 4],
]
COLUMNS: list[Column[list[str]]] = [
    Column("TURN", lambda row: row[0]),
    Column("STATUS", lambda row: row[1]),
    Column("FOLDER", lambda row: row[2], rank=1),
    Column("TEXT", lambda row: row[3], is_main=True),
]


def lines(room: int) -> list[str]:
    table = Table(COLUMNS, ROWS, room)
    return [line for row in ROWS for line in table.lines(row)]


@pytest.mark.parametrize("room", range(20, 200, 7))
def test_no_line_is_wider_than_the_terminal(room: int) -> None:
    import click

    assert max(line_width(click.unstyle(line)) for line in lines(room)) <= room


def test_a_fitting_row_is_on_one_line() -> None:
    shown = lines(200)
    assert len(shown) == 2
    assert TEXT in shown[0]


def test_a_column_is_left_out_before_the_telling_one_is_narrow() -> None:
    table = Table(COLUMNS, ROWS, 60)
    assert "FOLDER" not in table.header()
    told = " ".join(line.split("  ")[-1].strip() for line in table.lines(ROWS[0]))
    assert told == TEXT
