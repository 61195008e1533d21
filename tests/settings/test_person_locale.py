"""The person's locale and zone travel to workers that have others, and nowhere else."""

from __future__ import annotations

import pytest

from hermes_jobs.settings import load
from hermes_jobs.settings.person_locale import PersonLocale, locale_variables, with_locale
from hermes_jobs.settings.turn_settings import TurnSettings
from hermes_jobs.tools.environment import overlay

MINE = PersonLocale({"LANG": "de_DE.UTF-8", "LC_TIME": "C", "TZ": "Asia/Tokyo"}, "Asia/Tokyo")
PLAIN = PersonLocale({"LANG": "C.UTF-8"}, "Etc/UTC")


@pytest.fixture
def home(tmp_path):
    return tmp_path


def test_only_locale_variables_are_read():
    environ = {
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "de_DE@euro",
        "TZ": ":Europe/Berlin",
        "LC_TIME": "a b",
        "LC_CTYPE": "C.UTF-8",
        "LANGUAGE": "",
        "LCOV": "x",
        "MY_LANG": "x",
    }
    assert locale_variables(environ) == {
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "de_DE@euro",
        "TZ": ":Europe/Berlin",
    }


@pytest.mark.parametrize("theirs", [[], [MINE], [MINE, MINE]])
def test_nothing_travels_where_all_have_the_same(home, theirs):
    assert with_locale(TurnSettings(), load({}, home=home), MINE, theirs) == TurnSettings()


def test_it_travels_where_one_process_has_another(home):
    found = with_locale(TurnSettings({"model": "m"}), load({}, home=home), MINE, [MINE, PLAIN])
    assert found.values == {
        "model": "m",
        "terminal.environment": MINE.variables,
        "schedules.timezone": "Asia/Tokyo",
    }


def test_configured_values_override(home):
    (home / "config.yaml").write_text(
        "terminal: {environment: {LANG: fr_FR.UTF-8, EDITOR: ed}}\nschedules: {timezone: Europe/Paris}\n"
    )
    found = with_locale(TurnSettings(), load({}, home=home), MINE, [PLAIN])
    expected = {**MINE.variables, "LANG": "fr_FR.UTF-8", "EDITOR": "ed"}
    assert found.values == {"terminal.environment": expected}


def test_a_secret_in_the_environment_of_commands_is_not_recorded_with_it(home):
    (home / "config.yaml").write_text("terminal: {environment: {NOTE: hidden-word-0123}}\n")
    settings = load({"SOME_TOKEN": "hidden-word-0123"}, home=home)
    assert with_locale(TurnSettings(), settings, MINE, [PLAIN]).values == {"schedules.timezone": "Asia/Tokyo"}


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({"LANG": "de"}, {"LANG": "de", "A": "1"}),
        ({"LC_TIME": "de"}, {"LANG": "C", "LC_ALL": "C", "LC_TIME": "de", "A": "1"}),
        ({"A": "2"}, {"LANG": "C", "LC_ALL": "C", "A": "2"}),
    ],
)
def test_a_locale_replaces_the_whole_one_of_the_worker(chosen, left):
    assert overlay({"LANG": "C", "LC_ALL": "C", "A": "1"}, chosen) == left
