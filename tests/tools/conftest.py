"""Fixtures of several tests of tools: people with planted keys, and a server that records what arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .keys_support import Person, Recorder, recording


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as made:
        yield made


@pytest.fixture
def people() -> Iterator[Callable[..., Person]]:
    made: list[Person] = []

    def make(folder: Path, *arguments: Any, **options: Any) -> Person:
        made.append(Person(folder, *arguments, **options))
        return made[-1]

    yield make
    for person in made:
        person.close()
