"""What the environment says about certificates and proxies."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.llm.catalogue import listing
from hermes_jobs.llm.client import AnthropicModel, OpenAIModel
from hermes_jobs.llm.transport import http_options
from tests.llm.asking import ask
from tests.model_script import Answer
from tests.model_server import ModelServer

DEAD = "http://127.0.0.1:9"  # the port `discard`: nothing listens there


@pytest.mark.parametrize("kind", [OpenAIModel, AnthropicModel])
@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_missing_certificate_file_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: type[OpenAIModel | AnthropicModel], name: str
) -> None:
    for each in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(each, raising=False)
    path = str(tmp_path / "missing.pem")
    monkeypatch.setenv(name, path)
    model = kind(api_key="sk-test", base_url="https://127.0.0.1:9")
    model.warm()
    with pytest.raises(ModelError) as caught:
        ask(model)
    model.close()
    assert f"{name} is set to {path}, which does not exist" in caught.value.message
    assert not caught.value.retryable
    assert path in listing("https://127.0.0.1:9", None).problem


@pytest.mark.parametrize(
    ("content", "said"),
    [("hello", "holds no certificates in PEM form"), (None, "cannot be read: Is a directory")],
)
def test_a_certificate_file_without_certificates_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None, said: str
) -> None:
    path = tmp_path / "ca.pem"
    path.mkdir() if content is None else path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(ModelError, match=said) as caught:
        http_options("https://127.0.0.1:9")
    assert f"SSL_CERT_FILE is set to {path}" in caught.value.message
    assert said in listing("https://127.0.0.1:9", None).problem
    verify = http_options("http://example.com")["verify"]
    assert isinstance(verify, ssl.SSLContext)
    assert verify.get_ca_certs() == []


@pytest.mark.parametrize("kind", [OpenAIModel, AnthropicModel])
@pytest.mark.parametrize(
    "address", ["nonsense:::", "htp://host:1", "http://ann:secret-word@[::1", "http://ann:secret-word@h:x"]
)
def test_a_proxy_that_is_no_address_is_named_by_its_variable_alone(
    monkeypatch: pytest.MonkeyPatch, kind: type[OpenAIModel | AnthropicModel], address: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    model = kind(api_key="sk-test", base_url="https://127.0.0.1:9")
    with pytest.raises(ModelError, match="HTTPS_PROXY in the environment is not the address") as caught:
        ask(model)
    model.close()
    assert "secret-word" not in str(caught.value)
    assert not caught.value.retryable


def test_plain_http_needs_no_certificates_and_a_server_on_this_machine_no_proxy(
    monkeypatch: pytest.MonkeyPatch, model_server: ModelServer
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/missing/ca.pem")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, DEAD)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    model_server.follow([Answer(text="Yes.")])
    model = OpenAIModel(api_key="sk-test", base_url=model_server.base_url)
    assert ask(model).content == "Yes."
    model.close()


def test_a_redirect_from_this_machine_to_https_would_be_refused() -> None:
    verify = http_options("http://127.0.0.1:9")["verify"]
    assert isinstance(verify, ssl.SSLContext)
    assert (verify.verify_mode, verify.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert verify.get_ca_certs() == []


def test_a_dead_proxy_is_named_in_place_of_the_models_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, DEAD)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    model = OpenAIModel(api_key="sk-test", base_url="http://models.invalid/v1")
    with pytest.raises(ModelError) as caught:
        ask(model)
    model.close()
    assert caught.value.kind == "connection"
    assert "the proxy 127.0.0.1:9" in caught.value.message
