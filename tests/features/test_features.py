"""Features declare themselves: what they declare is there, and nobody reaches into another's folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import click
import grimp
import pytest

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.feature import Feature, features
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.streams.stream_kind import StreamKind
from hermes_jobs.kernel.views.projection import Projection, ViewSources

FOLDER = "hermes_jobs.features"
OPEN = {"api", "events"}
"""The modules of a feature that others may import."""
NOT_YET = {
    "compression": "search",
    "consolidation": "memory reviews",
    "deliveries": "gateway schedules",
    "forgetting": "consolidation memory schedules",
    "gateway": "deliveries",
    "mcp": "gateway memory schedules search",
    "memory": "forgetting recall replay",
    "recall": "search",
    "replay": "memory skills snapshots",
    "reviews": "consolidation gateway memory replay skills",
    "schedules": "deliveries usage",
    "skills": "memory replay reviews snapshots",
    "telegram": "gateway",
    "usage": "consolidation memory schedules",
}
"""The features of which each still imports other modules."""


@pytest.mark.parametrize("feature", features(), ids=lambda feature: feature.package.rpartition(".")[2])
def test_what_a_feature_declares_is_there(feature: Feature):
    if feature.events:
        assert all(issubclass(kind, Event) for kind in get_args(feature.load(feature.events)))
    if feature.streams:
        assert all(isinstance(kind, StreamKind) for kind in feature.load(feature.streams))
    if feature.tables:
        sources = ViewSources(lambda call: None, lambda positions: {})
        projections: tuple[Projection, ...] = feature.load(feature.tables)(sources)
        assert all(set(projection.event_types) <= set(EVENT_TYPES.values()) for projection in projections)
    for function in (feature.reaction, feature.steps, feature.tools, feature.built):
        assert not function or isinstance(feature.load(function), Callable)  # type: ignore[arg-type]
    for command in feature.commands.values():
        assert isinstance(feature.load(command.target), click.Command)


def test_a_feature_uses_another_one_only_through_its_api_or_events():
    """What does not yet is listed: a pair that is no longer needed goes, and no new one comes."""
    graph = grimp.build_graph("hermes_jobs")
    inside = [module for module in graph.modules if module.startswith(f"{FOLDER}.")]
    reached = {
        (place(module)[0], place(other)[0])
        for module in inside
        for other in graph.find_modules_directly_imported_by(module)
        if other.startswith(f"{FOLDER}.")
        and place(other)[0] != place(module)[0]
        and place(other)[1].split(".")[0] not in OPEN
    }

    assert reached == {(one, other) for one, others in NOT_YET.items() for other in others.split()}


def place(module: str) -> tuple[str, str]:
    """The feature of a module in a feature's folder, and the module's name there."""
    feature, _, name = module.removeprefix(f"{FOLDER}.").partition(".")
    return feature, name
