"""A fresh home before the scripted model server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home, endpoint
from tests.model_server import ModelServer


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    """A home whose model is the scripted server."""
    return Home(tmp_path, endpoint(model_server.base_url))
