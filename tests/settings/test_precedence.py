"""Which source wins, and how each value's origin is told."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings import DEFAULT_MODEL, REHEARSAL_MODEL, Settings, known_keys, load, render

# A value for each source, so that all can disagree; none is the default.
ALTERNATIVES: dict[str, tuple[object, object, object]] = {
    "agent.max_iterations": (2, 3, 4),
    "compression.threshold": (0.1, 0.2, 0.3),
    "model.model": ("a", "b", "12:30"),
    "model.prompt_cache": ("on", "off", "on"),
    "terminal.policy": ("allow", "deny", "allow"),
    "memory.recall": (True, True, True),
    "toolsets.enabled": (("files",), ("memory",), ()),
    "auxiliary.review.model": ("a", "b", "null-ish"),
}
SOURCES = ("config.yaml", ".env", "environment")


def variable(key: str) -> str:
    return "HERMES_JOBS_" + key.replace(".", "__").upper()


def as_yaml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return "[" + ", ".join(value) + "]"
        case str():
            return f"'{value}'"
        case _:
            return str(value)


def as_variable(value: object) -> str:
    return value if isinstance(value, str) else as_yaml(value)


def value_of(settings: Settings, key: str) -> object:
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


def write_home(home: Path, config: str = "", env: str = "") -> None:
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(config)
    (home / ".env").write_text(env)
    (home / ".env").chmod(0o600)


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory) -> Path:
    """A home that each example of a property writes anew."""
    home: Path = tmp_path_factory.mktemp("home")
    return home


@given(
    key=st.sampled_from(sorted(ALTERNATIVES)),
    present=st.lists(st.sampled_from(SOURCES), unique=True),
)
def test_the_highest_source_that_names_a_key_decides_it_and_is_its_origin(shared_home, key, present):
    values = dict(zip(SOURCES, ALTERNATIVES[key], strict=True))
    nested = ": {".join(key.split("."))
    closing = "}" * key.count(".")
    write_home(
        shared_home,
        config=f"{nested}: {as_yaml(values['config.yaml'])}{closing}" if "config.yaml" in present else "",
        env=f"{variable(key)}={as_variable(values['.env'])}" if ".env" in present else "",
    )
    environ = {variable(key): as_variable(values["environment"])} if "environment" in present else {}

    settings = load(environ, home=shared_home)

    highest = next((source for source in reversed(SOURCES) if source in present), None)
    if highest is None:
        assert settings.origins[key] == "default"
        assert value_of(settings, key) == value_of(load({}, home=shared_home / "none"), key)
    else:
        assert settings.origins[key].split()[0] == highest
        assert value_of(settings, key) == values[highest]


def test_without_any_source_every_key_has_its_documented_default(tmp_path):
    settings = load({}, home=tmp_path)

    assert set(settings.origins.values()) == {"default"}
    shown = {row.key: row.value for row in render(settings)}
    assert shown["agent.max_iterations"] == 90
    assert shown["compression.threshold"] == 0.5
    assert shown["compression.target_ratio"] == 0.2
    assert shown["memory.memory_chars"] == 2200
    assert shown["memory.user_chars"] == 1375
    assert shown["session.if_busy"] == "queue"
    assert shown["terminal.policy"] == "ask"
    assert shown["tools.result_chars"] == 100_000
    assert shown["workers.concurrency"] == 256
    assert shown["workers.lease_seconds"] == 8
    assert shown["broker_url"] is None
    assert shown["log_url"] is None


def test_every_key_has_a_description_and_its_values():
    for key in known_keys().values():
        assert key.description.endswith("."), key.name
        assert key.expected, key.name


def test_the_origin_of_a_variable_names_it(tmp_path):
    write_home(tmp_path, config="workers: {concurrency: 3}", env="HERMES_JOBS_AGENT__MAX_ITERATIONS=4")

    environ = {"HERMES_JOBS_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}
    settings = load(environ, home=tmp_path)

    assert settings.origins["model.model"] == "environment HERMES_JOBS_MODEL"
    assert settings.origins["model.base_url"] == "environment OPENAI_BASE_URL"
    assert settings.origins["agent.max_iterations"] == ".env HERMES_JOBS_AGENT__MAX_ITERATIONS"
    assert settings.origins["workers.concurrency"] == "config.yaml"
    assert settings.origins["model.api"] == "default"


def test_our_own_variable_wins_over_the_one_shared_with_other_programs(tmp_path):
    environ = {"OPENAI_BASE_URL": "http://shared/v1", "HERMES_JOBS_MODEL__BASE_URL": "http://ours/v1"}
    assert load(environ, home=tmp_path).model.base_url == "http://ours/v1"


def test_an_empty_variable_counts_as_not_set(tmp_path):
    settings = load({"HERMES_JOBS_MODEL": "", "OPENAI_API_KEY": " ", "OPENAI_BASE_URL": ""}, home=tmp_path)
    assert settings.origins["model.model"] == "default"
    assert settings.secrets.api_key is None


def test_two_variables_that_set_one_key_differently_are_refused(tmp_path):
    with pytest.raises(
        Misconfigured, match=r"model\.model: .*HERMES_JOBS_MODEL and HERMES_JOBS_MODEL__MODEL"
    ):
        load({"HERMES_JOBS_MODEL": "a", "HERMES_JOBS_MODEL__MODEL": "b"}, home=tmp_path)
    assert load({"HERMES_JOBS_MODEL": "a", "HERMES_JOBS_MODEL__MODEL": "a"}, home=tmp_path).model.model == "a"


@pytest.mark.parametrize(
    ("environ", "model", "rehearsal"),
    [
        ({}, REHEARSAL_MODEL, True),
        ({"HERMES_JOBS_MODEL": "m"}, "m", False),
        ({"HERMES_JOBS_MODEL__PROVIDER": "ollama"}, "", False),
        ({"OPENAI_API_KEY": "sk-123456"}, DEFAULT_MODEL, False),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, DEFAULT_MODEL, False),
        ({"OPENAI_API_KEY": "sk-123456", "HERMES_JOBS_MODEL": "m"}, "m", False),
        ({"OPENAI_API_KEY": "sk-123456", "HERMES_JOBS_MODEL": "rehearsal"}, REHEARSAL_MODEL, True),
    ],
)
def test_the_rehearsal_answers_where_nothing_is_configured_or_it_is_asked_for(
    tmp_path, environ, model, rehearsal
):
    settings = load(environ, home=tmp_path)
    assert (settings.model_name, settings.rehearsal) == (model, rehearsal)


def test_words_of_older_yaml_are_not_read_as_booleans_times_or_octals(tmp_path):
    write_home(tmp_path, config="model: {prompt_cache: on, model: 12:30}\nagent: {workdir: 2026-01-01}\n")
    settings = load({"HERMES_JOBS_COMPRESSION__THRESHOLD": "4e-1"}, home=tmp_path)
    assert settings.model.prompt_cache == "on"
    assert settings.model.model == "12:30"
    assert settings.agent.workdir == "2026-01-01"
    assert settings.compression.threshold == 0.4


def test_lists_and_mappings_are_read_from_variables_too(tmp_path):
    environ = {
        "HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": "[1, 2]",
        "HERMES_JOBS_GATEWAY__USERS": "{anna: ['telegram:1']}",
        "HERMES_JOBS_FILES__ROOTS": "null",
    }
    settings = load(environ, home=tmp_path)
    assert settings.gateway.telegram.allowed_users == (1, 2)
    assert settings.gateway.users == {"anna": ("telegram:1",)}
    assert settings.files.roots is None


@pytest.mark.parametrize(
    "config", ["", "# nothing\n", "---\n", "model:\n", "model: {}\nmemory:\n  # later\n"]
)
def test_an_empty_file_or_section_leaves_the_defaults(tmp_path, config):
    write_home(tmp_path, config=config)
    assert set(load({}, home=tmp_path).origins.values()) == {"default"}


def test_settings_cannot_be_changed_after_loading(tmp_path):
    settings = load({}, home=tmp_path)
    with pytest.raises(AttributeError):
        settings.model.model = "other"  # type: ignore[misc]
