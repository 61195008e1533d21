"""`hermes-jobs bench learning`: the whole of it for the person with the fewest texts, and wrong calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.interfaces.bench.people import people
from tests.benchmarks.learning import Scripted
from tests.home import KEY, Home
from tests.model_script import Refuse
from tests.model_server import ModelServer


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    environ = {"OPENAI_BASE_URL": model_server.base_url, "OPENAI_API_KEY": KEY}
    return Home(tmp_path, {**environ, "HERMES_JOBS_MODEL": "scripted"})


@pytest.mark.slow
def test_all_ways_of_remembering_are_measured_and_the_home_is_left_alone(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(Scripted(people()))

    done = home.run("bench", "learning", "--person", "wei", "--yes", "--json")

    assert done.code == 0, done.err
    ways = {each["way"]: each for each in done.json["ways"]}
    assert (ways["no memory"]["kept"], ways["no memory"]["given"]) == (0, 0)
    assert (ways["memory"]["kept"], ways["memory"]["missed"], ways["memory"]["stale"]) == (4, 0, 0)
    assert (ways["memory"]["given"], ways["plain notes"]["stale"]) == (1, 0)
    assert ways["memory"]["tokens"] > 0
    observed = ways["observations"]
    assert (observed["kept"], observed["missed"], observed["leaked"]) == (4, 0, 0)
    assert 0 < observed["tokens"] < ways["memory"]["tokens"]
    assert ways["no memory"]["requests"] == 4
    assert [each["form"] for each in done.json["summaries"]] == [
        *("layers",) * 3,
        *("one summary",) * 3,
        *("plain cut",) * 3,
    ]
    assert not (home.path / "events.db").exists()


@pytest.mark.slow
def test_an_unknown_person_is_refused_with_the_known_ones(home: Home) -> None:
    done = home.run("bench", "learning", "--person", "nobody", "--yes")
    assert done.code == 2
    assert "There is no person 'nobody'" in done.err
    assert "maya" in done.err


def test_without_a_terminal_to_confirm_nothing_begins(home: Home, model_server: ModelServer) -> None:
    done = home.run("bench", "learning", stdin="")
    assert done.code == 2
    assert "--yes" in done.err
    assert model_server.requests == []


def test_a_model_that_refuses_ends_it_with_the_reason(home: Home, model_server: ModelServer) -> None:
    model_server.follow(lambda seen: Refuse(status=401, message="no such key"))
    done = home.run("bench", "learning", "--person", "wei", "--yes")
    assert done.code == 1
    assert "no such key" in done.err
    assert KEY not in done.err


def test_no_model_is_no_benchmark(tmp_path: Path) -> None:
    done = Home(tmp_path, {}).run("bench", "learning", "--yes")
    assert done.code != 0
    assert "No model is configured" in done.err
