"""The `terminal` tool: one shell command, its output as the model reads it."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH112

from __future__ import annotations

import os
import shlex
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from msgspec import Meta

from hermes_jobs.agent.tools.docker import (
    DOCKER_FAILED,
    PROGRAM,
    DockerOptions,
    container_name,
    described,
    remove_arguments,
    run_arguments,
)
from hermes_jobs.agent.tools.environment import filtered_environment
from hermes_jobs.agent.tools.policy import CommandPolicy
from hermes_jobs.agent.tools.processes import MAX_OUTPUT_BYTES, Completed, run
from hermes_jobs.agent.tools.sandbox import Sandbox
from hermes_jobs.agent.tools.tool import Tool, ToolFailed, tool
from hermes_jobs.engine.ports import Cancel, ToolContext, ToolOutcome

MAX_TIMEOUT = 600.0


@dataclass(frozen=True, kw_only=True)
class TerminalOptions:
    """`environ` is the worker's environment, unfiltered; `secrets` are values that no command may inherit.

    `timeout` is used where a call names none. With `docker` each command runs in a container of its own.
    """

    policy: CommandPolicy
    sandbox: Sandbox
    environ: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    timeout: float = 30.0
    max_bytes: int = MAX_OUTPUT_BYTES
    docker: DockerOptions | None = None


class Terminal:
    """Runs commands on this host, or in containers of it."""

    def __init__(self, options: TerminalOptions) -> None:
        self._options = options
        self._environment = filtered_environment(options.environ, options.secrets)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The family's tools."""
        guard = self._options.policy.verdict
        made = tool(
            toolset="terminal",
            effect="write",
            name="terminal",
            guard=lambda arguments, context: guard(arguments["command"], context),
        )(self.run)
        docker = self._options.docker
        return (replace(made, description=f"{made.description}\n\n{described(docker)}") if docker else made,)

    def run(
        self,
        context: ToolContext,
        cancel: Cancel,
        command: Annotated[str, Meta(min_length=1, description="The command, as for `bash -c`.")],
        timeout: Annotated[
            Annotated[float, Meta(ge=1, le=MAX_TIMEOUT)] | None,
            "Seconds after which it is killed; left out: the configured limit, 30 by default.",
        ] = None,
    ) -> ToolOutcome:
        """Run a shell command in the working folder and return its output (both streams) and exit code.

        Every call is a fresh shell: `cd` and variables do not carry over. There is no terminal and no input:
        use options that answer questions beforehand. What it starts in the background ends with it.

        Commands of one message run one after another, in order, unless the user has configured otherwise.
        Keys and credentials, and the home of hermes-jobs, are hidden by a sandbox: what is missing or empty
        there may exist all the same. Do not look for a way around it: tell the user.
        """
        check_workdir(context.workdir)
        seconds = min(timeout or self._options.timeout, MAX_TIMEOUT)
        try:
            completed = run(
                self._command(command, context),
                cwd=context.workdir,
                env=self._environment,
                timeout=seconds,
                cancel=cancel,
                max_bytes=self._options.max_bytes,
                afterwards=self._afterwards(context),
                sandbox=self._sandbox(command, context),
            )
        except ValueError as error:
            raise ToolFailed(f"{error}. Write a script to a file and run that.") from error
        return outcome(completed, seconds, in_container=self._options.docker is not None)

    def _command(self, command: str, context: ToolContext) -> str:
        docker = self._options.docker
        if docker is None:
            return command
        if shutil.which(PROGRAM, path=self._environment.get("PATH")) is None:
            raise ToolFailed(
                f"terminal.backend is docker, but there is no `{PROGRAM}` on this host "
                f"({socket.gethostname()}). Nothing was run. Tell the user."
            )
        user = f"{os.getuid()}:{os.getgid()}"
        name = container_name(context.call)
        reach = self._options.policy.reach(command, context)
        hidden = self._options.sandbox.hidden_in(context.workdir, reach)
        arguments = run_arguments(
            docker, command, name=name, workdir=context.workdir, user=user, hidden=hidden
        )
        return f"exec {shlex.join(arguments)}"

    def _sandbox(self, command: str, context: ToolContext) -> str:
        """The sandbox of the command; empty for a container, which is one itself."""
        if self._options.docker is not None:
            return ""
        return self._options.sandbox.plan(context.workdir, self._options.policy.reach(command, context))

    def _afterwards(self, context: ToolContext) -> str:
        return shlex.join(remove_arguments(container_name(context.call))) if self._options.docker else ""


def check_workdir(workdir: str) -> None:
    """Raise `ToolFailed` where the session has no working folder, or where that is not on this host."""
    if not workdir:
        raise ToolFailed(
            "this session has no working folder: schedules and chats work in the one that `agent.workdir` "
            "names, and none is configured. Nothing was done. Tell the user."
        )
    if not os.path.isdir(workdir):
        raise ToolFailed(
            f"the working folder {workdir} does not exist on this host ({socket.gethostname()}). "
            "Nothing was run. Tell the user; the session works in that folder only."
        )


def outcome(completed: Completed, timeout: float, *, in_container: bool = False) -> ToolOutcome:
    """The result as text: the output, then a line for whatever the model has to know besides."""
    notes = list(_notes(completed, timeout))
    if in_container and completed.exit_code == DOCKER_FAILED:
        notes.append("[docker itself failed: the command was not run, or its end is unknown. Tell the user.]")
    output = (
        completed.output
        if not completed.output or completed.output.endswith("\n")
        else f"{completed.output}\n"
    )
    content = output + "\n".join(notes) if notes else completed.output or "(no output)"
    return ToolOutcome(content=content, ok=completed.exit_code == 0, interrupted=completed.interrupted)


def _notes(completed: Completed, timeout: float) -> list[str]:
    notes = []
    if completed.interrupted:
        notes.append("[The command was interrupted and killed; what it had done until then stays done.]")
    elif completed.timed_out:
        notes.append(
            f"[The command was killed after {timeout:g} s with all that it had started. "
            f"A longer timeout (up to {MAX_TIMEOUT:g}) can be asked for.]"
        )
    elif completed.lost:
        notes.append(
            "[The command killed the process that supervised it; it was stopped, its exit code is unknown.]"
        )
    elif completed.exit_code:
        notes.append(f"[exit code {completed.exit_code}{_signal_note(completed.exit_code)}]")
    if completed.left:
        notes.append(f"[{completed.left} of its processes could not be killed and may still run.]")
    return notes


def _signal_note(code: int) -> str:
    signals = {
        130: "interrupted",
        134: "aborted",
        137: "killed",
        139: "segmentation fault",
        143: "terminated",
    }
    return f": {signals[code]}" if code in signals else ""
