"""The servers that this process uses: each has a connector on this host, started on first use.

Workers of one home share a connector: it listens in a folder below `run/mcp/`, named by the digest of the
server's launch settings. A process that uses it holds it by an open socket.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from hermes_jobs.features.mcp.logins import LoginFile, needed
from hermes_jobs.features.mcp.messages import (
    AnswerNow,
    AskNow,
    CallProgress,
    CallStarted,
    CallTool,
    Failed,
    Hold,
    InputRequired,
    Inquire,
    Inquiry,
    Launch,
    ListTools,
    Offer,
    Reply,
    Request,
    Result,
    TaskCreated,
    frame,
    receive,
)
from hermes_jobs.features.mcp.start import (
    NotStarted,
    connected,
    hold_host,
    is_served,
    pause_after_failures,
    single_start,
    start,
)
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.engine.ports.toolbox import ignore_delta

PAUSES = (0.0, 0.1, 0.3, 1.0, 0.0)
"""Seconds before a request is repeated that no connector has started: one was stopping, or is busy."""
Ask = Callable[[AskNow, Callable[[], bool]], bytes]
"""Answers a question during a call; the second argument returns whether the answer is no longer needed."""
HOST = "host"  # no server has that folder
CANNOT_ASK = "the server asks for input first, and nobody can be asked here"


def refuse_to_answer(_asked: AskNow, _gone: Callable[[], bool]) -> bytes:
    """An `Ask` without a user."""
    return b'{"action":"decline"}'


class Servers:
    """Thread-safe. Close it to release the servers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._holds: dict[str, socket.socket] = {}

    def close(self) -> None:
        """Release all servers."""
        with self._lock:
            holds, self._holds = self._holds, {}
        for hold in holds.values():
            hold.close()

    def list_tools(self, launch: Launch, cancel: Cancel) -> Offer | Failed:
        """The server's catalogue; starts the server."""
        reply = self._ask(launch, cancel, lambda token: ListTools(token=token))
        return reply if isinstance(reply, Offer | Failed) else _lost(has_begun=False)

    def call(
        self,
        launch: Launch,
        call: CallTool,
        cancel: Cancel,
        ask: Ask = refuse_to_answer,
        on_progress: Callable[[str], None] = ignore_delta,
    ) -> Result | InputRequired | TaskCreated | Failed:
        """Call a tool; `ask` is called with the server's questions, `on_progress` with its progress."""
        reply = self._ask(
            launch, cancel, lambda token: msgspec.structs.replace(call, token=token), ask, on_progress
        )
        return (
            reply
            if isinstance(reply, Result | InputRequired | TaskCreated | Failed)
            else _lost(has_begun=True)
        )

    def inquire(
        self, launch: Launch, what: Inquiry, arguments: bytes, timeout: float, cancel: Cancel
    ) -> Result | Failed:
        """Send an `Inquire` without a user to answer questions."""
        reply = self.read(launch, Inquire(what=what, arguments=arguments, timeout=timeout), cancel)
        return Failed(kind="asks", message=CANNOT_ASK) if isinstance(reply, InputRequired) else reply

    def read(
        self, launch: Launch, inquiry: Inquire, cancel: Cancel, ask: Ask = refuse_to_answer
    ) -> Result | InputRequired | Failed:
        """The same; `ask` is called with the server's questions."""
        reply = self._ask(launch, cancel, lambda token: msgspec.structs.replace(inquiry, token=token), ask)
        return reply if isinstance(reply, Result | InputRequired | Failed) else _lost(has_begun=False)

    def log_of(self, launch: Launch) -> Path:
        """The log file of the server's stderr."""
        return self._folder_of(launch) / "stderr.log"

    def is_running(self, launch: Launch) -> bool:
        """Whether the server has a connector."""
        return is_served(self._folder_of(launch))

    def prepare(self) -> None:
        """Start the connector host, without waiting: the next server then starts a second faster."""
        with self._lock:
            hold = self._holds.get(HOST)
        if hold is None or _has_ended(hold):
            threading.Thread(target=self._hold_host, daemon=True).start()

    def let_host_go(self) -> None:
        """Release the connector host; the connectors continue."""
        self._release(HOST)

    def _hold_host(self) -> None:
        with suppress(NotStarted, OSError):
            hold = hold_host(self._folder)
            self._release(HOST)
            with self._lock:
                self._holds[HOST] = hold

    # --- requests -----------------------------------------------------------------------------------

    def _ask(
        self,
        launch: Launch,
        cancel: Cancel,
        request: Callable[[str], Request],
        ask: Ask = refuse_to_answer,
        on_progress: Callable[[str], None] = ignore_delta,
    ) -> Reply:
        login = LoginFile(Path(launch.login)).read() if launch.login else None
        if login is not None and login.ended:
            return Failed(kind="login", message=needed(launch.server, login.ended))
        folder = self._folder_of(launch)
        reply: Reply = Failed(kind="ended", message="its connector has ended")
        for pause in PAUSES:
            try:
                token = self._held(folder, launch)
            except NotStarted as error:
                return error.failed
            connection = connected(folder)
            if connection is not None:
                with connection:
                    reply = _answered(connection, frame(request(token)), cancel, ask, on_progress)
            if cancel.reason is not None or not (isinstance(reply, Failed) and reply.kind == "ended"):
                break
            self._release(folder.name)  # it was ending when the request arrived
            time.sleep(pause)
        return reply

    def _folder_of(self, launch: Launch) -> Path:
        text = msgspec.structs.replace(launch, folder="", token="", secrets=())
        digest = sha256(msgspec.json.encode(text, order="sorted")).hexdigest()[:16]
        return self._folder / f"{launch.server}-{digest}"

    def _held(self, folder: Path, launch: Launch) -> str:
        """Hold the server's connector, started if necessary; returns its token.

        Raises `NotStarted`.
        """
        with self._lock:
            previous = self._holds.get(folder.name)
        if previous is not None and not _has_ended(previous):
            return _token(folder)
        self._release(folder.name)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with single_start(folder / "start.lock"):
            hold = connected(folder)
            if hold is None:
                pause_after_failures(folder)
                start(folder, launch)
                hold = connected(folder)
                self.prepare()
            if hold is None:
                raise NotStarted(Failed(kind="start", message="its connector could not be reached"))
            token = _token(folder)
            with suppress(OSError):  # it has just ended: the request will fail too, and is then repeated
                hold.sendall(frame(Hold(token=token)))
        with self._lock:
            before = self._holds.pop(folder.name, None)
            self._holds[folder.name] = hold
        if before is not None:
            before.close()
        return token

    def _release(self, name: str) -> None:
        with self._lock:
            hold = self._holds.pop(name, None)
        if hold is not None:
            hold.close()


def _answered(
    connection: socket.socket,
    request: bytes,
    cancel: Cancel,
    ask: Ask = refuse_to_answer,
    on_progress: Callable[[str], None] = ignore_delta,
) -> Reply:
    """Send the request with the lease, and wait for the reply or `cancel`."""

    def stop() -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    has_begun = False
    forget = cancel.on_cancel(stop)
    lease = cancel.share_lease()
    try:
        sent = socket.send_fds(connection, [request], [] if lease is None else [lease])
        if rest := request[sent:]:  # an empty send fails too if the other end has replied and closed
            connection.sendall(rest)
        answer = receive(connection)
        while isinstance(answer, CallStarted | AskNow | CallProgress):
            has_begun = True
            if isinstance(answer, CallProgress):
                on_progress(answer.text)
            if isinstance(answer, AskNow):
                response = ask(answer, lambda: _is_readable(connection))
                if not _is_readable(connection):  # else the call has ended
                    connection.sendall(frame(AnswerNow(key=answer.key, answer=response)))
            answer = receive(connection)
        return answer if isinstance(answer, Reply) else _lost(has_begun=has_begun)
    except (OSError, msgspec.DecodeError):
        return _lost(has_begun=has_begun)
    finally:
        forget()
        if lease is not None:
            os.close(lease)


def _lost(*, has_begun: bool) -> Failed:
    """The failure if the connector has ended or was killed."""
    return Failed(
        kind="lost" if has_begun else "ended", message="the connection to it was lost", sent=has_begun
    )


def _is_readable(connection: socket.socket) -> bool:
    """Whether data has arrived, or the other end was closed."""
    return bool(select.select([connection], [], [], 0)[0])


def _has_ended(hold: socket.socket) -> bool:
    """Whether the other end of a connection that carries no data was closed."""
    try:
        return hold.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _token(folder: Path) -> str:
    try:
        return (folder / "token").read_text()
    except OSError as error:
        raise NotStarted(Failed(kind="start", message=f"its folder cannot be read: {error}")) from error
