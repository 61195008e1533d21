"""An outage of the log is told once, however often it is tried."""

from __future__ import annotations

import logging

import pytest

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.kernel.log.outage import LogOutage


def test_an_outage_is_two_lines_however_long_it_lasts(caplog: pytest.LogCaptureFixture) -> None:
    outage = LogOutage(logging.getLogger("test"))
    for _ in range(2):
        for _ in range(50):
            outage.begins(LogUnavailable("gone"))
        for _ in range(50):
            outage.ends()
    assert caplog.messages == ["gone", "the log is reachable again"] * 2
