"""A home for each test, whose log it can write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.written_home import WrittenHome


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WrittenHome]:
    home = WrittenHome(tmp_path)
    yield home
    home.close()
