"""The sandbox of a process: the kernel hides files from it, and keeps it from writing others.

Called by `supervisor` between fork and exec, and run as `python -I -S sandbox_layer.py FOLDER` to detect the
layer of this machine; so it imports only modules that load fast. Two layers, the better one first:

    namespace   a mount namespace of the process's own: see `sandbox_mounts`
    landlock    access rules for the process and its children: see `sandbox_domains`

Either way no process outside can be traced or read through /proc from inside, nor one in another sandbox:
without root because it is in another user namespace, with landlock because it is in another domain. Root has
the second beside its mount namespace.
"""

# Each import costs milliseconds of every command: pathlib and contextlib are not worth theirs here.
# ruff: noqa: PTH100, PTH113, PTH208

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.abspath(f"{__file__}/../../.."))

from hermes_jobs.tools.sandbox_plan import LANDLOCK, NAMESPACE, NONE, SandboxFailed, SandboxPlan


def enter(plan: SandboxPlan) -> None:
    """Enter the sandbox for the rest of this process, which has a single thread. Raises `SandboxFailed`,
    `OSError`."""
    if plan.layer == NAMESPACE:
        from hermes_jobs.tools import sandbox_domains, sandbox_mounts

        sandbox_mounts.enter(plan)
        sandbox_domains.separate(plan)
    elif plan.layer == LANDLOCK:
        from hermes_jobs.tools import sandbox_domains

        sandbox_domains.enter(plan)
    elif plan.layer != NONE:
        raise SandboxFailed(f"there is no layer {plan.layer}")
    if plan.layer != NONE:
        from hermes_jobs.tools import sandbox_rights

        sandbox_rights.give_up(approved=plan.open)  # last: the steps before need them
        if os.geteuid() == 0 and not plan.open:
            from hermes_jobs.tools import sandbox_calls

            sandbox_calls.refuse_set_user_id()


def detect_layer(home: str) -> tuple[str, str]:
    """The best layer of this machine, tested in a child process; and why a better one is not available."""
    why: list[str] = []
    for layer in (NAMESPACE, LANDLOCK) if sys.platform == "linux" else ():
        reason = _try_sandbox(SandboxPlan(layer, home))
        if reason is None:
            return layer, "; ".join(why)
        why.append(f"{layer}: {reason}")
    return NONE, "; ".join(why) or "only Linux has one"


def _try_sandbox(plan: SandboxPlan) -> str | None:
    """Why the sandbox cannot be set up or does not work; None if it works."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        reason = "it ended"
        try:
            enter(plan)
            reason = "it hides nothing" if _can_read(plan.home) else ""
        except (SandboxFailed, OSError) as error:
            reason = str(error)
        finally:
            os.write(writer, reason.encode()[:4000] or b"\0")
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        reason = pipe.read().decode()
    os.waitpid(child, 0)
    return None if reason == "\0" else reason or "it ended"


def _can_read(home: str) -> bool:
    """Whether a file of the folder can be opened; `detect_layer` is given one that has some."""
    for name in os.listdir(home):
        path = f"{home}/{name}"
        if os.path.isfile(path):
            try:
                os.close(os.open(path, os.O_RDONLY))
            except OSError:
                continue
            return True
    return False


if __name__ == "__main__":
    print("\n".join(detect_layer(sys.argv[1])))  # noqa: T201
