"""The official conformance suite of MCP, where npm can install it."""

from __future__ import annotations

import pytest

from tests.conformance.__main__ import CORE, CannotInstall, install, over_http, over_stdio, play

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]  # of which npm takes most, if it loads the suite


@pytest.fixture
def _suite() -> None:
    try:
        install()
    except CannotInstall as reason:
        pytest.skip(str(reason))


@pytest.mark.usefixtures("_suite")
def test_client_and_server_pass_the_scenarios_that_are_not_expected_to_fail() -> None:
    for code, printed in play(CORE, [over_http]):
        assert code == 0, printed


# the same server, with a process for each of the suite's sessions
@pytest.mark.usefixtures("_suite")
def test_the_server_passes_them_over_stdio() -> None:
    ((code, printed),) = play((), [over_stdio])
    assert code == 0, printed
