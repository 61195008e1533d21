"""How a command ended, as text for the model: its output, then lines with further information."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.tools.docker import DockerOptions, explanation, without_usage
from hermes_jobs.tools.made_folders import STAYS, undone_note
from hermes_jobs.tools.processes import Completed

MAX_TIMEOUT = 600.0
"""The longest time limit of a command that can be asked for, in seconds."""


def outcome(
    completed: Completed, timeout: float, *, docker: DockerOptions | None = None, note: str = ""
) -> ToolOutcome:
    """The result as text: the output, then lines with further information for the model; `note` is added
    where the command failed, and what that means in a container of `docker`."""
    notes = list(_notes(completed, timeout))
    said = completed.output
    if docker is not None and completed.exit_code:
        said = without_usage(said)
        notes.append(explanation(docker, completed.exit_code, said))
    if note and completed.exit_code:
        notes.append(note)
    notes = [each for each in notes if each]
    output = said if not said or said.endswith("\n") else f"{said}\n"
    content = output + "\n".join(notes) if notes else said or "(no output)"
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
    if completed.num_left:
        notes.append(f"[{completed.num_left} of its processes could not be killed and may still run.]")
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


def with_undone(ended: ToolOutcome, undone: Sequence[str]) -> ToolOutcome:
    """The outcome, with a note on files that were moved away, which is a failure, or that stay."""
    if not undone:
        return ended
    content = f"{ended.content.rstrip()}\n{undone_note(tuple(dict.fromkeys(undone)))}"
    stays = all(path.startswith(STAYS) for path in undone)
    return msgspec.structs.replace(ended, content=content, ok=ended.ok and stays)


_NO_PRIVILEGES = re.compile(r"\"no new privileges\" flag is set")
_NO_AGENT = re.compile(r"can't connect to the (?:gpg-)?agent|No agent running|gpg failed to sign the data")


def sandbox_note(completed: Completed) -> str:
    """What to do where the sandbox kept a program from an agent or from other rights, else empty."""
    if _NO_PRIVILEGES.search(completed.output):
        return (
            "[In the sandbox no program acts as another user. `sudo` on the command line itself, not in a "
            "script, asks the user.]"
        )
    if not _NO_AGENT.search(completed.output):
        return ""
    return (
        "[gpg did not reach gpg-agent: the sandbox shows the one that runs, and starts none. Tell the user "
        "to start it (`gpgconf --launch gpg-agent`); if its socket (`gpgconf --list-dirs agent-socket`) "
        "is elsewhere, `terminal.sandbox_visible` can name that and ~/.gnupg.]"
    )
