"""Messages between workers and the connector of a server, over a socket of this host.

A frame is four bytes with its length, then MessagePack. A connection carries one request; the connector
answers with `CallStarted` just before it sends a call to the server, with `CallProgress` and `AskNow` for the
server's progress and questions (answers go the other way), and with one reply. Closing the connection before
that cancels the request. `Hold` has no reply: it keeps the server running, and the connector ends without
holders."""

from __future__ import annotations

import socket
import struct
from typing import Any, Literal

import msgspec

MAX_FRAME = 64 << 20
LENGTH = struct.Struct("!I")


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox of a server: hermes-jobs' `home`, the user's, what it may see that is hidden otherwise, and
    what it may write besides its own folders. Servers of one `scratch` share these."""

    home: str
    user_home: str
    scratch: str
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is started or reached; all `${NAME}` are replaced. Never stored.

    Seconds: `start_timeout` until it has listed its tools, `idle_seconds` without a call after which it is
    ended. `folder` is the connector's own. `secrets` are hidden in its log. `login` is the path of the file
    with the login at a server elsewhere; "": none is used.
    """

    server: str
    folder: str
    token: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = "/"
    sandbox: Confinement | None = None
    url: str = ""
    headers: dict[str, str] = {}
    login: str = ""
    start_timeout: float = 30.0
    idle_seconds: float = 600.0
    secrets: tuple[str, ...] = ()


class ConnectorEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Why a connector has ended, at `at` (seconds since the epoch); `lived`: seconds since its start.
    `well`: without an error. The next start reads it; without one, nothing is known."""

    at: float = 0.0
    lived: float = 0.0
    why: str = ""
    well: bool = True
    stderr: str = ""


class Hold(msgspec.Struct, frozen=True, kw_only=True, tag="hold"):
    """Keep the server running for this worker."""

    token: str


class ListTools(msgspec.Struct, frozen=True, kw_only=True, tag="list"):
    """Request the server's tools and prompts."""

    token: str


class CallTool(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """Call a tool; `arguments` is a JSON object, `timeout` in seconds. The frame may carry a lease as a
    descriptor: nothing is sent to the server after it expires.

    `answers` (JSON by key) and `state` reply to the server's questions of the previous attempt.
    `repeatable`: the call may be repeated in a new session if the server says that this one has expired.
    """

    token: str = ""
    tool: str
    arguments: bytes
    timeout: float
    repeatable: bool = False
    answers: bytes = b""
    state: str | None = None


Inquiry = Literal["resources", "read", "prompt", "task", "cancel_task"]


class Inquire(msgspec.Struct, frozen=True, kw_only=True, tag="inquire"):
    """A request other than tools. `resources`: all, with the templates; `read`: the one with
    the `uri` in `arguments`, a JSON object; `prompt`: the one with that `name` and these `arguments`.
    `task`: the state of the one with that `taskId`, after sending these `answers`; `cancel_task`: cancel it.

    `answers` (JSON by key) and `state` reply to the server's questions of the previous attempt.
    """

    token: str = ""
    what: Inquiry
    arguments: bytes
    timeout: float
    answers: bytes = b""
    state: str | None = None


class AnswerNow(msgspec.Struct, frozen=True, kw_only=True, tag="answer"):
    """The answer to an `AskNow` of the same connection, as JSON."""

    key: str
    answer: bytes


Request = Hold | ListTools | CallTool | Inquire | AnswerNow


class Offer(msgspec.Struct, frozen=True, kw_only=True, tag="offer"):
    """The server's catalogue: `tools` and `prompts` are lists as JSON, in the form of the specification.
    `malformed`: the names of tools that do not have it, each with its error."""

    tools: bytes
    protocol: str
    version: str = ""
    instructions: str = ""
    prompts: bytes = b"[]"
    malformed: tuple[tuple[str, str], ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True, tag="result"):
    """The result of a call as JSON. `listing`: the number of the server's list; it changes with the list."""

    content: bytes
    listing: int = 0


class InputRequired(msgspec.Struct, frozen=True, kw_only=True, tag="asked"):
    """Instead of a result: the server has questions for the user, and requires the request again with the
    answers. `requests` are those of the specification as JSON, by key; `state` goes back to the server."""

    requests: bytes
    state: str | None = None


class TaskCreated(msgspec.Struct, frozen=True, kw_only=True, tag="task_given"):
    """Instead of a result: the server continues in a task; its state as JSON."""

    content: bytes


class CallProgress(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """The progress of a call, in the server's words."""

    text: str


class AskNow(msgspec.Struct, frozen=True, kw_only=True, tag="ask_now"):
    """A question of the server during the call, which waits for the answer; `request` is JSON."""

    key: str
    request: bytes


Failure = Literal[
    "start",
    "ended",
    "lost",
    "timeout",
    "refused",
    "too_large",
    "bad_result",
    "lease",
    "asks",
    "login",
    "scope",
]
"""Kinds of failures.

`start`: the server could not be started or reached. `ended`: it had ended before the call. `lost`: it ended
during the call. `timeout`: no answer in time. `refused`: it answered with an error. `too_large`,
`bad_result`: the call was made, and its answer is unusable. `lease`: the worker's lease has expired. `asks`:
its question cannot be answered. `login`: a login is required; `scope`: one with more rights. """


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """A failure. `stderr`: the server's last lines there. `sent`: the call may have had an effect."""

    kind: Failure
    message: str
    stderr: str = ""
    sent: bool = False


class CallStarted(msgspec.Struct, frozen=True, kw_only=True, tag="begun"):
    """From here on the call may have had an effect."""


Reply = Offer | Result | InputRequired | TaskCreated | Failed
Answer = CallStarted | AskNow | CallProgress | Reply

_encode = msgspec.msgpack.Encoder().encode
_REQUEST = msgspec.msgpack.Decoder(Request)
_ANSWER = msgspec.msgpack.Decoder(Answer)


def frame(message: Request | Answer) -> bytes:
    """The bytes of a message."""
    data = _encode(message)
    return LENGTH.pack(len(data)) + data


def decode_request(data: bytes) -> Request:
    """The request in a frame's bytes. Raises `msgspec.DecodeError`."""
    request: Request = _REQUEST.decode(data)
    return request


def receive(connection: socket.socket) -> Answer | None:
    """The next answer; None if the connection was closed. Raises `OSError`, `msgspec.DecodeError`."""
    head = _exactly(connection, LENGTH.size)
    if head is None:
        return None
    data = _exactly(connection, min(LENGTH.unpack(head)[0], MAX_FRAME))
    return None if data is None else _ANSWER.decode(data)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    buffer = bytearray()
    while len(buffer) < size:
        chunk = connection.recv(min(size - len(buffer), 1 << 20))
        if not chunk:
            return None
        buffer += chunk
    return bytes(buffer)


def decode_response(data: bytes) -> Any:
    """The JSON of an offer or a result."""
    return msgspec.json.decode(data)
