"""A running process rereads its home's files."""

from __future__ import annotations

import pytest

from hermes_jobs.settings import known_keys, load, needs_restart
from hermes_jobs.settings.reread import RESTART, LiveSettings

ENVIRON = {"HERMES_JOBS_BUDGETS__TURN_TOKENS": "100"}


@pytest.fixture
def live(tmp_path) -> LiveSettings:
    (tmp_path / "config.yaml").write_text("terminal: {policy: ask}\n")
    return LiveSettings(load(ENVIRON, home=tmp_path), ENVIRON)


def write(home, text: str, name: str = "config.yaml") -> None:
    (home / name).write_text(text)
    (home / name).chmod(0o600)


def test_nothing_is_read_again_while_the_files_are_as_they_were(live):
    assert live.current() is live.current()


def test_a_changed_file_holds_at_once_and_the_environment_over_it(live, tmp_path):
    before = live.current()
    write(tmp_path, "terminal: {policy: deny}\nbudgets: {turn_tokens: 7}\n")
    assert live.current().terminal.policy == "deny"
    assert live.current().budgets.turn_tokens == 100
    assert before.terminal.policy == "ask"
    assert live.current().secrets is before.secrets


def test_a_key_that_comes_into_the_env_file_is_there(live, tmp_path):
    write(tmp_path, "OPENAI_API_KEY=sk-0123456789\n", ".env")
    assert live.current().secrets.get("OPENAI_API_KEY") == "sk-0123456789"
    (tmp_path / ".env").unlink()
    assert live.current().secrets.get("OPENAI_API_KEY") is None


def test_a_change_between_reading_and_the_first_look_is_seen(tmp_path):
    settings = load({}, home=tmp_path)
    write(tmp_path, "terminal: {policy: deny}\n")
    assert LiveSettings(settings, {}).current().terminal.policy == "deny"


@pytest.mark.parametrize("broken", ["terminal: {policy: maybe}\n", "model: [\n", "nosuch: 1\n"])
def test_a_broken_file_keeps_the_earlier_settings_and_warns(live, tmp_path, caplog, broken):
    before = live.current()
    write(tmp_path, broken)
    assert live.current() is before
    assert live.current() is before
    assert len(caplog.records) == 1
    assert live.problem
    write(tmp_path, "terminal: {policy: deny}\n")
    assert live.current().terminal.policy == "deny"
    assert not live.problem


def test_an_env_file_that_others_can_read_is_as_good_as_broken(live, tmp_path):
    write(tmp_path, "OPENAI_API_KEY=sk-0123456789\n", ".env")
    (tmp_path / ".env").chmod(0o644)
    assert live.current().secrets.get("OPENAI_API_KEY") is None
    assert "chmod" in live.problem or "others can read" in live.problem
    assert "sk-0123456789" not in live.problem


def test_settings_that_need_a_restart_stay_and_are_named(live, tmp_path):
    before = live.current()
    write(tmp_path, "workers: {concurrency: 3}\nterminal: {policy: deny}\n")
    now = live.current()
    assert (now.workers, now.terminal.policy) == (before.workers, "deny")
    assert live.outdated == ("workers.concurrency",)
    write(tmp_path, "terminal: {policy: deny}\n")
    assert live.current().workers == before.workers
    assert live.outdated == ()


def test_every_name_of_the_list_is_a_key_or_a_section():
    assert all(any(map(needs_restart, [each])) for each in RESTART)
    assert all(any(name == each or name.startswith(f"{each}.") for name in known_keys()) for each in RESTART)
