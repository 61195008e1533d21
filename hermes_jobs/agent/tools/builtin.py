"""The tools that need nothing but this host."""

from __future__ import annotations

from hermes_jobs.agent.tools.files import Files, KeptFile, nothing_kept
from hermes_jobs.agent.tools.path_policy import PathPolicy
from hermes_jobs.agent.tools.search import Search
from hermes_jobs.agent.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.agent.tools.todo import todo_tools
from hermes_jobs.agent.tools.tool import Tool
from hermes_jobs.agent.tools.web import Web, WebOptions

DEFAULT_WEB = WebOptions()


def default_tools(
    terminal: TerminalOptions, paths: PathPolicy, web: WebOptions = DEFAULT_WEB, kept: KeptFile = nothing_kept
) -> tuple[Tool, ...]:
    """All of them, as configured."""
    return (
        *Terminal(terminal).tools,
        *Files(paths, kept).tools,
        *Search(paths).tools,
        *Web(web).tools,
        *todo_tools(),
    )
