"""What people and their agents note down every day about security, prompts and shells passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.text.scan.scanner import scan
from tests.tables import each_row

ENTRIES = (Path(__file__).parent / "innocent.txt").read_text("utf-8").splitlines()


def test_there_are_two_hundred_of_them_and_none_twice() -> None:
    assert len(ENTRIES) >= 200
    assert len(set(ENTRIES)) == len(ENTRIES)


@each_row(ENTRIES)
def test_an_everyday_entry_passes(entry: str) -> None:
    assert scan(entry) == ()


@pytest.mark.slow
def test_a_hundred_of_them_together_pass_too() -> None:
    for first in range(0, len(ENTRIES), 100):
        assert scan("\n".join(ENTRIES[first : first + 100])) == ()
