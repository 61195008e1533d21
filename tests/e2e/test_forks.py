"""`sessions fork`: a turn in the fork continues from what was said by then; the parent stays as it was."""

from __future__ import annotations

from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree
from tests.home import Home
from tests.model_server import ModelServer


def test_a_fork_continues_from_any_event_and_its_parent_is_unchanged(
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


def said_to(server: ModelServer) -> list[str]:
    return [m["content"] for m in server.requests[-1].messages if m["role"] == "user"]


def test_a_fork_is_as_the_session_was_after_a_turn_or_before_it(
    home: Home, model_server: ModelServer
) -> None:
    one = home.send("One")
    session = one["session"]
    two = home.send("-c", "Two")["turn"]
    home.send("-c", "Three")
    for flags, kept in (
        (("--at", one["turn"]), ["One"]),
        (("--before", two[:6]), ["One"]),
        (("--before", "last"), ["One", "Two"]),
        (("--at", "last~1"), ["One", "Two"]),
        (("--before", one["turn"]), []),
    ):
        fork = home.run("sessions", "fork", session, *flags).out.strip()
        home.send("-s", fork, "Next")
        assert said_to(model_server) == [*kept, "Next"], flags
    home.send("-s", session, "Four")
    assert said_to(model_server) == ["One", "Two", "Three", "Four"]


def test_a_fork_of_a_fork_may_begin_at_a_turn_of_its_parent(home: Home, model_server: ModelServer) -> None:
    one = home.send("One")
    two = home.send("-c", "Two")["turn"]
    child = home.run("sessions", "fork", one["session"], "--at", one["turn"]).out.strip()
    later = home.send("-s", child, "Other")["turn"]
    grandchild = home.run("sessions", "fork", child, "--at", one["turn"]).out.strip()
    home.send("-s", grandchild, "Next")
    assert said_to(model_server) == ["One", "Next"]
    for turn in (two, home.send("Elsewhere")["turn"]):
        refused = home.run("sessions", "fork", child, "--at", turn)
        assert refused.code == 2
        assert f"Turn {turn} is not in the history of session {child}" in refused.err
    assert home.run("sessions", "fork", child, "--at", later).code == 0


def test_a_turn_that_has_not_begun_or_not_ended_is_no_place_to_fork_at(home: Home) -> None:
    one = home.send("One")
    queued = home.run("send", "--no-wait", "-s", one["session"], "Two").out.strip()
    refused = home.run("sessions", "fork", one["session"], "--at", queued)
    assert (refused.code, f"Turn {queued} has not begun." in refused.err) == (2, True)
    both = home.run("sessions", "fork", one["session"], "--at", "3", "--before", "last")
    assert (both.code, "exclude each other" in both.err) == (2, True)
    number = home.run("sessions", "fork", one["session"], "--before", "3")
    assert (number.code, "3 is not a turn" in number.err) == (2, True)
