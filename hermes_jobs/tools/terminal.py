"""The `terminal` tool: one shell command, its output as the model reads it."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH112

from __future__ import annotations

import os
import shlex
import shutil
import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from hermes_jobs.kernel.engine.ports import Cancel, ToolContext, ToolOutcome
from hermes_jobs.tools.background import PROCESS_NAME, BackgroundProcesses
from hermes_jobs.tools.command_outcome import MAX_TIMEOUT, outcome, sandbox_note, with_undone
from hermes_jobs.tools.docker import (
    PROGRAM,
    DockerOptions,
    container_name,
    describe,
    remove_arguments,
    run_arguments,
)
from hermes_jobs.tools.environment import filtered_environment
from hermes_jobs.tools.folder_guard import Guard
from hermes_jobs.tools.guarded_files import Found
from hermes_jobs.tools.key_environment import applied
from hermes_jobs.tools.process import start_result
from hermes_jobs.tools.process_files import Lifetime
from hermes_jobs.tools.processes import MAX_OUTPUT_BYTES, Completed, run
from hermes_jobs.tools.sandbox import Enclosure, Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.terminal_rules import CommandRules
from hermes_jobs.tools.tool import Tool, ToolFailed, ToolRefused, tool

if TYPE_CHECKING:
    from hermes_jobs.tools.credentials import Keys
    from hermes_jobs.tools.policy import CommandPolicy


@dataclass(frozen=True, kw_only=True)
class TerminalOptions:
    """`environ` is the worker's environment, unfiltered; `secrets` are values that no command may inherit.

    `granted` are variables that every command on this host gets, secrets that the user has granted.
    `timeout` is the default of a call. With `docker` each command runs in its own container.
    `background` starts background processes.
    """

    policy: CommandPolicy
    sandbox: Sandbox
    environ: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    granted: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 120.0
    max_bytes: int = MAX_OUTPUT_BYTES
    docker: DockerOptions | None = None
    background: BackgroundProcesses | None = None


class Terminal:
    """Runs commands on this host, or in containers of it."""

    def __init__(self, options: TerminalOptions) -> None:
        self._options = options
        self._environment = {**filtered_environment(options.environ, options.secrets), **options.granted}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The family's tools."""
        policy = self._options.policy
        made_tool = tool(
            toolset="terminal",
            effect="write",
            name="terminal",
            touches="anything",
            guard=lambda arguments, context: policy.verdict(arguments["command"], context),
            rules=CommandRules(policy),
            outside=lambda arguments, context: policy.origin(arguments["command"], context),
        )(self.run)
        docker = self._options.docker
        return (
            replace(made_tool, description=f"{made_tool.description}\n\n{describe(docker)}")
            if docker
            else made_tool,
        )

    def run(
        self,
        context: ToolContext,
        cancel: Cancel,
        command: Annotated[str, Meta(min_length=1, description="Run by `bash -c`.")],
        timeout: Annotated[
            Annotated[float, Meta(ge=1, le=MAX_TIMEOUT)] | None,
            "Seconds until it is killed. Default: usually 120.",
        ] = None,
        background: Annotated[
            bool, "For servers, watchers and long builds. Read the output with `process`."
        ] = False,
        name: Annotated[
            Annotated[str, Meta(pattern=PROCESS_NAME)] | None,
            "With background: it then outlives this conversation.",
        ] = None,
    ) -> ToolOutcome:
        """Run a shell command in the working folder; returns its output (both streams) and exit code.

        Every call is a new shell: `cd` and variables do not carry over. There is no input: use options that
        avoid questions. Child processes end with the command: for what should continue set background, not
        `&` or nohup. It returns an id at once, has no time limit, and ends with this conversation unless it
        has a name. Kill what you no longer need.

        Commands of one message that only read run side by side, others in order. A sandbox hides keys,
        credentials and the home of hermes-jobs: files may look missing or empty. Do not try to get around it:
        tell the user.
        """
        check_workdir(context.workdir)
        if background:
            return self._start(command, name or "", context, cancel)
        if name is not None:
            raise ToolFailed("a name is for commands with background. Nothing was run.")
        seconds = min(timeout or self._options.timeout, MAX_TIMEOUT)
        completed, undone, keys = self.complete(context, cancel, command, seconds)
        hidden = keys.note if self._options.policy.is_confined() else ""
        note = hidden or sandbox_note(completed)
        ended = outcome(completed, seconds, docker=self._options.docker, note=note)
        return with_undone(ended, undone)

    def complete(
        self, context: ToolContext, cancel: Cancel, command: str, seconds: float
    ) -> tuple[Completed, tuple[str, ...], Keys]:
        """Run a command to its end: how it ended, the files that were moved away, and the keys that it saw.

        Raises `ToolFailed`, `ToolRefused`.
        """
        reach, keys = self._options.policy.reach(command, context)
        roots, undone = self._checked_roots(context)
        found = self._options.sandbox.found(roots)
        enclosure = self._enclosure(command, context, reach, keys, found)
        runs, guard = self._guarded(command, context, reach, roots, found)
        with self._held(guard):
            try:
                completed = run(
                    runs,
                    cwd=context.workdir,
                    env=enclosure.environment,
                    timeout=seconds,
                    cancel=cancel,
                    max_bytes=self._options.max_bytes,
                    afterwards=self._afterwards(context),
                    sandbox=enclosure.plan,
                )
            except ValueError as error:
                raise ToolFailed(f"{error}. Write a script to a file and run that.") from error
            if reach.approved:
                guard.accept()
            else:
                undone += guard.restore()
        return completed, undone, keys

    def _start(self, command: str, name: str, context: ToolContext, cancel: Cancel) -> ToolOutcome:
        """Start the command in the background; returns the answer after its start or its early end."""
        processes = self._options.background
        if processes is None:
            raise ToolFailed("there are no background processes here. Nothing was run.")
        reach, keys = self._options.policy.reach(command, context)
        life: Lifetime = "named" if name else "session" if context.attended else "turn"
        roots, undone = self._checked_roots(context)
        found = self._options.sandbox.found(roots)
        enclosure = self._enclosure(command, context, reach, keys, found, background=True)
        runs, guard = self._guarded(command, context, reach, roots, found, background=True)
        if reach.approved:  # what it leaves stays
            guard = msgspec.structs.replace(guard, roots=(), before=(), absent=(), modes=())
        record = processes.record(runs, context, life=life, name=name, shown_command=command)
        try:
            process = processes.start(
                record,
                enclosure.environment,
                cancel,
                sandbox=enclosure.plan,
                afterwards=self._afterwards(context),
                guard=guard if guard.roots or guard.afterwards else None,
            )
        except ValueError as error:
            raise ToolFailed(f"{error}. Write a script to a file and run that.") from error
        except OSError as error:
            raise ToolFailed(f"the process could not be started: {error.strerror}.") from error
        started = ToolOutcome(content=start_result(processes, processes.settled(process)))
        return with_undone(started, undone)

    def _guarded(
        self,
        command: str,
        context: ToolContext,
        reach: SandboxReach,
        roots: Sequence[str],
        found: Found,
        *,
        background: bool = False,
    ) -> tuple[str, Guard]:
        """What a shell of this host runs for the command, and what undoes what that leaves."""
        docker, sandbox = self._options.docker, self._options.sandbox
        runs, locked = command, None
        afterwards: tuple[str, ...] = ()
        if docker is not None:
            self._check_engine()
            places = sandbox.in_container(
                context.workdir, reach, self._environment, command, background=background, found=found
            )
            name, user = container_name(context.call), f"{os.getuid()}:{os.getgid()}"
            words = run_arguments(
                docker, command, name=name, places=places, user=user, interactive=background
            )
            runs, locked, afterwards = f"exec {shlex.join(words)}", places.whole, remove_arguments(name)
        guard = sandbox.guard(
            roots,
            found,
            command,
            background=background,
            locked=locked,
            path=self._environment.get("PATH", ""),
            instructions=bool(context.outside)
            and not self._options.policy.line(command, context).brings_what_repositories_have(),
        )
        return runs, msgspec.structs.replace(guard, afterwards=afterwards)

    def _check_engine(self) -> None:
        if shutil.which(PROGRAM, path=self._environment.get("PATH")) is None:
            raise ToolFailed(
                f"terminal.backend is docker, but there is no `{PROGRAM}` on this host "
                f"({socket.gethostname()}). Nothing was run. Tell the user."
            )

    def _enclosure(
        self,
        command: str,
        context: ToolContext,
        reach: SandboxReach,
        keys: Keys,
        found: Found,
        *,
        background: bool = False,
    ) -> Enclosure:
        """The sandbox and environment of the command; a container is a sandbox itself."""
        if self._options.docker is not None:
            return Enclosure(plan="", environment=self._environment)
        environ = applied(self._environment, keys.variables)
        scratch = context.lineage or context.session
        return self._options.sandbox.enclose(
            context.workdir,
            reach,
            environ,
            scratch=scratch,
            command=command,
            background=background,
            found=found,
        )

    def _checked_roots(self, context: ToolContext) -> tuple[Sequence[str], tuple[str, ...]]:
        """The folders whose guarded files the command may come to, after what earlier commands and background
        processes left there was undone; and what that was."""
        sandbox, processes = self._options.sandbox, self._options.background
        roots = sandbox.guarded_roots(context.workdir)
        undone = () if processes is None else processes.check_guards(roots)
        return (sandbox.guarded_roots(context.workdir) if undone else roots), undone

    def _held(self, guard: Guard) -> AbstractContextManager[None]:
        """The guard on disk, in case this worker is killed."""
        processes = self._options.background
        return nullcontext() if processes is None else processes.guards.held(guard)

    def _afterwards(self, context: ToolContext) -> str:
        return shlex.join(remove_arguments(container_name(context.call))) if self._options.docker else ""


def check_workdir(workdir: str) -> None:
    """Raise `ToolRefused` if the session has no working folder, or it is not on this host."""
    if not workdir:
        raise ToolRefused(
            "this session has no working folder: schedules and chats work in the one that `agent.workdir` "
            "names, and none is configured. Nothing was done. Tell the user."
        )
    if not os.path.isdir(workdir):
        raise ToolRefused(
            f"the working folder {workdir} does not exist on this host ({socket.gethostname()}). "
            "Nothing was run. Tell the user; the session works in that folder only."
        )
