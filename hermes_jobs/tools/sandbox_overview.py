"""What a command without approval sees and may write, by backend: the table of the documentation."""

from __future__ import annotations

from hermes_jobs.tools.sensitive_paths import (
    caches,
    guarded_names,
    paths_in,
    session_variables,
    system_folders,
)

BACKENDS = ("namespace", "landlock", "docker", "none")
"""The layers of `sandbox_plan`, containers, and commands without a sandbox."""


def overview() -> tuple[tuple[str, ...], ...]:
    """A row for each kind of place: its name, then what holds in each of `BACKENDS`."""
    keys, startup = len(paths_in("secrets")), len(paths_in("startup"))
    return (
        (
            "the working folder, `files.roots`",
            "written",
            "written",
            "the working folder is written",
            "written",
        ),
        (f"keys ({keys} places below your home folder)", "hidden", "hidden", "absent", "read"),
        (
            f"keys of the system and of other people ({len(paths_in('system_secrets'))} places), raw disks",
            "hidden",
            "hidden",
            "absent",
            "your rights",
        ),
        ("the home of hermes-jobs", *(["hidden, but for `results/` and `skills/`"] * 2), "absent", "read"),
        (
            f"services of your session ({len(session_variables())} variables)",
            "sockets hidden, no variables",
            "no Unix sockets, no variables",
            "absent",
            "no variables",
        ),
        ("the installation of hermes-jobs", "read", "read", "absent", "written"),
        (
            f"folders of `PATH`, files that run by themselves ({startup} places)",
            "read",
            "read",
            "absent",
            "written",
        ),
        (
            f"system folders ({', '.join(system_folders()[:10])} …)",
            "read",
            "read",
            "the image's",
            "your rights",
        ),
        ("other files", "read", "read", "absent", "your rights"),
        (
            f"in the folder: settings and hooks of git, {len(guarded_names())} files that other programs run",
            "read; new ones are undone",
            "changes are undone afterwards",
            "read; new ones are undone",
            "changes are undone afterwards",
        ),
        (
            f"terminals; devices but the usual ones and graphics cards ({len(paths_in('devices'))} places)",
            "absent; terminals of its own can be opened",
            "closed; no terminals of its own either",
            "absent",
            "your rights",
        ),
        (
            "`/tmp`, `/var/tmp`",
            "private to the session",
            "shared; `TMPDIR` is private",
            "private to the call",
            "shared",
        ),
        (
            "shared memory (`/dev/shm`, System V)",
            "private to the command",
            "shared",
            "private to the call",
            "shared",
        ),
        (
            f"caches of programs ({len(caches())} variables)",
            "the agent's own, for each folder",
            "the agent's own, for each folder",
            "private to the call",
            "the agent's own, for each folder",
        ),
        ("`terminal.sandbox_writable`", "written", "written", "absent", "written"),
        (
            "modes, owners and dates of what is not written",
            "kept",
            "changed; modes and owners of your keys and of the home are put back, if they let in more people",
            "kept",
            "changed",
        ),
        (
            "rights of root, as root",
            "for work on files only",
            "for work on files only",
            "none",
            "your rights",
        ),
        ("the network", "open", "open", "closed, unless configured", "open"),
        ("signals to other processes", "no (Linux 6.12)", "no (Linux 6.12)", "no", "yes"),
    )
