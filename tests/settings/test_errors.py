"""What a wrong key, value or file is answered with."""

from difflib import SequenceMatcher

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings import known_keys, load


def refusal(home, config: str = "", *, environ=None) -> str:
    """Return what loading is refused with, hint included."""
    (home / "config.yaml").write_text(config)
    with pytest.raises(Misconfigured) as caught:
        load(environ or {}, home=home)
    return f"{caught.value.message} {caught.value.hint}"


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@st.composite
def mistyped_keys(draw) -> tuple[str, str]:
    """A dotted key and the same with one letter too few, too many or changed, in its last part."""
    key = draw(st.sampled_from([name for name in known_keys() if name.count(".") == 1]))
    section, _, leaf = key.partition(".")
    at = draw(st.integers(0, len(leaf) - 1))
    letter = draw(st.sampled_from("aeiouxyz"))
    tail = draw(st.sampled_from([leaf[at + 1 :], leaf[at:]]))
    mistyped = draw(st.sampled_from([leaf[:at] + letter + tail, leaf[:at] + leaf[at + 1 :]]))
    assume(mistyped and not mistyped.endswith(("key", "token", "secret")))
    assume(f"{section}.{mistyped}" not in known_keys())
    return key, f"{section}.{mistyped}"


@given(keys=mistyped_keys())
def test_a_mistyped_key_is_named_in_full_with_the_nearest_known_one(shared_home, keys):
    meant, written = keys
    section, _, leaf = written.partition(".")

    message = refusal(shared_home, f"{section}:\n  '{leaf}': 1\n")

    assert repr(written) in message
    assert "config.yaml, line 2" in message
    named = message.split("The nearest known one is '")[1].split("'")[0]
    assert named in known_keys() or named.startswith("auxiliary.") or named == "gateway.telegram"

    def likeness(key: str) -> float:
        return SequenceMatcher(a=key, b=written).ratio()

    assert likeness(named) >= likeness(meant) - 1e-9


@pytest.mark.parametrize(
    ("written", "nearest"),
    [
        ("compresion: {threshold: 0.4}", "'compression'"),
        ("compression: {treshold: 0.4}", "'compression.threshold'"),
        ("max_iterations: 3", "'agent.max_iterations'"),
        ("auxiliary: {reviews: {model: x}}", "'auxiliary.review'"),
        ("1: 2", "nearest known one is"),
    ],
)
def test_an_unknown_key_or_section_suggests_a_similar_one(tmp_path, written, nearest):
    assert nearest in refusal(tmp_path, written)


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("HERMES_JOBS_COMPRESSION__TRESHOLD", "HERMES_JOBS_COMPRESSION__THRESHOLD"),
        ("HERMES_JOBS_BROKER", "HERMES_JOBS_BROKER_URL"),
        ("HERMES_JOBS_HOMES", "HERMES_JOBS_HOME"),
        ("HERMES_JOBS_AUXILIARY__REVIEW_MODEL", "HERMES_JOBS_AUXILIARY__REVIEW__MODEL"),
    ],
)
def test_an_unknown_variable_names_the_nearest_one(tmp_path, variable, nearest):
    message = refusal(tmp_path, environ={variable: "0.4"})
    assert f"Unknown variable {variable}" in message
    assert f"{nearest}." in message


def test_other_programs_variables_are_left_alone(tmp_path):
    assert load({"HERMES_HOME": "/elsewhere", "MODEL__NAME": "x"}, home=tmp_path).model.model is None


RANGE = "a number above 0, at most 1"
COUNT = "a whole number of at least 1"
TEXT = "a text that is not empty"
TEXTS = f"a list ([…, …]), each item {TEXT}"
IF_BUSY = "one of queue, collect, steer, interrupt, reject"
SECONDS = "a whole number of at least 0"
MODEL_URL = "a URL such as https://api.openai.com/v1 or null"
BROKER_URL = "a URL such as redis://127.0.0.1:6379/0 or null"


@pytest.mark.parametrize(
    ("key", "written", "expected", "found"),
    [
        ("compression.threshold", "high", RANGE, "'high'"),
        ("compression.threshold", "0", RANGE, "0"),
        ("compression.threshold", "1.01", RANGE, "1.01"),
        ("compression.threshold", ".nan", RANGE, "'.nan'"),
        ("compression.target_ratio", "0.05", "a number from 0.1 to 0.8", "0.05"),
        ("compression.target_ratio", "0.81", "a number from 0.1 to 0.8", "0.81"),
        ("compression.enabled", "1", "true or false", "1"),
        ("agent.max_iterations", "0", COUNT, "0"),
        ("agent.max_iterations", "true", COUNT, "true"),
        ("agent.max_iterations", "2.5", COUNT, "2.5"),
        ("agent.max_iterations", "'3'", COUNT, "'3'"),
        ("agent.max_iterations", "null", COUNT, "null"),
        ("agent.max_iterations", "{a: 1}", COUNT, "a mapping with a"),
        ("session.if_busy", "wait", IF_BUSY, "'wait'"),
        ("model.api", "completions", "one of auto, chat, responses", "'completions'"),
        ("model.model", "[a]", f"{TEXT} or null", "a list: 'a'"),
        ("model.model", "''", f"{TEXT} or null", "''"),
        ("model.base_url", "localhost", MODEL_URL, "'localhost'"),
        ("model.base_url", "'http://127.0.0.1:${PORT}/v1'", MODEL_URL, "'http://127.0.0.1:${PORT}/v1'"),
        ("model.base_url", "'http://[::1/v1'", MODEL_URL, "'http://[::1/v1'"),
        ("broker_url", "127.0.0.1:6379", BROKER_URL, "'127.0.0.1:6379'"),
        ("terminal.policy", "yes", "one of allow, ask, deny", "'yes'"),
        ("terminal.allow", "ls", TEXTS, "'ls'"),
        ("gateway.users", "[anna]", f"a mapping, each value {TEXTS}", "a list: 'anna'"),
        ("gateway.telegram.allowed_users", "[a]", "a list ([…, …]), each item a whole number", "a list: 'a'"),
        ("budgets.turn_usd", "-1", "a number of at least 0 or null", "-1"),
        ("model.reasoning_effort", "much", "one of none, low, medium, high, max or null", "'much'"),
        ("model.wait_for_quota", "6 hours", f"{SECONDS} or a duration such as 6h", "'6 hours'"),
        ("model.wait_for_quota", "-1", f"{SECONDS} or a duration such as 6h", "-1"),
        ("model.fallback", "gpt-6.1-terra", TEXTS, "'gpt-6.1-terra'"),
        ("schedules.timezone", "Europe/Berln", "a time zone", "'Europe/Berln'"),
        ("schedules.timezone", "../../etc/passwd", "a time zone", "'../../etc/passwd'"),
    ],
)
def test_a_wrong_value_says_key_expectation_finding_and_origin(tmp_path, key, written, expected, found):
    nested = ": {".join(key.split(".")) + f": {written}" + "}" * key.count(".")
    message = refusal(tmp_path, nested)
    assert f"{key}: expected {expected}, found {found} (" in message
    assert "config.yaml" in message


PRICE = "0 or a price such as {input: 0.25, output: 2}"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("models: {aliases: {fast: 5}}", f"models.aliases.fast: expected {TEXT}, found 5 ("),
        ("models: {prices: {m: 3}}", f"models.prices.m: expected {PRICE}, found 3 ("),
        (
            "models: {prices: {gpt-5.1: {input: 1}}}",
            f"models.prices.gpt-5.1: expected {PRICE}, found a mapping with input (",
        ),
        (
            "models: {prices: {m: {input: 1, output: 2, cached: 1}}}",
            f"models.prices.m: expected {PRICE}, found a mapping with input, output, cached (",
        ),
    ],
)
def test_a_wrong_entry_of_a_mapping_is_named(tmp_path, config, told):
    assert told in refusal(tmp_path, config)


@pytest.mark.parametrize(
    ("provider", "nearest"),
    [("opnai", "openai"), ("Anthropic", "anthropic"), ("google", "gemini"), ("llama.cpp", "llamacpp")],
)
def test_an_unknown_provider_names_the_nearest(tmp_path, provider, nearest):
    message = refusal(tmp_path, f"model: {{provider: {provider}}}")
    assert "model.provider: expected one of auto, openai, anthropic, " in message
    assert f"The nearest is '{nearest}'." in message


def test_a_wrong_time_zone_names_the_nearest(tmp_path):
    assert "'Europe/Berlin'" in refusal(tmp_path, "schedules: {timezone: Europe/Berln}")


def test_a_value_in_place_of_a_section_is_refused(tmp_path):
    assert "model: expected a section of keys, found 'gpt'" in refusal(tmp_path, "model: gpt")


def test_a_wrong_value_names_the_line_of_the_file_or_the_variable(tmp_path):
    assert "config.yaml, line 3)" in refusal(tmp_path, "# mine\nagent:\n  max_iterations: x\n")
    environ = {"HERMES_JOBS_AGENT__MAX_ITERATIONS": "x"}
    assert "(environment HERMES_JOBS_AGENT__MAX_ITERATIONS)" in refusal(tmp_path, environ=environ)


def test_a_wrong_value_stops_although_a_higher_source_overrides_it(tmp_path):
    environ = {"HERMES_JOBS_AGENT__MAX_ITERATIONS": "3"}
    assert "found 'x'" in refusal(tmp_path, "agent: {max_iterations: x}", environ=environ)


def test_a_long_wrong_value_is_cut(tmp_path):
    assert len(refusal(tmp_path, f"model: {{api: {'x' * 10_000}}}")) < 500


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("model:\n  api: [chat\n", "line 3, column 1"),
        ("model:\n\tapi: chat\n", "line 2, column 1"),
        ("model: {}\nmemory: {}\nmodel: {}\n", "line 3, column 1: model stands here a second time"),
        (
            "memory:\n  recall: true\n  recall: false\n",
            "line 3, column 3: memory.recall stands here a second time",
        ),
        ("model: &m {api: chat}\nmemory: *m\n", "line 2, column 9: an alias"),
        ("model:\n  api: !!python/object:os.system x\n", "line 2, column 8"),
        ("model: \x07\n", "line 1, column 8"),
        ("[" * 5_000, "nested too deeply"),
    ],
)
def test_a_broken_file_is_one_sentence_with_line_and_column(tmp_path, written, place):
    message = refusal(tmp_path, written)
    assert place in message
    assert "\n" not in message
    assert str(tmp_path / "config.yaml") in message


@pytest.mark.parametrize(
    ("written", "found"),
    [("- a\n- b\n", "a list: 'a', 'b'"), ("just words", "'just words'"), ("5", "5")],
)
def test_a_file_that_is_no_mapping_is_described(tmp_path, written, found):
    message = refusal(tmp_path, written)
    assert f"expected keys and values, such as `model: {{api: chat}}`, found {found}." in message


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "config.yaml").write_bytes(b"model: \xff\xfe")
    with pytest.raises(Misconfigured, match=r"config\.yaml cannot be read: not UTF-8 text"):
        load({}, home=tmp_path)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(Misconfigured, match=r"config\.yaml cannot be read"):
        load({}, home=tmp_path)


def test_a_variable_that_is_no_yaml_is_refused_without_its_text(tmp_path):
    message = refusal(tmp_path, environ={"HERMES_JOBS_TERMINAL__ALLOW": "[hunter2-value"})
    assert "terminal.allow: expected a list" in message
    assert "hunter2" not in message
