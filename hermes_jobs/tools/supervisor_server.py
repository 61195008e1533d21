"""Forks the supervisors of one worker's commands: a process that has imported what they need.

Run as `python -I -S supervisor_server.py SOCKET WORKER`. A request of the worker (`supervisors`) is its
length in four bytes and a marshalled tuple: arguments of the supervisor, folder, environment. With it come
the descriptors for the supervisor's stdin, stdout and stderr, and that of its lease if it has one. The
response is the number of an error, 0 for none, and with that a pidfd of the supervisor.

A supervisor continues without it. It ends with the worker, whose pidfd it watches beside the socket: another
process may hold a copy of the socket.
"""

# Each import costs milliseconds of the first command: pathlib is not worth its own here.
# ruff: noqa: PTH100

import marshal
import os
import select
import socket
import sys

sys.path.append(os.path.abspath(f"{__file__}/../../.."))

from hermes_jobs.tools import sandbox_domains, sandbox_layer, sandbox_mounts, sandbox_plan, supervisor

PRELOADED = (sandbox_domains, sandbox_layer, sandbox_mounts, sandbox_plan.load_libc())
LENGTH = 4
MAX_DESCRIPTORS = 4
LEASE = 2  # its place among the arguments of a supervisor


def main() -> None:
    """Serve the worker until one of both has ended."""
    worker = os.pidfd_open(int(sys.argv[2]))
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    supervisor.prctl_function()(supervisor.PR_SET_NAME, b"hermes-spawn")  # out of reach of `pkill python`
    wakeup = supervisor.wake_on_children()
    while worker not in (ready := select.select([requests.fileno(), worker, wakeup], [], [])[0]):
        if wakeup in ready:
            os.read(wakeup, 4096)
            _reap()
        if requests.fileno() not in ready:
            continue
        start, descriptors, _flags, _address = socket.recv_fds(
            requests, LENGTH, MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
        text = _rest(requests, start)
        if not text:
            return
        _start(requests, worker, marshal.loads(text), descriptors)


def _reap() -> None:
    """Reap ended supervisors."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _rest(requests: socket.socket, start: bytes) -> bytes:
    """The text of the request that begins so; empty when the worker has ended."""
    length = _exactly(requests, start, LENGTH)
    return _exactly(requests, b"", int.from_bytes(length, "big"))


def _exactly(requests: socket.socket, start: bytes, length: int) -> bytes:
    received = bytearray(start)
    while len(received) < length:
        more = requests.recv(length - len(received))
        if not more:
            return b""
        received += more
    return bytes(received)


def _start(
    requests: socket.socket,
    worker: int,
    request: tuple[list[str], str, dict[str, str]],
    descriptors: list[int],
) -> None:
    """Fork the supervisor, and respond; it does not return from here."""
    arguments, folder, environment = request
    child, response, pidfds = -1, 0, []
    try:
        os.chdir(folder)
        child = os.fork()
    except OSError as error:
        response = min(error.errno or 255, 255)
    if child == 0:
        requests.close()
        _supervise(arguments, descriptors, environment, worker)
    os.chdir("/")
    if child > 0:
        pidfds.append(os.pidfd_open(child))  # it is not reaped yet
    socket.send_fds(requests, [bytes([response])], pidfds)
    for descriptor in (*descriptors, *pidfds):
        os.close(descriptor)


def _supervise(
    arguments: list[str], descriptors: list[int], environment: dict[str, str], worker: int
) -> None:
    try:
        os.setsid()  # a Ctrl-C at the worker's terminal is the worker's to handle
        os.environ.clear()
        os.environ.update(environment)
        for number, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, number)
            os.close(descriptor)
        if len(descriptors) == MAX_DESCRIPTORS:
            arguments[LEASE] = str(descriptors[3])
        supervisor.main(arguments, worker)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
    os._exit(0)  # without the interpreter's own end, for which the worker would wait
