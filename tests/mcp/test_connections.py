"""One request over one connection: what counts as begun, whatever the two ends do in between."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterable
from typing import Any

from hermes_jobs.features.mcp.messages import CallStarted, CallTool, Failed, Result, frame
from hermes_jobs.features.mcp.servers import _answered
from hermes_jobs.kernel.engine.in_flight import CancelToken

REQUEST = frame(CallTool(token="t", tool="note", arguments=b"{}", timeout=60))


class SlowWorker(socket.socket):
    """A connection of a worker that gets on only when the other end has done all that it does."""

    other: threading.Thread

    def sendmsg(self, *arguments: Any) -> int:
        sent = super().sendmsg(*arguments)
        self.other.join()
        return sent


def ask(answers: Iterable[bytes]) -> object:
    """The reply that a slow worker gets of a connector that says this and closes."""
    ours, theirs = socket.socketpair()

    def connector() -> None:
        with theirs:
            _, (lease,), _, _ = socket.recv_fds(theirs, 1 << 16, 1)
            os.close(lease)
            for each in answers:
                theirs.sendall(each)

    with SlowWorker(fileno=ours.detach()) as worker:
        worker.other = threading.Thread(target=connector)
        worker.other.start()
        return _answered(worker, REQUEST, CancelToken(Lease()))


class Lease:
    """A lease that holds."""

    def is_fresh(self) -> bool:
        return True

    def share(self) -> int:
        return os.open(os.devnull, os.O_RDONLY)


def test_a_call_that_has_ended_before_the_worker_looks_has_its_result() -> None:
    assert ask([frame(CallStarted()), frame(Result(content=b"{}"))]) == Result(content=b"{}")


def test_a_call_that_was_begun_is_lost_where_the_connection_ends() -> None:
    reply = ask([frame(CallStarted())])
    assert isinstance(reply, Failed)
    assert (reply.kind, reply.sent) == ("lost", True)


def test_a_call_that_was_not_begun_may_be_sent_again() -> None:
    reply = ask([])
    assert isinstance(reply, Failed)
    assert (reply.kind, reply.sent) == ("ended", False)
