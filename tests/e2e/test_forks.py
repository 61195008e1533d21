"""`sessions fork`: a turn in the fork goes on from what was said by then; the parent stays as it was."""

from __future__ import annotations

from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree
from tests.home import Home
from tests.model_server import ModelServer


def test_a_fork_goes_on_from_any_event_and_its_parent_is_untouched(
    home: Home, model_server: ModelServer
) -> None:
    parent = home.send("One")["session"]
    with home.open_log() as log:
        after_one = log.head(f"session-{parent}")
    home.send("-c", "Two")
    before = home.run("sessions", "show", parent, "--json").json
    assert after_one is not None
    fork = home.run("sessions", "fork", parent[:8], "--at", str(after_one.version)).out.strip()
    shown = home.run("sessions", "show", fork, "--json").json
    assert (shown["parent"], shown["at"], shown["messages"]) == (parent, after_one.version, [])
    assert home.send("-c", "Three")["session"] == fork
    said = [m["content"] for m in model_server.requests[-1].messages if m["role"] == "user"]
    assert said == ["One", "Three"]
    assert home.run("sessions", "show", parent, "--json").json == before
    assert f"{parent} at its event {after_one.version}" in home.run("sessions", "show", fork).out
    assert home.run("sessions", "list", "--json").json[0]["preview"] == "Three"
    with home.open_log() as log:
        assert_all_is_done_once(log, [])
        assert_views_agree(log, home.path / "views")
