"""Whose model a trace says that it was."""

import pytest

from hermes_jobs.features.tracing.wiring import provider_of
from hermes_jobs.settings import load

KEYS = {"OPENAI_API_KEY": "sk-123456", "ANTHROPIC_API_KEY": "sk-ant-123456"}


@pytest.mark.parametrize(
    ("text", "model", "purpose", "provider"),
    [
        ("model: {model: gpt-6.1-terra}", "gpt-6.1-terra", "turn", "openai"),
        ("model: {model: claude-sonnet-5-5}", "claude-sonnet-5-5", "turn", "anthropic"),
        ("model: {model: claude-sonnet-5-5}", "", "", "anthropic"),
        ("model: {model: gpt-6.1-terra}", "anthropic:claude-opus-5-5", "turn", "anthropic"),
        ("model: {provider: gemini, model: gemini-3-pro}", "gemini-3-pro", "turn", "gcp.gemini"),
        ("model: {provider: mistral, model: devstral}", "devstral", "turn", "mistral_ai"),
        ("model: {provider: xai, model: grok-4}", "grok-4", "turn", "x_ai"),
        ("model: {provider: openrouter, model: a/b}", "a/b", "turn", "openrouter"),
        ("model: {base_url: 'http://127.0.0.1:1/v1', model: m}", "m", "turn", "openai"),
        (
            "{model: {model: gpt-6.1-terra}, auxiliary: {review: {model: anthropic:claude-haiku-5-5}}}",
            "claude-haiku-5-5",
            "review",
            "anthropic",
        ),
    ],
)
def test_a_trace_names_the_provider_as_the_conventions_do(tmp_path, text, model, purpose, provider):
    (tmp_path / "config.yaml").write_text(text)
    assert provider_of(load(KEYS, home=tmp_path), model, purpose) == provider
