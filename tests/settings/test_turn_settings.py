"""What travels with a turn: every key of the list, and never a secret."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.settings import Key, Settings, known_keys, load
from hermes_jobs.settings.turn_settings import (
    OF_PROCESSES,
    TRAVELS,
    applied,
    available_digests,
    carried,
    travels,
    unsendable,
)
from tests.examples import examples

SALT = "log"
KEY, OTHER = "sk-0123456789-abcdef", "sk-abcdef-0123456789"
WORDS = [
    "other",
    "deny",
    "responses",
    "text",
    "1h",
    "off",
    "docker",
    "openai",
    "low",
    "skip",
    "queue",
    "reject",
    "searxng",
]
BRAVE = {"HERMES_JOBS_WEB__SEARCH__PROVIDER": "brave"}
SEARCH_AT = "HERMES_JOBS_WEB__SEARCH__BASE_URL"
SAMPLES: tuple[object, ...] = (
    "all",
    *WORDS,
    *(7, 1_000, 0.3, True, False, "http://h.example/v1", "UTC", "apply", "cheap", "wait"),
    *(
        ["one", "two"],
        [1],
        {"a": ["b"]},
        {"a": {"command": "x"}},
        {"a": "b"},
        {"a": True},
        {"m": {"input": 1, "output": 2}},
        {"a": {"prompt": "b"}},
        {"p": {"members": ["m"], "aggregator": "n"}},
    ),
)
NAMES = [name for name in known_keys() if travels(name)]


def sample(key: Key, default: object) -> object:
    """A value that the key takes and that is not its default."""
    for value in ("UTC",) if key.name.endswith("timezone") else SAMPLES:
        try:
            if msgspec.to_builtins(key.convert(value)) != msgspec.to_builtins(default):
                return value
        except msgspec.ValidationError:
            continue
    raise AssertionError(f"add a sample for {key.name}")


def variable(name: str) -> str:
    return "HERMES_JOBS_" + name.replace(".", "__").upper()


def written(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


@pytest.fixture
def worker(tmp_path) -> Settings:
    """The settings of a process that began in another shell."""
    return load({"OPENAI_API_KEY": KEY}, home=tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_the_environment_sets_is_applied_by_another_process(tmp_path, worker, name):
    key = known_keys()[name]
    value = sample(key, worker.value(key))
    shell = load({"OPENAI_API_KEY": KEY, variable(name): written(value)}, home=tmp_path)

    travelled = carried(shell, None, SALT)

    assert list(travelled.values) == [name]
    stored = msgspec.json.decode(msgspec.json.encode(travelled.values))
    there = applied(worker, stored)
    assert there.value(key) == shell.value(key) != worker.value(key)
    assert there.same_values(msgspec.structs.replace(shell, secrets=worker.secrets))


def test_every_key_travels_or_belongs_to_processes_or_is_listed_as_local(tmp_path):
    for name, key in known_keys().items():
        urls = {"broker_url": "redis://h/0", "log_url": "postgresql://h/x"}
        value = urls.get(name) or sample(key, load({}, home=tmp_path).value(key))
        shell = load({variable(name): written(value)}, home=tmp_path)
        of_process = any(name == each or name.startswith(f"{each}.") for each in OF_PROCESSES)
        stays = unsendable(shell) == [variable(name)]
        assert [travels(name), of_process, stays].count(True) == 1, name
    assert all(any(name == each or name.startswith(f"{each}.") for name in known_keys()) for each in TRAVELS)


def test_settings_of_the_files_do_not_travel(tmp_path):
    (tmp_path / "config.yaml").write_text("terminal: {policy: deny}\nmodel: {base_url: 'http://h/v1'}\n")
    (tmp_path / ".env").write_text(
        f"HERMES_JOBS_MODEL=m\nOPENAI_API_KEY={KEY}\nANTHROPIC_BASE_URL=http://a\n"
    )
    (tmp_path / ".env").chmod(0o600)
    travelled = carried(load({}, home=tmp_path), None, SALT)
    assert (travelled.values, travelled.requires) == ({}, {})


@settings(max_examples=examples(25))
@given(st.data())
def test_no_secret_is_ever_recorded(tmp_path_factory, data):
    home = tmp_path_factory.mktemp("home")
    names = data.draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
    base = load({}, home=home)
    keys = [known_keys()[name] for name in names]
    environ = {variable(key.name): written(sample(key, base.value(key))) for key in keys}
    secret = "s3cret-" + data.draw(st.text("abcdef0123456789", min_size=8, max_size=20))
    environ |= {
        data.draw(st.sampled_from(["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AUXILIARY_API_KEY"])): secret,
        "HERMES_JOBS_AUXILIARY__BASE_URL": f"http://me:{secret}@h.example/v1",
        "HERMES_JOBS_TERMINAL__ALLOW": msgspec.json.encode([f"curl -H {secret} *"]).decode(),
    }

    shell = load(environ, home=home)
    travelled = carried(shell, data.draw(st.sampled_from([None, "gpt-5", "claude-haiku-4-5"])), SALT)

    assert secret not in msgspec.json.encode(travelled).decode()
    assert secret not in msgspec.json.encode(available_digests(shell, SALT)).decode()
    assert {"auxiliary.base_url", "terminal.allow"} <= set(travelled.requires)
    assert all(re.fullmatch(rf"[0-9a-f]{{6}}@{SALT}", digest) for digest in travelled.requires.values())


def meets(shell: Settings, worker: Settings, model: str | None = None) -> bool:
    return carried(shell, model, SALT).requires.items() <= available_digests(worker, SALT).items()


@pytest.mark.parametrize(
    ("shell", "worker", "meet"),
    [
        ({"OPENAI_API_KEY": KEY}, {"OPENAI_API_KEY": KEY}, True),
        ({**BRAVE, "BRAVE_API_KEY": KEY}, {**BRAVE, "BRAVE_API_KEY": KEY}, True),
        ({**BRAVE, "BRAVE_API_KEY": KEY}, {**BRAVE, "BRAVE_API_KEY": OTHER}, False),
        ({**BRAVE, "BRAVE_API_KEY": KEY}, BRAVE, False),
        (BRAVE, {**BRAVE, "BRAVE_API_KEY": KEY}, True),
        ({**BRAVE, SEARCH_AT: "http://h.example/v1"}, {**BRAVE, "BRAVE_API_KEY": KEY}, False),
        ({"HERMES_JOBS_WEB__SEARCH__PROVIDER": "searxng", SEARCH_AT: "http://h.example/"}, {}, True),
        ({"OPENAI_API_KEY": KEY}, {"OPENAI_API_KEY": OTHER}, False),
        ({"OPENAI_API_KEY": KEY}, {}, False),
        ({}, {"OPENAI_API_KEY": KEY}, True),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://h/v1"}, {"OPENAI_API_KEY": KEY}, True),
        ({"OPENAI_BASE_URL": "http://h/v1"}, {"OPENAI_API_KEY": KEY}, False),
        (
            {"OPENAI_BASE_URL": "http://h/v1"},
            {"OPENAI_API_KEY": KEY, "HERMES_JOBS_MODEL__BASE_URL": "http://h/v1"},
            True,
        ),
        ({"OPENAI_BASE_URL": "http://u:secret@h/v1"}, {"OPENAI_BASE_URL": "http://u:secret@h/v1"}, True),
        ({"OPENAI_BASE_URL": "http://u:secret@h/v1"}, {"OPENAI_BASE_URL": "http://u:other@h/v1"}, False),
        ({"ANTHROPIC_API_KEY": KEY}, {"OPENAI_API_KEY": KEY}, False),
        ({"MEM0_API_KEY": KEY}, {}, True),
        ({"HERMES_JOBS_MODEL": "gpt-5"}, {"OPENAI_API_KEY": KEY}, True),
    ],
)
def test_a_process_can_or_cannot_serve_a_turns_settings(tmp_path, shell, worker, meet):
    assert meets(load(shell, home=tmp_path), load(worker, home=tmp_path)) == meet


def test_a_key_of_the_home_s_env_file_is_everybody_s(tmp_path):
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    (tmp_path / ".env").chmod(0o600)
    assert carried(load({}, home=tmp_path), None, SALT).requires == {}
    assert carried(load({"OPENAI_API_KEY": KEY}, home=tmp_path), None, SALT).requires == {}
    assert set(carried(load({"OPENAI_API_KEY": OTHER}, home=tmp_path), None, SALT).requires) == {
        "OPENAI_API_KEY"
    }


def test_the_address_that_other_programs_share_keeps_its_meaning(tmp_path, worker):
    shell = load({"OPENAI_BASE_URL": "http://h/v1", "ANTHROPIC_BASE_URL": "http://a"}, home=tmp_path)
    there = applied(worker, carried(shell, None, SALT).values)
    for model in ("gpt-5", "anthropic:claude-haiku-4-5"):
        assert there.choice(model).base_url == shell.choice(model).base_url


def test_settings_of_a_newer_version_are_ignored(worker, caplog):
    values = {"model.nosuch": 1, "terminal.policy": "maybe", "workers.concurrency": 1, "model.model": "m"}
    there = applied(worker, values)
    assert there.model.model == "m"
    assert there.terminal == worker.terminal
    assert there.workers == worker.workers
    assert len(caplog.records) == 3


def test_a_digest_differs_by_name_and_by_log(tmp_path):
    shell = load({"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}, home=tmp_path)
    assert len({*available_digests(shell, "one").values(), *available_digests(shell, "two").values()}) == 4
