"""The checks of `hermes-jobs doctor` on commands: whether they run and end, and what they can reach."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, fail, ok, warn
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.settings import Settings

COMMAND_SECONDS = 10.0

_PASSWORD_IN_ADDRESS = re.compile(r"://(?:[^/@\s:]*:[^/@\s]+|[^/@\s:]{20,})@")
_NAMES_PASSWORD = re.compile(r"\.(?:smtppass|extraheader|\w*(?:password|token|secret))$", re.IGNORECASE)


def commands(environ: Mapping[str, str]) -> DoctorFinding:
    """Whether commands can be run, and ended with their child processes."""
    from hermes_jobs.kernel.engine.in_flight import CancelToken
    from hermes_jobs.tools.environment import filtered_environment
    from hermes_jobs.tools.processes import run

    try:
        completed = run(
            "sleep 600 & echo ready",
            cwd=str(Path.cwd()),
            env=filtered_environment(environ),
            timeout=COMMAND_SECONDS,
            cancel=CancelToken(),
        )
    except OSError as error:
        return fail("commands", f"cannot be started: {error}")
    if completed.output.strip() != "ready" or completed.lost or completed.num_left:
        ended = f"a test command ended with {completed.exit_code}, {completed.num_left} processes left"
        text = f"{ended}: {completed.output[:200]!r}"
        return fail("commands", text, "The agent's terminal tool would not be safe to use here.")
    if sys.platform != "linux":
        text = "run; processes that leave a command's process group cannot be found on this system"
        return warn("commands", text)
    return ok("commands", "run, and leave no process behind")


def sandbox(settings: Settings, environ: Mapping[str, str]) -> DoctorFinding:
    """The sandbox that hides the user's keys and this home from commands."""
    from hermes_jobs.tools.sandbox import layer
    from hermes_jobs.tools.sandbox_plan import LANDLOCK, NONE

    if settings.terminal.backend == "docker":
        return _tried_sandbox(settings, environ, f"containers ({settings.terminal.docker.image})")
    if settings.terminal.sandbox == "off":
        text = "off (terminal.sandbox): commands can read your keys and this home's secrets"
        return warn("sandbox", text, "hermes-jobs config set terminal.sandbox auto")
    detected = layer()
    if detected.name == NONE:
        reason = f"none on this machine ({detected.why})"
        text = f"{reason}: only the rules for commands protect your keys and this home"
        hint = "Allow user namespaces or Landlock, or use terminal.backend docker."
        status: Literal["warn", "fail"] = "fail" if settings.terminal.sandbox == "on" else "warn"
        return DoctorFinding(check="sandbox", status=status, message=text, hint=hint)
    text = detected.name if detected.name != LANDLOCK else f"{detected.name} (no namespaces: {detected.why})"
    return _tried_sandbox(settings, environ, text)


def _tried_sandbox(settings: Settings, environ: Mapping[str, str], name: str) -> DoctorFinding:
    from hermes_jobs.interfaces.cli.doctor.sandbox_trial import try_sandbox

    try:
        num_keys, num_places, read, written = try_sandbox(settings, environ)
    except (HermesJobsError, OSError, ValueError, IndexError) as error:
        return fail("sandbox", f"{name}: it could not be tried: {error}")
    tried = f"{name}: tried {pluralize(num_keys, 'key')} and {pluralize(num_places, 'protected place')}"
    if not read and not written:
        return ok("sandbox", f"{tried}; a command could read and write none of them")
    text = "; ".join(
        f"a command could {verb} {', '.join(paths[:5])}"
        for verb, paths in (("read", read), ("write", written))
        if paths
    )
    return fail("sandbox", f"{tried}; {text}", "See terminal.sandbox_visible and docs/security.md.")


def settings_of_git(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Passwords in the person's own settings of git, which every command may read."""
    listing = ["git", "config", "--global", "--list", "-z"]
    try:
        listed = subprocess.run(
            listing, env=dict(environ), capture_output=True, timeout=COMMAND_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return
    entries = (entry.partition("\n") for entry in listed.stdout.decode(errors="replace").split("\0"))
    named = {
        _PASSWORD_IN_ADDRESS.sub("://…@", key)
        for key, _, value in entries
        if _PASSWORD_IN_ADDRESS.search(f"{key}\n{value}") or (value and _NAMES_PASSWORD.search(key))
    }
    if named:
        text = printable(f"commands can read passwords in your settings: {', '.join(sorted(named)[:5])}")
        yield warn("git", text, "Keep them in a credential helper: `git help credentials`.")
