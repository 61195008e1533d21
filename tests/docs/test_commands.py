"""Every `hermes-jobs …` that the documentation shows is one that the command line takes."""

from __future__ import annotations

import click
import pytest

from tests.docs.command_lines import check, shown
from tests.docs.pages import Page, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_command_line_fits(page: Page) -> None:
    wrong = []
    for arguments, whole in shown(page.by_hand):
        try:
            check(arguments, whole=whole)
        except click.UsageError as error:
            wrong.append(f"hermes-jobs {' '.join(arguments)}: {error.format_message()}")
    assert not wrong, f"{page.name} shows what the command line does not take"


def test_command_lines_are_found_in_the_readme() -> None:
    (readme, *_) = pages()
    lines = [arguments for arguments, _ in shown(readme)]
    assert ["chat"] in lines
    assert ["log", "views", "rebuild"] in lines  # within a sentence


WRONG = ["sned hello", "turns shwo t1", "turns show", "send --nothing", "usage --by moon", "queues more"]


@pytest.mark.parametrize("line", WRONG)
def test_unknown_commands_and_options_are_refused(line: str) -> None:
    with pytest.raises(click.UsageError):
        check(line.split(), whole=True)
