"""A push service, and a home that trusts its certificate and may reach this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.push.push_service import PushService
from tests.home import Home
from tests.model_server import ModelServer


@pytest.fixture
def service(tmp_path: Path) -> Iterator[PushService]:
    with PushService(tmp_path) as service:
        yield service
        assert service.problems == []


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer, service: PushService) -> Home:
    return service.home(tmp_path, model_server.base_url)
