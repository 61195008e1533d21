"""Azure's older form of address.

The server's rules: the deployment in the path, `api-version` in the query, and a key in the header `api-key`
(https://learn.microsoft.com/azure/ai-foundry/openai/reference#authentication); errors in Azure's own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.llm.embeddings_client import EmbeddingsEndpoint
from hermes_jobs.llm.price import OwnPrices
from hermes_jobs.llm.price_list import PriceList
from hermes_jobs.llm.transport import Address
from hermes_jobs.system.clock import SystemClock
from tests.home import Home
from tests.model_script import Answer
from tests.model_server import Handler, ModelServer

KEY = "0123456789abcdef0123456789abcdef"
DEPLOYMENT, VERSION = "/openai/deployments/mine", "?api-version=2024-10-21"


class AzureHandler(Handler):
    def do_GET(self) -> None:
        self._send_json(404, {"error": {"code": "404", "message": "Resource not found"}})

    def do_POST(self) -> None:
        operation = self.path.removeprefix(DEPLOYMENT).removesuffix(VERSION)
        if self.path != f"{DEPLOYMENT}{operation}{VERSION}":
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()
        elif self.headers.get("api-key") != KEY:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            message = "Access denied due to invalid subscription key or wrong API endpoint."
            self._send_json(401, {"error": {"code": "401", "message": message}})
        else:
            self.path = f"/v1{operation}"
            super().do_POST()


class AzureServer(ModelServer):
    handler = AzureHandler


@pytest.fixture
def server() -> Iterator[AzureServer]:
    made = AzureServer(lambda seen: Answer(text="From Azure.")).start()
    yield made
    made.close()


def root(server: ModelServer) -> str:
    return server.base_url.removesuffix("/v1")


@pytest.mark.parametrize("operation", ["", "/chat/completions"])
def test_the_older_address_keeps_its_query(tmp_path: Path, server: AzureServer, operation: str) -> None:
    environ = {
        "HERMES_JOBS_MODEL": "mine",
        "HERMES_JOBS_MODEL__PROVIDER": "azure",
        "HERMES_JOBS_MODEL__BASE_URL": f"{root(server)}{DEPLOYMENT}{operation}{VERSION}",
        "AZURE_OPENAI_API_KEY": KEY,
    }
    home = Home(tmp_path, environ)
    assert home.run("send", "-q", "Hello").out == "From Azure.\n"
    assert home.run("send", "-q", "Hello", AZURE_OPENAI_API_KEY="wrong").code == 4


def test_setup_connects_it(tmp_path: Path, server: AzureServer) -> None:
    home = Home(tmp_path, {"AZURE_OPENAI_API_KEY": KEY})
    url = f"{root(server)}{DEPLOYMENT}{VERSION}"
    ran = home.run("setup", "--provider", "azure", "--base-url", url, "--model", "mine")
    assert ran.code == 0, ran
    assert home.run("send", "-q", "Hello").out == "From Azure.\n"


def test_embeddings_keep_it_too(server: AzureServer) -> None:
    endpoint = EmbeddingsEndpoint(
        model="m",
        name="m",
        base_url=f"{root(server)}{DEPLOYMENT}{VERSION}",
        api_key=KEY,
        pricing=OwnPrices({}, PriceList(None, SystemClock())),
    )
    try:
        assert endpoint.embed(["a"], CancelToken()).vectors
    finally:
        endpoint.close()


def test_an_address_without_a_query_stays_as_it_is() -> None:
    url = "https://me.openai.azure.com/openai/v1"
    assert Address.of(url) == Address(url, {})
    assert Address.of(url).joined("/models") == f"{url}/models"
    assert Address.of(url).headers(KEY) == {}
