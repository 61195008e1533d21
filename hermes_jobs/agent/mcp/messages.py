"""What workers and the connector of a server say to each other, over a socket of this host.

A frame is four bytes with its length, then MessagePack. A connection carries one request; the connector
answers with `Begun` just before it sends a call to the server, with `CallProgress` and `AskNow` for what the
server says and asks meanwhile (answers go the other way), and with one reply. A connection that ends before
that cancels the request. `Hold` has no end: it says
that a worker wants the server, and the connector ends when nobody does.
"""

from __future__ import annotations

import socket
import struct
from typing import Any, Literal

import msgspec

MAX_FRAME = 64 << 20
LENGTH = struct.Struct("!I")


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """A server as it is started or reached; all `${NAME}` are replaced, and nobody else reads it.

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
    url: str = ""
    headers: dict[str, str] = {}
    login: str = ""
    start_timeout: float = 30.0
    idle_seconds: float = 600.0
    secrets: tuple[str, ...] = ()


class Hold(msgspec.Struct, frozen=True, kw_only=True, tag="hold"):
    """A worker wants the server from now on."""

    token: str


class ListTools(msgspec.Struct, frozen=True, kw_only=True, tag="list"):
    """What does the server offer?"""

    token: str


class CallTool(msgspec.Struct, frozen=True, kw_only=True, tag="call"):
    """Call a tool; `arguments` is a JSON object, `timeout` in seconds. A lease may travel with the frame as a
    descriptor: nothing is sent to the server after its end.

    `answers` (JSON by key) and `state` are for what the server asked for when the call was made before.
    """

    token: str = ""
    tool: str
    arguments: bytes
    timeout: float
    answers: bytes = b""
    state: str | None = None


Inquiry = Literal["resources", "read", "prompt", "task", "cancel_task"]


class Inquire(msgspec.Struct, frozen=True, kw_only=True, tag="inquire"):
    """What does the server offer besides tools? `resources`: all, with its templates; `read`: the one with
    the `uri` in `arguments`, a JSON object; `prompt`: the one with that `name` and these `arguments`.
    `task`: how the one with that `taskId` stands, after these `answers` to it; `cancel_task`: end it.

    `answers` (JSON by key) and `state` are for what the server asked for when it was asked before.
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
    """What the server offers: `tools` and `prompts` are lists as JSON, in the form of the specification.
    `malformed`: the names of tools that do not have it, each with what is wrong."""

    tools: bytes
    protocol: str
    version: str = ""
    instructions: str = ""
    prompts: bytes = b"[]"
    malformed: tuple[tuple[str, str], ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True, tag="result"):
    """The result of a call as JSON. `listing` is another number when the server has changed its list."""

    content: bytes
    listing: int = 0


class Asked(msgspec.Struct, frozen=True, kw_only=True, tag="asked"):
    """In the place of a result: the server asks the person, and wants the request again with the answers.
    `requests` are those of the specification as JSON, by key; `state` goes back to the server."""

    requests: bytes
    state: str | None = None


class TaskGiven(msgspec.Struct, frozen=True, kw_only=True, tag="task_given"):
    """In the place of a result: the server continues by itself, with a task whose state this is, as JSON."""

    content: bytes


class CallProgress(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """How far a call is, in the server's words."""

    text: str


class AskNow(msgspec.Struct, frozen=True, kw_only=True, tag="ask_now"):
    """The server asks the person while it makes the call, and waits; `request` is JSON."""

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
"""Why there is no result.

`start`: the server could not be started or reached. `ended`: it had ended before the call. `lost`: it ended
during the call. `timeout`: no answer in time. `refused`: it answered with an error. `too_large`,
`bad_result`: the call was made, and its answer cannot be used. `lease`: the worker may not act any more.
`asks`: it asks for what nobody can give. `login`: it wants a login; `scope`: one with more rights.
"""


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """There is no result. `stderr`: the server's last lines there. `sent`: it may have had an effect."""

    kind: Failure
    message: str
    stderr: str = ""
    sent: bool = False


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag="begun"):
    """From here on the call may have had an effect."""


Reply = Offer | Result | Asked | TaskGiven | Failed
Answer = Begun | AskNow | CallProgress | Reply

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
    """The next answer; None where the connection has ended. Raises `OSError`, `msgspec.DecodeError`."""
    head = _exactly(connection, LENGTH.size)
    if head is None:
        return None
    data = _exactly(connection, min(LENGTH.unpack(head)[0], MAX_FRAME))
    return None if data is None else _ANSWER.decode(data)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        chunk = connection.recv(min(size - len(found), 1 << 20))
        if not chunk:
            return None
        found += chunk
    return bytes(found)


def decoded(data: bytes) -> Any:
    """The JSON of an offer or a result."""
    return msgspec.json.decode(data)
