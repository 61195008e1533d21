"""Context engines by name; see `hermes_jobs.plugins` for where they are found."""

from __future__ import annotations

from hermes_jobs.plugins.discovery import PluginKind

BUILT_IN = "compressor"
ENGINES = PluginKind(
    what="context engine",
    setting="context.engine",
    group="hermes_jobs.context_engines",
    bundled={BUILT_IN: "hermes_jobs.agent.context.compressor:from_setup"},
    attribute="engine",
)
