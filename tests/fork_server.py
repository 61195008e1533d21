"""A process with the product imported, which forks one process for each request: see `tests.processes`.

It has answered a turn: forked processes find compiled patterns, described types and tables of keys.
It has one thread, and nothing open but its sockets: forking it is safe.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import stat
import sys
import threading
import time
from contextlib import suppress
from typing import Any, NoReturn

from tests.first_turn import answer_a_turn
from tests.processes import take_terminal

PRODUCT = ("hermes_jobs", "workers", "schedules")
LIBRARIES = ("openai.resources.chat", "rich.console", "rich.table")
"""What the product imports later than at its own import, and most commands need."""
RARE = (
    "hermes_jobs.llm.anthropic.messages_client",
    "hermes_jobs.features.mcp.",
    "hermes_jobs.features.memory.external.",
    "hermes_jobs.features.telegram.",
    "hermes_jobs.kernel.log.postgres",
    "hermes_jobs.features.mcp.serve.",
    "hermes_jobs.features.tracing.",
    "workers.flower",
)
"""How the names of modules begin that few commands import. Their libraries are half of the product's memory,
and the time of a fork grows with the memory."""
STREAMS = (("stdin", "r", "strict"), ("stdout", "w", "strict"), ("stderr", "w", "backslashreplace"))


def serve(requests: socket.socket) -> None:
    """Fork one process for each request; answer with its pid and, when it has ended, with its exit code."""
    clients: dict[int, socket.socket] = {}
    ended, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    while True:
        ready, _, _ = select.select([requests.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 1_000)
            report_ended(clients)
        if requests.fileno() in ready:
            message, files, _, _ = socket.recv_fds(requests, 1, 4)
            if not message:
                return
            client = socket.socket(fileno=files.pop())
            request = json.loads(received(client))
            pid = os.fork()
            if not pid:
                for other in (requests, client, *clients.values()):
                    other.close()
                become(request, files, others=[ended, wakeup])
            for file in files:
                os.close(file)
            client.sendall(f"{pid}\n".encode())
            clients[pid] = client


def received(client: socket.socket) -> bytes:
    """All that the client sends until it has no more to send."""
    with client.makefile("rb") as file:
        return file.read()


def report_ended(clients: dict[int, socket.socket]) -> None:
    """Send each client whose process has ended its exit code; those who no longer want it get none."""
    for pid in list(clients):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            with clients.pop(pid) as client, suppress(OSError):
                client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def become(request: dict[str, Any], files: list[int], others: list[int]) -> NoReturn:
    """In the forked process: be what was requested."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in {*files, *others} - {0, 1, 2}:
        os.close(file)
    if request["terminal"]:
        os.setsid()
        take_terminal()
    for number, (name, mode, errors) in enumerate(STREAMS):
        if os.isatty(number) or stat.S_ISFIFO(os.fstat(number).st_mode):  # the server's may be files
            stream = open(number, mode, buffering=1, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]
    module, *sys.argv[1:] = request["arguments"]
    run_to_the_end(module)


def run_to_the_end(module: str) -> NoReturn:
    """Run the module and end as the interpreter does, except that loaded modules are not taken apart."""
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    except KeyboardInterrupt as error:
        sys.excepthook(type(error), error, error.__traceback__)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:  # noqa: BLE001 - the interpreter, too, shows whatever it is
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # as the interpreter does: threads that are not daemons
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    sys.stderr.flush()
    os._exit(code)


def import_everything() -> None:
    """Import the modules of the product, but for the rare ones and those that run when they are imported."""
    for package in PRODUCT:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__") and not module.name.startswith(RARE):
                importlib.import_module(module.name)
    for library in LIBRARIES:
        importlib.import_module(library)


if __name__ == "__main__":
    import_everything()
    for name in sys.argv[2:]:
        importlib.import_module(name)
    answer_a_turn()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        serve(listening)
