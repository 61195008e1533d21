"""Memory providers by name; see `hermes_jobs.plugins` for where they are found."""

from __future__ import annotations

from hermes_jobs.plugins.discovery import PluginKind

PROVIDERS = PluginKind(
    what="memory provider",
    setting="memory.provider",
    group="hermes_jobs.memory_providers",
    bundled={
        "honcho": "hermes_jobs.agent.memory.external.honcho:HonchoMemory",
        "mem0": "hermes_jobs.agent.memory.external.mem0:Mem0Memory",
    },
    attribute="provider",
)
