"""A whole installation whose log stands behind PgBouncer in transaction mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home, endpoint
from tests.model_server import ModelServer
from tests.pgbouncer import pgbouncer_url


@pytest.mark.slow
@pytest.mark.postgres
def test_one_turn_after_the_other_is_held_through_a_pool_of_connections(
    tmp_path: Path, model_server: ModelServer
) -> None:
    with pgbouncer_url() as url:
        home = Home(tmp_path, {**endpoint(model_server.base_url), "HERMES_JOBS_LOG_URL": url})
        first = home.send("One.")
        for text in ("Two.", "Three."):
            assert home.send("-s", first["session"], text)["status"] == "completed"
        assert home.run("events", "verify").code == 0
        assert len(home.run("turns", "list", "--json").json) == 3
