"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.memory.rules import memory
from hermes_jobs.kernel.streams.stream_kind import StreamKind

STREAMS = (StreamKind(memory.STREAM, memory.Memory, memory.evolve, fold=memory.fold),)
