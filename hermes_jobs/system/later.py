"""Objects that are made when they are first used, with the modules that they need."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


def later(make: Callable[[], T]) -> T:
    """Stands for what `make` returns: its attributes are those of that."""
    return cast("T", _Later(make))


class _Later(Generic[T]):
    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> T:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)
