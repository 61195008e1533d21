"""Features declare themselves: what they declare is there, and nobody reaches into another's folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import click
import grimp
import pytest

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.feature import Feature, features
from hermes_jobs.kernel.streams.stream_kind import StreamKind
from hermes_jobs.kernel.views.projection import Projection

FOLDER = "hermes_jobs.features"
OPEN = {"api", "events"}
"""The modules of a feature that others may import."""


@pytest.mark.parametrize("feature", features(), ids=lambda feature: feature.package.rpartition(".")[2])
def test_what_a_feature_declares_is_there(feature: Feature):
    if feature.events:
        assert all(issubclass(kind, Event) for kind in get_args(feature.load(feature.events)))
    if feature.stream:
        assert isinstance(feature.load(feature.stream), StreamKind)
    if feature.table:
        projection: Projection = feature.load(feature.table)()
        assert projection.name in projection.tables
    for function in (feature.reaction, feature.steps, feature.tools):
        assert not function or isinstance(feature.load(function), Callable)  # type: ignore[arg-type]
    for command in feature.commands.values():
        assert isinstance(feature.load(command.target), click.Command)


def test_a_feature_uses_another_one_only_through_its_api_or_events():
    graph = grimp.build_graph("hermes_jobs")
    inside = [module for module in graph.modules if module.startswith(f"{FOLDER}.")]
    reached = [
        f"{module} -> {other}"
        for module in inside
        for other in graph.find_modules_directly_imported_by(module)
        if other.startswith(f"{FOLDER}.")
        and place(other)[0] != place(module)[0]
        and place(other)[1] not in OPEN
    ]

    assert reached == []


def is_closed_to(module: str, other: str) -> bool:
    feature, name = place(other)
    return feature != place(module)[0] and name not in OPEN


def place(module: str) -> tuple[str, str]:
    """The feature of a module in a feature's folder, and the module's name there."""
    feature, _, name = module.removeprefix(f"{FOLDER}.").partition(".")
    return feature, name
