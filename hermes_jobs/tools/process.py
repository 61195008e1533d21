"""The `process` tool: background processes of this conversation, their output, input and end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.ports import Cancel, ToolContext, Verdict
from hermes_jobs.tools.background import BackgroundProcess, BackgroundProcesses
from hermes_jobs.tools.made_folders import undone_note
from hermes_jobs.tools.output import clean
from hermes_jobs.tools.tool import Arguments, CallRules, Tool, ToolFailed, shared_resource, tool

if TYPE_CHECKING:
    from hermes_jobs.tools.policy import CommandPolicy

READ_BYTES = 30_000
FIRST_READ_BYTES = 4_000
MAX_WAIT = 60.0
POLL_SECONDS = 0.2  # seconds between two polls while waiting

Action = Literal["list", "read", "write", "kill"]


class ProcessRules(CallRules):
    """Listing and reading change nothing."""

    def only_reads(self, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.only_reads`."""
        return arguments["action"] in ("list", "read")


@dataclass(frozen=True, kw_only=True)
class ProcessTool:
    """The processes of the call's conversation, and named ones."""

    processes: BackgroundProcesses
    policy: CommandPolicy

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tool. Idempotent: a text is typed once for each call."""
        made_tool = tool(
            toolset="terminal",
            effect="idempotent",
            name="process",
            writes=shared_resource("process"),
            touches="anything",
            guard=self._guard,
            rules=ProcessRules(),
            outside=self._origin,
        )
        return (made_tool(self.run),)

    def _guard(self, arguments: Arguments, context: ToolContext) -> Verdict:
        """Text typed into a program is judged like a command."""
        if arguments["action"] != "write":
            return Verdict("allow")
        return self.policy.typing(arguments.get("text") or "", context)

    def _origin(self, arguments: Arguments, context: ToolContext) -> str:
        """That of the command whose output is read: with a name it may be of another conversation."""
        if arguments["action"] != "read" or not arguments.get("id"):
            return ""
        try:
            record = self._find(arguments["id"], context).record
        except (ToolFailed, Rejected):
            return ""  # so nothing is read
        return self.policy.origin(record.command, replace(context, workdir=record.workdir))

    def run(
        self,
        context: ToolContext,
        cancel: Cancel,
        action: Action,
        id: Annotated[  # noqa: A002 - the name that models expect
            str | None, "Id or name; for all but list."
        ] = None,
        after: Annotated[
            Annotated[int, Meta(ge=0)] | None,
            "read: position in the output, from the last read. Default: its end.",
        ] = None,
        wait: Annotated[
            float,
            Meta(
                ge=0,
                le=MAX_WAIT,
                description="read: seconds to wait for output, or for the end.",
            ),
        ] = 0.0,
        text: Annotated[str | None, "write: end it with a newline. Empty: close the input."] = None,
    ) -> str:
        """Manage commands that were started by `terminal` with background.

        list: those of this conversation. read: status and output of one; to wait for more, give `wait` and
        `after` instead of reading repeatedly. write: type into it. kill: end it and its children.
        """
        if action == "list":
            return self._list(context)
        if not id:
            raise ToolFailed(f"`{action}` needs the id of a process. `list` names them.")
        process = self._find(id, context)
        if action == "kill":
            return f"{process.record.id}: {self.processes.kill(process).describe_state()}."
        if action == "write":
            return self._write(process, text, context)
        return self._read(process, after, wait, cancel)

    def _mine(self, context: ToolContext) -> list[BackgroundProcess]:
        session = context.lineage or context.session
        return [
            process
            for process in self.processes.all()
            if process.record.session == session or (process.record.name and not process.is_over)
        ]

    def _find(self, name: str, context: ToolContext) -> BackgroundProcess:
        process = self.processes.find(name)
        if process.record.id not in {
            background_process.record.id for background_process in self._mine(context)
        }:
            raise ToolFailed(f"{name} is a process of another conversation.")
        return process

    def _list(self, context: ToolContext) -> str:
        processes = self._mine(context)
        if not processes:
            return "No background processes in this conversation."
        now = time.time()
        return "\n".join(_line(process, now) for process in processes)

    def _write(self, process: BackgroundProcess, text: str | None, context: ToolContext) -> str:
        if text is None:
            raise ToolFailed("`write` needs a text; an empty one ends the input.")
        self.processes.type_text(process, text, context.call, close=text == "")
        return f"Typed into {process.record.id}." if text else f"The input of {process.record.id} has ended."

    def _read(self, process: BackgroundProcess, after: int | None, wait: float, cancel: Cancel) -> str:
        give_up = time.monotonic() + wait
        position = self.processes.output(process, None, 0).end if after is None else after
        while (
            not process.is_over
            and time.monotonic() < give_up
            and cancel.reason is None
            and self.processes.output(process, position, 1).end <= position
        ):
            time.sleep(POLL_SECONDS)
            process = self.processes.find(process.record.id)
        return page(self.processes, process, after, READ_BYTES)


def _line(process: BackgroundProcess, now: float) -> str:
    record = process.record
    name = f" ({record.name})" if record.name else ""
    started_seconds = int(now - record.started_at)
    return f"{record.id}{name}: {process.describe_state()}, started {started_seconds} s ago: {record.command}"


def page(processes: BackgroundProcesses, process: BackgroundProcess, after: int | None, maximum: int) -> str:
    """A part of the output as text, below a line with its range and the state of the process."""
    output = processes.output(process, after, maximum)
    lost_note = f"; the first {output.begins:,} bytes are no longer kept" if output.begins else ""
    state = process.describe_state()
    if not process.is_over:
        state += f" for {int(time.time() - process.record.started_at)} s"
    head = (
        f"[{process.record.id}: {state}; bytes {output.start:,} to {output.end:,} of its output"
        f"{lost_note}; continue with after={output.end}]"
    )
    text = f"{head}\n{clean(output.data.decode(errors='replace'))}".rstrip("\n")
    undone = processes.files.undone(process.record.id)
    return f"{text}\n{undone_note(undone)}" if undone else text


def start_result(processes: BackgroundProcesses, process: BackgroundProcess) -> str:
    """The result of a call that has started a process."""
    record = process.record
    if process.is_over:
        return f"{record.id} has ended already.\n{page(processes, process, 0, FIRST_READ_BYTES)}"
    ends = {
        "session": "It ends with this conversation at the latest.",
        "turn": "It ends with this request at the latest: nobody is there to look after it.",
        "named": f"It continues under the name {record.name} until it is ended.",
    }
    return (
        f"Started {record.id} in the background. {ends[record.life]}\n"
        f"{page(processes, process, 0, FIRST_READ_BYTES)}"
    )
