"""A mapping that never changes, and shares what it holds with those made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class Layered(Mapping[str, Value]):
    """Values by name, in layers that are each larger than the next: an addition copies few of them, however
    many there are. A name that stands in several layers has the value of the last one.
    """

    __slots__ = ("_layers",)

    def __init__(self, *layers: dict[str, Value]) -> None:
        self._layers = layers

    def having(self, name: str, value: Value) -> Layered[Value]:
        """The mapping with that value under that name."""
        layers, newest = list(self._layers), {name: value}
        while layers and len(layers[-1]) <= len(newest):
            newest = {**layers.pop(), **newest}
        return Layered(*layers, newest)

    def without(self, name: str) -> Layered[Value]:
        """The mapping without that name."""
        return Layered({other: value for other, value in self.items() if other != name})

    def __getitem__(self, name: str) -> Value:
        for layer in reversed(self._layers):
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter({name: None for layer in self._layers for name in layer})

    def __len__(self) -> int:
        return len({name for layer in self._layers for name in layer})
