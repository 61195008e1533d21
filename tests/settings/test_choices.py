"""Which provider a model is asked at: by what is configured, by the keys that are set, and by its name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.llm.dialect import OPENAI_URL
from hermes_jobs.llm.providers import (
    PROVIDERS,
    provider_at,
    provider_named,
    provider_of_key,
    provider_of_model,
)
from hermes_jobs.settings import Choice, load, missing_key

OPENAI = {"OPENAI_API_KEY": "sk-123456"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant-123456"}
GEMINI = {"GEMINI_API_KEY": "AIza123456"}
OPENROUTER = {"OPENROUTER_API_KEY": "sk-or-123456"}
LOCAL = "http://127.0.0.1:1/v1"
OWN = {name: each.base_url for name, each in PROVIDERS.items()}
CLAUDE = "claude-haiku-4-5"


@pytest.mark.parametrize("config", ["", "model: {provider: openai}", "model: {provider: anthropic}"])
def test_a_name_with_openai_in_front_goes_where_its_key_is_for(tmp_path, config: str) -> None:
    choice = chosen(tmp_path, "openai:gpt-6.1-terra", OPENAI | {"OPENAI_BASE_URL": LOCAL}, config)
    assert (choice.base_url, choice.key, choice.model) == (LOCAL, "OPENAI_API_KEY", "gpt-6.1-terra")


def chosen(tmp_path, name: str | None, environ: dict[str, str], config: str = "") -> Choice:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "config.yaml").write_text(config)
    return load(environ, home=tmp_path).choice(name)


@pytest.mark.parametrize(
    ("environ", "name", "provider", "model"),
    [
        (OPENAI, None, "openai", "gpt-6.1-terra"),
        (ANTHROPIC, None, "anthropic", PROVIDERS["anthropic"].default_model),
        (GEMINI, None, "gemini", PROVIDERS["gemini"].default_model),
        (OPENAI | ANTHROPIC, None, "openai", "gpt-6.1-terra"),
        (OPENAI | ANTHROPIC, CLAUDE, "anthropic", CLAUDE),
        (OPENAI, CLAUDE, "anthropic", CLAUDE),
        ({}, CLAUDE, "anthropic", CLAUDE),
        ({}, "gpt-6.1-terra", "openai", "gpt-6.1-terra"),
        ({}, "gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ({}, "some-model", "openai", "some-model"),
        (ANTHROPIC, "gpt-6.1-terra", "openai", "gpt-6.1-terra"),
        (OPENAI | GEMINI, "gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        (OPENROUTER, "anthropic/claude-haiku-4.5", "openrouter", "anthropic/claude-haiku-4.5"),
        (OPENROUTER | ANTHROPIC, CLAUDE, "anthropic", CLAUDE),
        (OPENAI | ANTHROPIC, "anthropic:claude-x", "anthropic", "claude-x"),
        (OPENAI, "deepseek:deepseek-chat", "deepseek", "deepseek-chat"),
        (OPENAI, "ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ({"HERMES_JOBS_MODEL__PROVIDER": "ollama"}, "mistral:7b", "ollama", "mistral:7b"),
        ({"OPENAI_BASE_URL": LOCAL}, "mistral:7b", "custom", "mistral:7b"),
        ({"OPENAI_BASE_URL": LOCAL, "MISTRAL_API_KEY": "k-123456"}, "mistral:7b", "mistral", "7b"),
        ({"OPENAI_BASE_URL": LOCAL}, CLAUDE, "custom", CLAUDE),
        ({"OPENAI_BASE_URL": LOCAL} | ANTHROPIC, "anthropic:claude-x", "anthropic", "claude-x"),
        ({"OPENAI_BASE_URL": "https://openrouter.ai/api/v1"}, "x/y", "openrouter", "x/y"),
        ({"OPENAI_BASE_URL": "https://api.anthropic.com/v1"}, CLAUDE, "anthropic", CLAUDE),
        ({"OPENAI_BASE_URL": "http://localhost:11434/v1"}, "qwen3", "ollama", "qwen3"),
        ({"OPENAI_BASE_URL": "https://me.openai.azure.com/openai/v1"}, "mine", "azure", "mine"),
        ({"ANTHROPIC_BASE_URL": LOCAL}, None, "anthropic", PROVIDERS["anthropic"].default_model),
        ({"ANTHROPIC_BASE_URL": LOCAL} | OPENAI, None, "openai", "gpt-6.1-terra"),
        ({"HERMES_JOBS_MODEL__PROVIDER": "xai", "XAI_API_KEY": "xai-1"}, CLAUDE, "xai", CLAUDE),
    ],
)
def test_auto_goes_by_the_address_then_the_name_and_the_keys(tmp_path, environ, name, provider, model):
    choice = chosen(tmp_path, name, environ)
    assert (choice.provider, choice.model) == (provider, model)


@pytest.mark.parametrize(
    ("environ", "name", "base_url", "key"),
    [
        (OPENAI, None, None, "OPENAI_API_KEY"),
        (ANTHROPIC, None, "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        ({"GOOGLE_API_KEY": "AIza1"}, None, OWN["gemini"], "GOOGLE_API_KEY"),
        ({}, "gemini-2.5-pro", OWN["gemini"], "GEMINI_API_KEY"),
        ({"ANTHROPIC_BASE_URL": f"{LOCAL}/"}, CLAUDE, "http://127.0.0.1:1", "ANTHROPIC_API_KEY"),
        ({"OPENAI_BASE_URL": LOCAL}, None, LOCAL, "OPENAI_API_KEY"),
        (
            {"OPENAI_BASE_URL": "https://openrouter.ai/api/v1", **OPENAI},
            "x/y",
            "https://openrouter.ai/api/v1",
            "OPENAI_API_KEY",
        ),
        (
            {"OPENAI_BASE_URL": "https://openrouter.ai/api/v1", **OPENAI, **OPENROUTER},
            "x/y",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
        ),
        ({"HERMES_JOBS_MODEL__PROVIDER": "ollama", **OPENAI}, "qwen3", OWN["ollama"], "OLLAMA_API_KEY"),
        (
            {"HERMES_JOBS_MODEL__PROVIDER": "deepseek", "OPENAI_BASE_URL": LOCAL, **OPENAI},
            None,
            LOCAL,
            "OPENAI_API_KEY",
        ),
        (
            {"HERMES_JOBS_MODEL__PROVIDER": "anthropic", "OPENAI_BASE_URL": LOCAL, **ANTHROPIC},
            None,
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
        ),
        (
            {"HERMES_JOBS_MODEL__PROVIDER": "anthropic", "HERMES_JOBS_MODEL__BASE_URL": LOCAL, **ANTHROPIC},
            None,
            "http://127.0.0.1:1",
            "ANTHROPIC_API_KEY",
        ),
    ],
)
def test_a_choice_says_where_it_is_asked_and_with_which_key(tmp_path, environ, name, base_url, key):
    choice = chosen(tmp_path, name, environ)
    assert (choice.base_url, choice.key) == (base_url, key)


GROQ = {"HERMES_JOBS_MODEL__PROVIDER": "groq", "GROQ_API_KEY": "gsk_1"}
GATEWAY = {"OPENAI_BASE_URL": LOCAL, "OPENAI_API_KEY": "sk-gateway"}


@pytest.mark.parametrize(
    ("environ", "name", "base_url", "key"),
    [
        (GROQ | {"OPENAI_BASE_URL": LOCAL}, None, OWN["groq"], "GROQ_API_KEY"),
        (GROQ | GATEWAY, None, OWN["groq"], "GROQ_API_KEY"),
        (GROQ | GATEWAY, "groq:x", OWN["groq"], "GROQ_API_KEY"),
        (GROQ | GATEWAY, "openai:x", LOCAL, "OPENAI_API_KEY"),
        (GROQ | GATEWAY | {"GROQ_API_KEY": ""}, None, LOCAL, "OPENAI_API_KEY"),
        (GROQ | {"OPENAI_BASE_URL": OWN["groq"]}, None, OWN["groq"], "GROQ_API_KEY"),
        (GROQ | {"HERMES_JOBS_MODEL__BASE_URL": LOCAL}, None, LOCAL, "GROQ_API_KEY"),
        (
            {"HERMES_JOBS_MODEL__PROVIDER": "azure", "AZURE_OPENAI_API_KEY": "a"} | GATEWAY,
            None,
            LOCAL,
            "OPENAI_API_KEY",
        ),
        (
            {"HERMES_JOBS_MODEL__PROVIDER": "ollama", "OLLAMA_API_KEY": "o"} | GATEWAY,
            "qwen3",
            OWN["ollama"],
            "OLLAMA_API_KEY",
        ),
    ],
)
def test_the_address_of_other_programs_gets_the_key_of_other_programs_alone(
    tmp_path, environ, name, base_url, key
):
    choice = chosen(tmp_path, name, environ)
    assert (choice.base_url, choice.key) == (base_url, key)


OTHER = "http://127.0.0.1:2/v1"


@pytest.mark.parametrize(
    ("environ", "config", "review", "vectors"),
    [
        (OPENAI, "", "AUXILIARY_REVIEW_API_KEY", "EMBEDDINGS_API_KEY"),
        (GATEWAY, "", "AUXILIARY_REVIEW_API_KEY", "EMBEDDINGS_API_KEY"),
        (OPENAI, f"model: {{base_url: '{OTHER}'}}", "OPENAI_API_KEY", "OPENAI_API_KEY"),
        (OPENAI | {"AUXILIARY_API_KEY": "a"}, "", "AUXILIARY_API_KEY", "EMBEDDINGS_API_KEY"),
        (
            OPENAI | {"AUXILIARY_API_KEY": "a", "HERMES_JOBS_AUXILIARY__BASE_URL": LOCAL},
            "",
            "AUXILIARY_REVIEW_API_KEY",
            "EMBEDDINGS_API_KEY",
        ),
    ],
)
def test_an_auxiliary_or_embedding_address_gets_a_key_that_is_for_it(
    tmp_path, environ, config, review, vectors
):
    of = {
        "HERMES_JOBS_AUXILIARY__REVIEW__BASE_URL": OTHER,
        "HERMES_JOBS_EMBEDDINGS__BASE_URL": OTHER,
        "HERMES_JOBS_EMBEDDINGS__MODEL": "m",
    }
    (tmp_path / "config.yaml").write_text(config)
    settings = load(environ | of, home=tmp_path)
    assert settings.auxiliary_model("review").key == review
    assert settings.embedding_model is not None
    assert settings.embedding_model.key == vectors


def test_the_key_of_a_gateway_is_not_sent_to_openai_by_an_embedding_address(tmp_path):
    of = {"HERMES_JOBS_EMBEDDINGS__BASE_URL": OPENAI_URL, "HERMES_JOBS_EMBEDDINGS__MODEL": "m"}
    settings = load(GATEWAY | of, home=tmp_path)
    assert settings.embedding_model is not None
    assert settings.embedding_model.key == "EMBEDDINGS_API_KEY"


def test_an_alias_can_be_used_for_a_model_everywhere(tmp_path):
    config = (
        "models: {aliases: {fast: 'anthropic:claude-haiku-4-5', main: gpt-6.1-terra}}\nmodel: {model: main}"
    )
    assert chosen(tmp_path, "fast", OPENAI | ANTHROPIC, config).provider == "anthropic"
    assert load(OPENAI, home=tmp_path).main_model == Choice("gpt-6.1-terra")


def test_where_none_is_named_the_configured_model_is_asked(tmp_path):
    config = "model: {provider: ollama, model: qwen3}"
    assert chosen(tmp_path, None, {}, config).model == "qwen3"


def test_a_rehearsed_session_continues_with_a_model_configured_since(tmp_path):
    assert chosen(tmp_path, "rehearsal", {}).rehearsal
    assert chosen(tmp_path, "rehearsal", OPENAI) == Choice("gpt-6.1-terra")
    assert chosen(tmp_path, "rehearsal", OPENAI, "model: {model: rehearsal}").rehearsal


@pytest.mark.parametrize(
    ("environ", "name", "told"),
    [
        ({}, "gpt-6.1-terra", "OPENAI_API_KEY is not set, and OpenAI needs it for gpt-6.1-terra."),
        ({}, CLAUDE, f"ANTHROPIC_API_KEY is not set, and Anthropic needs it for {CLAUDE}."),
        (
            {"OPENAI_API_KEY": "sk-ant-secret-1"},
            CLAUDE,
            f"ANTHROPIC_API_KEY is not set, and Anthropic needs it for {CLAUDE}. "
            "OPENAI_API_KEY holds what looks like a key of Anthropic.",
        ),
        (
            {"OPENAI_API_KEY": "sk-ant-secret-1"},
            None,
            "OPENAI_API_KEY holds a key of Anthropic (sk-ant-…), and OpenAI is asked for gpt-6.1-terra: "
            "put it into ANTHROPIC_API_KEY, or set the key of OpenAI.",
        ),
        (
            {"OPENAI_API_KEY": "sk-or-secret-1", "OPENAI_BASE_URL": "https://api.groq.com/openai/v1"},
            "x",
            "OPENAI_API_KEY holds a key of OpenRouter (sk-or-…), and Groq is asked for x: put it into "
            "OPENROUTER_API_KEY, or set the key of Groq.",
        ),
        ({"OPENAI_API_KEY": "sk-or-secret-1", "OPENAI_BASE_URL": "https://openrouter.ai/api/v1"}, "x", None),
        ({"OPENAI_API_KEY": "sk-or-secret-1", "OPENAI_BASE_URL": LOCAL}, "x", None),
        ({"HERMES_JOBS_MODEL__PROVIDER": "llamacpp"}, "x", None),
        ({}, "rehearsal", None),
        (OPENAI, None, None),
    ],
)
def test_a_problem_of_a_key_is_described_without_it(tmp_path, environ, name, told):
    choice = chosen(tmp_path, name, environ)
    assert missing_key(choice, load(environ, home=tmp_path).secrets) == told


@pytest.mark.parametrize(
    ("key", "provider"),
    [
        ("sk-ant-api03-x", "anthropic"),
        ("sk-or-v1-x", "openrouter"),
        ("AIzaSyx", "gemini"),
        ("gsk_x", "groq"),
        ("xai-x", "xai"),
        ("sk-proj-x", "openai"),
        ("sk-x", None),
    ],
)
def test_keys_are_known_by_their_form(key, provider):
    found = provider_of_key(key)
    assert (found and found.name) == provider


def test_every_provider_with_an_address_is_found_by_it_or_has_a_port_that_many_share():
    for each in PROVIDERS.values():
        if each.base_url is not None and each.name not in {"vllm", "llamacpp"}:
            assert provider_at(each.base_url) == each


def test_every_provider_has_its_documentation_and_those_that_need_a_key_a_place_to_get_it():
    for each in PROVIDERS.values():
        assert each.docs.startswith("https://")
        assert each.keys
        assert not each.needs_key or each.keys_at.startswith("https://")


def test_the_usual_model_of_a_provider_is_recognised_by_its_name():
    for each in PROVIDERS.values():
        if each.default_model is not None:
            assert provider_of_model(each.default_model) == each


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Google Gemini", "gemini"),
        ("llama.cpp", "llamacpp"),
        ("LM Studio", "lmstudio"),
        ("claude", "anthropic"),
    ],
)
def test_providers_are_known_by_other_names_too(said, name):
    found = provider_named(said)
    assert found is not None
    assert found.name == name


@given(st.text())
def test_any_text_may_be_taken_for_an_address_or_a_key(text):
    assert provider_of_key(text) in {None, *PROVIDERS.values()}
    assert provider_named(text) in {None, *PROVIDERS.values()}
