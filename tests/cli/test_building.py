"""The bar of a command that waits for the read models."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from hermes_jobs.interfaces.cli.building import show_building


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal_follows_the_batches_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    for position in (20_000, 40_000, 45_000):
        show_building(position, 45_000)
    assert terminal.getvalue().split("\r\x1b[K")[1:] == [
        "Building the read models  ████████░░░░░░░░░░░░  44% of 45,000 events",
        "Building the read models  █████████████████░░░  89% of 45,000 events",
        "",
    ]


def test_nothing_is_drawn_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", pipe := StringIO())
    show_building(20_000, 45_000)
    show_building(45_000, 45_000)
    assert pipe.getvalue() == ""
