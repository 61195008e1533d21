"""`sessions search`: what it prints, and what it says where there is nothing."""

from __future__ import annotations

import pytest

from tests.written_home import WrittenHome


@pytest.fixture
def three(home: WrittenHome) -> WrittenHome:
    """Two sessions that speak of a proxy, and one that does not."""
    home.answered("aab1", "t1", "set up the proxy", "The proxy listens on src/app/main.py.")
    home.answered("aac2", "t2", "what is for dinner?", "Soup \x1b[31mred\x1b[0m.")
    home.answered("aad3", "t3", "一个大模型 and a proxy", "Done.")
    return home


def test_json_is_a_list_of_hits_with_fixed_names_the_best_first(three: WrittenHome) -> None:
    hits = three.run("sessions", "search", "proxy", "--json").json
    assert all(list(hit) == ["session", "title", "turn", "role", "snippet", "at"] for hit in hits)
    assert {(hit["session"], hit["role"]) for hit in hits} == {
        ("aab1", "user"),
        ("aab1", "assistant"),
        ("aad3", "user"),
    }
    assert all(">>>proxy<<<" in hit["snippet"] for hit in hits)
    assert {hit["turn"] for hit in hits} == {"t1", "t3"}
    assert {hit["title"] for hit in hits} == {None}
    assert hits[0]["at"].startswith("2026-11-21T12:00:00")


def test_people_read_one_block_a_session(three: WrittenHome) -> None:
    shown = three.run("sessions", "search", "proxy")
    assert shown.code == 0
    assert "aab1  set up the proxy\n" in shown.out
    assert "user: set up the >>>proxy<<<" in shown.out
    assert shown.out.count("aab1") == 1
    assert shown.err == ""


def test_words_may_come_as_several_arguments_and_limits_hold(three: WrittenHome) -> None:
    assert len(three.run("sessions", "search", "the", "proxy", "--json").json) == 2
    assert len(three.run("sessions", "search", "proxy", "-n", "1", "--json").json) == 1
    assert len(three.run("sessions", "search", "proxy", "--role", "assistant,tool", "--json").json) == 1
    assert three.run("sessions", "search", "proxy", "--after", "2026-11-23", "--json").json == []
    assert len(three.run("sessions", "search", "proxy", "--before", "2026-11-23", "--json").json) == 3
    assert three.run("sessions", "search", "proxy", "--source", "telegram", "--json").json == []


def test_days_begin_in_the_configured_zone(three: WrittenHome) -> None:
    found = {
        zone: three.run(
            *("sessions", "search", "proxy", "--after", "2026-11-22", "--json"),
            HERMES_JOBS_SCHEDULES__TIMEZONE=zone,
        ).json
        for zone in ("Pacific/Kiritimati", "Pacific/Niue")  # 25 hours apart
    }
    assert {zone: len(hits) for zone, hits in found.items()} == {"Pacific/Kiritimati": 3, "Pacific/Niue": 0}


@pytest.mark.parametrize(
    "query", ["模型", "大", "src/app/main.py", '"the proxy" OR', "prox*", "(proxy", "--", "-x"]
)
def test_no_query_is_an_error(query: str, three: WrittenHome) -> None:
    done = three.run("sessions", "search", "--json", "--", query)
    assert done.code == 0
    assert (done.json == []) == (query in {"--", "-x"})


def test_an_empty_search_shows_its_query_and_how_to_widen_it(three: WrittenHome) -> None:
    done = three.run("sessions", "search", "missing", "absent", "--role", "user")
    assert (done.code, done.out) == (0, "")
    for part in ("all of “missing”, “absent”", "6 searched", "--role user", "leave out --role", "--all"):
        assert part in done.err
    assert "nothing to search for" in three.run("sessions", "search", "?!").err


def test_control_characters_of_a_model_are_not_printed(three: WrittenHome) -> None:
    shown = three.run("sessions", "search", "soup").out
    assert ">>>Soup<<< red." in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--role", "user,bob"), "'bob' is none of user, assistant, tool"),
        (("--after", "whenever"), "whenever"),
        (("-n", "0"), "0"),
        ((), "QUERY"),
    ],
)
def test_wrong_usage_is_said_in_a_sentence(arguments: tuple[str, ...], told: str, home: WrittenHome) -> None:
    query = ("proxy",) if arguments else ()
    done = home.run("sessions", "search", *query, *arguments)
    assert done.code == 2
    assert told in done.err
    assert "Traceback" not in done.err


def test_hits_that_do_not_hold_all_the_words_are_said_to_be_so(three: WrittenHome) -> None:
    done = three.run("sessions", "search", "proxy", "absent", "--json")
    assert done.json
    assert all(hit["relaxed"] is True for hit in done.json)
    assert "None of these holds all of “proxy”, “absent”. They hold some of that" in done.err
