"""The official conformance suite of MCP, where npm can install it."""

from __future__ import annotations

import pytest

from tests.conformance.__main__ import CORE, CannotInstall, install, play


@pytest.mark.slow
@pytest.mark.timeout(900)  # of which npm takes most, where it has to load the suite
def test_client_and_server_pass_the_scenarios_that_are_not_expected_to_fail() -> None:
    try:
        install()
    except CannotInstall as reason:
        pytest.skip(str(reason))
    for code, printed in play(CORE, server=True):
        assert code == 0, printed
