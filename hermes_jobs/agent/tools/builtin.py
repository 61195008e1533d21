"""The tools that need nothing but this host."""

from __future__ import annotations

from hermes_jobs.agent.snapshots.file_writer import NO_SNAPSHOTS
from hermes_jobs.agent.snapshots.store import SnapshotStore
from hermes_jobs.agent.tools.files import Files, KeptFile, nothing_kept
from hermes_jobs.agent.tools.path_policy import PathPolicy
from hermes_jobs.agent.tools.process import ProcessTool
from hermes_jobs.agent.tools.search import Search
from hermes_jobs.agent.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.agent.tools.todo import todo_tools
from hermes_jobs.agent.tools.tool import Tool
from hermes_jobs.agent.tools.web import Web, WebOptions

DEFAULT_WEB = WebOptions()


def default_tools(
    terminal: TerminalOptions,
    paths: PathPolicy,
    web: WebOptions = DEFAULT_WEB,
    kept: KeptFile = nothing_kept,
    snapshots: SnapshotStore = NO_SNAPSHOTS,
) -> tuple[Tool, ...]:
    """All of them, as configured."""
    return (
        *Terminal(terminal).tools,
        *_process_tools(terminal),
        *Files(paths, kept, snapshots).tools,
        *Search(paths).tools,
        *Web(web).tools,
        *todo_tools(),
    )


def _process_tools(terminal: TerminalOptions) -> tuple[Tool, ...]:
    if terminal.background is None:
        return ()
    return ProcessTool(processes=terminal.background, policy=terminal.policy).tools
