"""Which model answers for which purpose, and that an endpoint's client is made once."""

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.bootstrap.api_options import api_options
from hermes_jobs.llm.endpoint_name import endpoint_name
from hermes_jobs.settings import Choice, load

KEY = {"OPENAI_API_KEY": "sk-123456"}
LOCAL = "http://127.0.0.1:1/v1"


def config(home, text: str):
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(text)


@pytest.mark.parametrize(
    ("text", "purpose", "chosen"),
    [
        ("model: {model: main}", "review", Choice("main")),
        ("auxiliary: {model: small}", "review", Choice("small")),
        ("auxiliary: {model: small, review: {model: own}}", "review", Choice("own")),
        ("auxiliary: {model: small, review: {model: own}}", "session_search", Choice("small")),
        (
            f"auxiliary: {{base_url: '{LOCAL}'}}",
            "review",
            Choice("gpt-6.1-terra", LOCAL, "AUXILIARY_REVIEW_API_KEY", "custom"),
        ),
        (
            f"model: {{base_url: '{LOCAL}', model: main}}",
            "compression",
            Choice("main", LOCAL, provider="custom"),
        ),
        ("compression: {summary_model: summary}", "compression", Choice("summary")),
        ("compression: {summary_model: summary}", "review", Choice("gpt-6.1-terra")),
        ("auxiliary: {model: rehearsal}", "review", Choice("rehearsal")),
    ],
)
def test_a_purpose_has_its_own_model_else_the_auxiliary_else_the_main_one(tmp_path, text, purpose, chosen):
    config(tmp_path, text)
    assert load(KEY, home=tmp_path).auxiliary_model(purpose) == chosen


def test_where_nothing_is_configured_a_purpose_is_rehearsed_unless_it_names_a_model(tmp_path):
    config(tmp_path, "auxiliary: {review: {model: small}}")
    settings = load({}, home=tmp_path)
    assert settings.auxiliary_model("compression") == Choice("rehearsal")
    assert settings.auxiliary_model("review") == Choice("small")


@pytest.mark.parametrize(
    ("text", "variables", "chosen"),
    [
        ("", {}, None),
        ("compression: {summary_model: brief}", {}, None),
        ("auxiliary: {session_search: {model: other}}", {}, None),
        ("auxiliary: {model: small}", {}, Choice("small")),
        ("model: {model: big}\nauxiliary: {compression: {model: small}}", {}, Choice("small")),
        (
            f"model: {{model: big}}\nauxiliary: {{base_url: '{LOCAL}'}}",
            {},
            Choice("big", LOCAL, "AUXILIARY_COMPRESSION_API_KEY", "custom"),
        ),
        ("", {"AUXILIARY_API_KEY": "sk-aux"}, Choice("gpt-6.1-terra", None, "AUXILIARY_API_KEY")),
        (
            "",
            {"AUXILIARY_API_KEY": "sk-aux", "AUXILIARY_COMPRESSION_API_KEY": "sk-own"},
            Choice("gpt-6.1-terra", None, "AUXILIARY_COMPRESSION_API_KEY"),
        ),
        ("", {"AUXILIARY_REVIEW_API_KEY": "sk-review"}, None),
    ],
)
def test_the_sessions_own_model_gets_another_endpoint_only_by_auxiliary(tmp_path, text, variables, chosen):
    config(tmp_path, text)
    assert load({**KEY, **variables}, home=tmp_path).set_apart("compression") == chosen


def test_a_key_without_the_main_one_serves_its_purpose_alone(tmp_path):
    settings = load({"AUXILIARY_REVIEW_API_KEY": "sk-review"}, home=tmp_path)
    assert settings.rehearsal
    assert settings.auxiliary_model("review").key == "AUXILIARY_REVIEW_API_KEY"
    assert settings.auxiliary_model("compression") == Choice("rehearsal")


def test_an_auxiliary_endpoint_of_its_own_needs_no_key(tmp_path):
    config(tmp_path, f"auxiliary: {{session_search: {{base_url: '{LOCAL}', model: small}}}}")
    settings = load({}, home=tmp_path)
    key = "AUXILIARY_SESSION_SEARCH_API_KEY"
    assert settings.auxiliary_model("session_search") == Choice("small", LOCAL, key, "custom")
    assert settings.rehearsal


def test_an_unknown_purpose_is_a_mistake_of_the_program(tmp_path):
    with pytest.raises(KeyError):
        load({}, home=tmp_path).auxiliary_model("base_url")


def test_purposes_at_one_endpoint_share_its_client(tmp_path):
    config(tmp_path, f"auxiliary: {{review: {{base_url: '{LOCAL}'}}, compression: {{model: small}}}}")
    application = Application(load(KEY, home=tmp_path), {})
    try:
        settings, endpoints = application.settings, application.endpoints
        review = endpoints.model(settings.auxiliary_model("review"))
        assert endpoints.model(settings.auxiliary_model("compression")) is application.model
        assert review is not application.model
        assert endpoints.model(settings.auxiliary_model("review")) is review
    finally:
        application.close()


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        (None, "https://api.openai.com/v1"),
        (LOCAL + "/", LOCAL),
        ("https://user:secret@llm.example:8443/v1?key=secret", "https://llm.example:8443/v1"),
    ],
)
def test_an_endpoint_is_stored_by_its_address_without_secrets(base_url, name):
    assert endpoint_name(base_url) == name


@pytest.mark.parametrize(
    ("environ", "api"),
    [
        ({"OPENAI_API_KEY": "sk-1"}, "responses"),  # platform.openai.com/docs/guides/reasoning
        ({"XAI_API_KEY": "xai-1"}, "responses"),  # docs.x.ai/docs/guides/reasoning
        ({"DEEPSEEK_API_KEY": "sk-1"}, "chat"),
        ({"MISTRAL_API_KEY": "k"}, "chat"),
        ({"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": LOCAL}, "chat"),
        ({"OPENAI_API_KEY": "sk-1", "HERMES_JOBS_MODEL__API": "chat"}, "chat"),
        ({"OPENAI_BASE_URL": LOCAL, "HERMES_JOBS_MODEL__API": "responses"}, "responses"),
    ],
)
def test_the_api_is_the_one_with_which_the_provider_keeps_reasoning(tmp_path, environ, api):
    settings = load(environ, home=tmp_path)
    options = api_options(settings, settings.main_model)
    assert options.api == api
    assert options.insists_on_api == ("HERMES_JOBS_MODEL__API" in environ)
