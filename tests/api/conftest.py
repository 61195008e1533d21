"""One served home for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.door import Door, opened


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """One `up` that serves, for all tests of a module."""
    with opened(tmp_path_factory.mktemp("door")) as served:
        yield served
