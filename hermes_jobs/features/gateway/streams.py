"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.gateway.rules import gateway
from hermes_jobs.kernel.streams.stream_kind import StreamKind

STREAMS = (
    StreamKind(gateway.PERSON_PREFIX, gateway.Person, gateway.evolve_person),
    StreamKind(gateway.PREFIX, gateway.Gateway, gateway.evolve),
)
