"""Cron expressions: what is one, and what is said about what is none."""

from __future__ import annotations

import re

import pytest

from schedules.timing import Cron, as_cron
from schedules.timing.cron import BadCron


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("0 9 * * 1-5", "0 9 * * 1-5"),
        ("  0   9 * *\t1-5 ", "0 9 * * 1-5"),
        ("0 9 * jan-mar mon,wed", "0 9 * JAN-MAR MON,WED"),
        ("*/15 8-18/2 1,15 * *", "*/15 8-18/2 1,15 * *"),
        ("0 18 L * *", "0 18 L * *"),
        ("0 9 * * FRI#2", "0 9 * * FRI#2"),
        ("0 9 * * 5-5/2", "0 9 * * 5"),
        ("@daily", "0 0 * * *"),
        ("@Weekly", "0 0 * * 0"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_an_expression_is_kept_with_its_spaces_and_names_made_alike(text: str, expression: str) -> None:
    assert as_cron(text) == Cron(expression)
    assert as_cron(expression) == Cron(expression)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "five fields"),
        ("0 9 * *", "this one has 4"),
        ("0 0 9 * * *", "this one has 6"),
        ("60 9 * * *", "minute goes from 0 to 59"),
        ("0 24 * * *", "hour goes from 0 to 23"),
        ("0 9 0 * *", "day of the month goes from 1 to 31"),
        ("0 9 * 13 *", "month goes from 1 to 12"),
        ("0 9 * * 8", "day of the week goes from 0 to 7"),
        ("0 9 ? * 1", "cannot be '?'"),
        ("0 9 * * MO", "'MO'"),
        ("0 9-5 * * *", "can ever be due"),
        ("*/90 * * * *", "steps of 90"),
        ("*/0 * * * *", "steps of 0"),
        ("0 9 30 2 *", "ever be due"),
        ("@reboot", "'@reboot' is not known"),
    ],
)
def test_errors_of_an_expression_are_described(text: str, told: str) -> None:
    with pytest.raises(BadCron, match=re.escape(told)):
        as_cron(text)
