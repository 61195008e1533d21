"""A Bot API server on the loopback, in a thread: one bot, its chats, and faults on demand.

It keeps Telegram's rules as far as they matter here, each with its source:

* An update is given again until a later offset is asked for, and only of the kinds asked for (A: getUpdates);
  a second `getUpdates` ends the first with 409 (seen).
* A text has 1 to 4096 characters after the parsing of entities (A: sendMessage), a caption up to 1024 (A:
  sendDocument). Entities count UTF-16 units (A: MessageEntity), code contains none (A: formatting options),
  and those above 100 are ignored (P): here an error, so that a test sees it.
* A change that changes nothing is an error (seen); buttons go where a change comes without them. A text
  message can become a document (A: editMessageMedia). A draft is for private chats (A: sendMessageDraft).
* A button carries 1 to 64 bytes (A: InlineKeyboardButton); a press is answered once, with at most 200
  characters (A: answerCallbackQuery).
* Commands are 1 to 32 of a-z, 0-9 and _, their texts 1 to 256 characters (A: BotCommand), at most 100 (A:
  setMyCommands).
* A file of up to 20 MB can be downloaded from https://api.telegram.org/file/bot<token>/<file_path>; the link
  is valid for at least an hour, and a new one can be requested by getFile (A: getFile). A larger one is an
  error (seen). Here a link is of use once, so that nobody counts on it for longer.
* A photo is several sizes (A: PhotoSize); an album's parts are messages with one media_group_id (A: Message).
* About 30 messages a second in all, one a second in a chat, 20 a minute in a group (F). Bursts that Telegram
  may allow are refused here. A draft is no message; more than one a second in a chat are refused, too.

A: https://core.telegram.org/bots/api; F: https://core.telegram.org/bots/faq#broadcasting-to-users and "my bot
is hitting limits"; P: https://docs.python-telegram-bot.org/en/stable/telegram.constants.html.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, unquote

import msgspec
import pytest

from hermes_jobs.features.telegram import pace
from tests.server_thread import ServerThread

BOT = 4242
TOKEN = f"{BOT}:nobody-may-ever-see-this-token-0123"
LIMIT = 4096
DATA_LIMIT = 64  # bytes of a button
NOTICE_LIMIT = 200  # characters beside a button that was pressed
CAPTION_LIMIT = 1024
MAX_ENTITIES = 100
MAX_DOWNLOAD = 20 * 1024 * 1024
PER_SECOND, PER_MINUTE_IN_GROUP = 30, 20
NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are "
    "exactly the same as a current content and reply markup of the message"
)
QUICK = 0.05  # Telegram's second in tests, in seconds
PATIENCE = 60.0  # seconds after which a wait for something that never happens fails


class Call(msgspec.Struct, frozen=True):
    """A request that arrived, with its parameters."""

    method: str
    parameters: dict[str, str]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one request: an error, or a cut connection `before` or `after` it took effect.

    `act` is called at that moment, before anything is answered.
    """

    status: int = 0
    description: str = "a fault on demand"
    retry_after: int | None = None
    moved_to: int | None = None
    cut: Literal["", "before", "after"] = ""
    act: Callable[[], None] = lambda: None


SHOWN = {"photo": "🖼", "document": "📎", "audio": "🎵"}
"""How a medium is shown, by its type: a voice note is none of them
(https://core.telegram.org/bots/api#inputmedia)."""


class Refused(Exception):
    """An error in the API's own form."""

    def __init__(
        self, status: int, description: str, retry_after: int | None = None, moved_to: int | None = None
    ) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.retry_after = retry_after
        self.moved_to = moved_to


class Pace:
    """How fast a bot may send. `second`: how long Telegram's is; shorter in quick tests. `refused` counts
    what came too early.
    """

    def __init__(self, second: float) -> None:
        self.refused = 0
        self._second = second
        self._sent: list[tuple[float, int]] = []
        self._drafts: dict[int, float] = {}

    def count(self, chat: int) -> None:
        """A message is sent there. Raises `Refused`, 429."""
        now = time.monotonic() / self._second
        self._sent = [(at, to) for at, to in self._sent if now - at < 60]
        if sum(now - at < 1 for at, _ in self._sent) >= PER_SECOND:
            raise self._too_many(1)
        there = [at for at, to in self._sent if to == chat]
        if chat < 0 and len(there) >= PER_MINUTE_IN_GROUP:
            raise self._too_many(int(61 - (now - there[0])))
        if there and now - there[-1] < 1:
            raise self._too_many(1)
        self._sent.append((now, chat))

    def count_draft(self, chat: int) -> None:
        """A draft is shown there. Raises `Refused`, 429."""
        now = time.monotonic() / self._second
        if now - self._drafts.get(chat, -1) < 1:
            raise self._too_many(1)
        self._drafts[chat] = now

    def _too_many(self, seconds: int) -> Refused:
        self.refused += 1
        return Refused(429, f"Too Many Requests: retry after {seconds}", seconds)


class BotServer:
    """The server and all that was said through it. `second`: how long Telegram's second is here."""

    def __init__(self, second: float = 1.0) -> None:
        self.pace = Pace(second)
        self.entities: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
        self.files: dict[tuple[int, int], tuple[str, str]] = {}
        self.uploads: dict[str, bytes] = {}
        self._links: dict[str, bytes] = {}
        self.threads: dict[tuple[int, int], int] = {}
        self.drafts: list[tuple[int, str]] = []
        self.commands: list[tuple[str, str]] = []
        self.calls: list[Call] = []
        self.chats: dict[int, dict[int, str]] = defaultdict(dict)
        self.history: dict[tuple[int, int], list[str]] = defaultdict(list)
        self.typed: list[int] = []
        self.keyboards: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
        self.notices: list[str] = []
        self._presses: set[str] = set()
        self._kinds: list[str] = []
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._updates: list[dict[str, Any]] = []
        self._next_update = 700_000_000
        self._next_message = 1
        self._polls = 0
        self._stopping = False
        self._changed = threading.Condition()
        self._sockets: set[socket.socket] = set()
        self._http = _Http(self)
        self._thread = ServerThread(self._http, "bot-server")

    # --- for tests ------------------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        """What stands for https://api.telegram.org."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def start(self) -> BotServer:
        """Begin to answer."""
        self._thread.start()
        return self

    def close(self) -> None:
        """End every connection and thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            open_sockets = list(self._sockets)
        self._thread.stop()
        for connection in open_sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    def write(
        self,
        user: int,
        text: str | None,
        *,
        kind: str = "private",
        chat: int | None = None,
        reply_to: int = 0,
        topic: int = 0,
        media: dict[str, Any] | None = None,
        forwarded: str = "",
    ) -> int:
        """Somebody writes to the bot; `media` are further fields of the message, with `text` as caption. The
        update's id. `forwarded`: the name of whoever wrote it."""
        with self._changed:
            message: dict[str, Any] = {
                "message_id": self._number(),
                "date": int(time.time()),
                "chat": {"id": chat or user, "type": kind, "first_name": "Anna"},
                "from": {"id": user, "is_bot": False, "first_name": "Anna"},
            }
            if reply_to:
                replied = {"from": {"id": BOT, "is_bot": True, "first_name": "Hermes"}}
                message["reply_to_message"] = _message(chat or user, reply_to, "…") | replied
            if topic:
                message |= {"message_thread_id": topic, "is_topic_message": True}
            if forwarded:
                origin = {"type": "hidden_user", "date": 1, "sender_user_name": forwarded}
                message["forward_origin"] = origin
            message |= media or {}
            if text is not None:
                message["caption" if media else "text"] = text
            self._next_update += 1
            self._updates.append({"update_id": self._next_update, "message": message})
            self._changed.notify_all()
            return self._next_update

    def uploaded(self, content: bytes, **about: Any) -> dict[str, Any]:
        """What a message says of a file of that content."""
        with self._changed:
            name = f"file-{len(self.uploads)}"
            self.uploads[name] = content
            return {"file_id": name, "file_unique_id": f"u{name}", "file_size": len(content)} | about

    def photo(self, content: bytes, **about: Any) -> dict[str, Any]:
        """The fields of a message with a photo: a small size of it, and the whole."""
        small = self.uploaded(b"not the whole", width=4, height=2)
        return {"photo": [small, self.uploaded(content, width=40, height=20)]} | about

    def document(self, content: bytes, name: str, **about: Any) -> dict[str, Any]:
        """The fields of a message with a document."""
        return {"document": self.uploaded(content, file_name=name)} | about

    def press(self, user: int, label: str, below: str, *, chat: int | None = None, data: str = "") -> int:
        """Somebody presses a button below the message of that text; `data` is what a forged client sends."""
        with self._changed:
            where = chat or user
            number = self._numbered(where, below)
            carried = data or dict(self.keyboards[where, number])[label]
            self._next_update += 1
            query = f"q{self._next_update}"
            self._presses.add(query)
            pressed = {
                "id": query,
                "from": {"id": user, "is_bot": False, "first_name": "Anna"},
                "chat_instance": "1",
                "message": _message(where, number, below) | self._topic(where, number),
                "data": carried,
            }
            self._updates.append({"update_id": self._next_update, "callback_query": pressed})
            self._changed.notify_all()
            return self._next_update

    def forget_presses(self) -> None:
        """Let so much time pass that no press can be answered any more."""
        with self._changed:
            self._presses.clear()

    def labels(self, chat: int, text: str) -> list[str]:
        """What stands on the buttons below the message of that text."""
        with self._changed:
            return [label for label, _ in self.keyboards[chat, self._numbered(chat, text)]]

    def fail(self, method: str, *faults: Fault) -> None:
        """Let the next requests of that method meet these faults."""
        with self._changed:
            self._faults[method].extend(faults)

    def said(self, chat: int) -> list[str]:
        """What stands in the chat, in order, besides placeholders."""
        with self._changed:
            return [text for _, text in sorted(self.chats[chat].items()) if text != "…"]

    def delete(self, chat: int, text: str) -> None:
        """Somebody deletes the messages of that text."""
        with self._changed:
            self.chats[chat] = {number: each for number, each in self.chats[chat].items() if each != text}

    def count(self, method: str) -> int:
        """How many requests of that method have arrived."""
        with self._changed:
            return sum(call.method == method for call in self.calls)

    def unconfirmed(self) -> int:
        """How many updates the bot has not given up."""
        with self._changed:
            return len(self._updates)

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something that the server sees has made this true. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(condition, PATIENCE):
                asked = [call.method for call in self.calls if call.method != "sendChatAction"][-20:]
                raise TimeoutError(f"waited in vain for {what}: {dict(self.chats)}, asked: {asked}")

    # --- the API --------------------------------------------------------------------------------

    def answer(self, method: str, parameters: dict[str, str]) -> tuple[Any, Fault | None]:
        """The result, and the fault that its request meets. Raises `Refused`, ConnectionError."""
        with self._changed:
            self.calls.append(Call(method, parameters))
            fault = self._faults[method].popleft() if self._faults[method] else None
            self._changed.notify_all()
        if fault is not None and fault.cut != "after":
            fault.act()
            if fault.cut == "before":
                raise ConnectionError("cut on demand")
            raise Refused(fault.status, fault.description, fault.retry_after, fault.moved_to)
        if fault is not None:
            parameters = {**parameters, "timeout": "0"}  # it takes effect, and nothing is waited for
        act = getattr(self, f"_{method}", None)
        if act is None:
            raise Refused(404, "Not Found: method not found")
        with self._changed:
            result = act(parameters)
            self._changed.notify_all()
        return result, fault

    def _getMe(self, _parameters: dict[str, str]) -> Any:
        return {
            "id": BOT,
            "is_bot": True,
            "first_name": "Hermes",
            "username": "hermes_test_bot",
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }

    def _getUpdates(self, parameters: dict[str, str]) -> Any:
        offset = int(parameters.get("offset", 0))
        self._updates = [update for update in self._updates if update["update_id"] >= offset]
        if "allowed_updates" in parameters:
            self._kinds = json.loads(parameters["allowed_updates"])
        self._polls += 1
        mine = self._polls
        self._changed.notify_all()
        seconds = float(parameters.get("timeout", 0))
        self._changed.wait_for(lambda: bool(self._updates) or self._polls != mine or self._stopping, seconds)
        if self._polls != mine:
            raise Refused(409, "Conflict: terminated by other getUpdates request")
        return [each for each in self._updates if not self._kinds or set(each) & set(self._kinds)][:100]

    def _getFile(self, parameters: dict[str, str]) -> Any:
        name = parameters["file_id"]
        if name not in self.uploads:
            raise Refused(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if len(self.uploads[name]) > MAX_DOWNLOAD:
            raise Refused(400, "Bad Request: file is too big")
        path = f"documents/{name}-{len(self.calls)}.bin"
        self._links[path] = self.uploads[name]
        size = len(self.uploads[name])
        return {"file_id": name, "file_unique_id": f"u{name}", "file_size": size, "file_path": path}

    def _download(self, parameters: dict[str, str]) -> Any:
        if parameters["path"] not in self._links:
            raise Refused(404, "Not Found")
        return self._links.pop(parameters["path"])

    def _sendMessage(self, parameters: dict[str, str]) -> Any:
        chat, text = int(parameters["chat_id"]), _checked(parameters)
        self.pace.count(chat)
        number = self._number()
        self.chats[chat][number] = text
        self.entities[chat, number] = json.loads(parameters.get("entities", "[]"))
        if "message_thread_id" in parameters:
            self.threads[chat, number] = int(parameters["message_thread_id"])
        self.history[chat, number].append(text)
        return _message(chat, number, text)

    def _editMessageText(self, parameters: dict[str, str]) -> Any:
        chat, number, text = int(parameters["chat_id"]), int(parameters["message_id"]), _checked(parameters)
        if number not in self.chats[chat]:
            raise Refused(400, "Bad Request: message to edit not found")
        buttons = _buttons(parameters)
        if self.chats[chat][number] == text and self.keyboards[chat, number] == buttons:
            raise Refused(400, NOT_MODIFIED)
        self.chats[chat][number] = text
        self.entities[chat, number] = json.loads(parameters.get("entities", "[]"))
        self.keyboards[chat, number] = buttons
        self.history[chat, number].append(text)
        return _message(chat, number, text)

    def _editMessageMedia(self, parameters: dict[str, str]) -> Any:
        chat, number = int(parameters["chat_id"]), int(parameters["message_id"])
        if number not in self.chats[chat]:
            raise Refused(400, "Bad Request: message to edit not found")
        media = json.loads(parameters["media"])
        if len(media.get("caption", "")) > CAPTION_LIMIT:
            raise Refused(400, "Bad Request: message caption is too long")
        name, _, content = parameters[media["media"].removeprefix("attach://")].partition("\0")
        self.files[chat, number] = (name, content)
        shown = f"{SHOWN[media['type']]} {name}"
        self.chats[chat][number] = shown
        self.keyboards[chat, number] = _buttons(parameters)
        self.history[chat, number].append(shown)
        return _message(chat, number, shown)

    def _sendMessageDraft(self, parameters: dict[str, str]) -> Any:
        if int(parameters["chat_id"]) < 0 or int(parameters["draft_id"]) == 0:
            raise Refused(400, "Bad Request: a draft needs a private chat and an id")
        text = _checked(parameters)
        self.pace.count_draft(int(parameters["chat_id"]))
        self.drafts.append((int(parameters["chat_id"]), text))
        return True

    def _setMyCommands(self, parameters: dict[str, str]) -> Any:
        commands = json.loads(parameters["commands"])
        if len(commands) > 100 or not all(
            re.fullmatch(r"[a-z0-9_]{1,32}", each["command"]) and 1 <= len(each["description"]) <= 256
            for each in commands
        ):
            raise Refused(400, "Bad Request: BOT_COMMAND_INVALID")
        self.commands = [(each["command"], each["description"]) for each in commands]
        return True

    def _editMessageReplyMarkup(self, parameters: dict[str, str]) -> Any:
        chat, number = int(parameters["chat_id"]), int(parameters["message_id"])
        if number not in self.chats[chat]:
            raise Refused(400, "Bad Request: message to edit not found")
        buttons = _buttons(parameters)
        if self.keyboards[chat, number] == buttons:
            raise Refused(400, NOT_MODIFIED)
        self.keyboards[chat, number] = buttons
        return _message(chat, number, self.chats[chat][number])

    def _answerCallbackQuery(self, parameters: dict[str, str]) -> Any:
        text = parameters.get("text", "")
        if len(text) > NOTICE_LIMIT:
            raise Refused(400, "Bad Request: MESSAGE_TOO_LONG")
        if parameters["callback_query_id"] not in self._presses:
            raise Refused(
                400, "Bad Request: query is too old and response timeout expired or query ID is invalid"
            )
        self._presses.remove(parameters["callback_query_id"])
        self.notices.append(text)
        return True

    def _sendChatAction(self, parameters: dict[str, str]) -> Any:
        self.typed.append(int(parameters["chat_id"]))
        return True

    def _topic(self, chat: int, number: int) -> dict[str, Any]:
        topic = self.threads.get((chat, number))
        return {"message_thread_id": topic, "is_topic_message": True} if topic else {}

    def _numbered(self, chat: int, text: str) -> int:
        return next(number for number, each in self.chats[chat].items() if each == text)

    def _number(self) -> int:
        self._next_message += 1
        return self._next_message

    @contextlib.contextmanager
    def connected(self, connection: socket.socket) -> Any:
        """Know the connection while it is open."""
        with self._changed:
            self._sockets.add(connection)
        try:
            yield
        finally:
            with self._changed:
                self._sockets.discard(connection)


@contextlib.contextmanager
def quick_bot(monkeypatch: pytest.MonkeyPatch) -> Iterator[BotServer]:
    """A server with a short second, which this process knows; nothing may have come too early in the end."""
    monkeypatch.setattr(pace, "SECOND", QUICK)
    server = BotServer(QUICK).start()
    try:
        yield server
    finally:
        server.close()
    assert server.pace.refused == 0, "more was sent than Telegram takes"


def _buttons(parameters: dict[str, str]) -> list[tuple[str, str]]:
    """The labels and the data of the buttons; none where the request has no markup."""
    markup = json.loads(parameters.get("reply_markup", "{}"))
    buttons = [button for row in markup.get("inline_keyboard", []) for button in row]
    for button in buttons:
        if not 1 <= len(button["callback_data"].encode()) <= DATA_LIMIT:
            raise Refused(400, "Bad Request: BUTTON_DATA_INVALID")
    return [(button["text"], button["callback_data"]) for button in buttons]


def _checked(parameters: dict[str, str]) -> str:
    text = parameters.get("text", "").strip()
    if not text:
        raise Refused(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le")) // 2 > LIMIT:
        raise Refused(400, "Bad Request: message is too long")
    _check_entities(text, json.loads(parameters.get("entities", "[]")))
    return text


def _check_entities(text: str, entities: list[dict[str, Any]]) -> None:
    if len(entities) > MAX_ENTITIES:
        raise Refused(400, "more entities than Telegram shows")
    places = [(each["offset"], each["offset"] + each["length"], each["type"]) for each in entities]
    for begin, end, _ in places:
        if not 0 <= begin < end <= len(text.encode("utf-16-le")) // 2:
            raise Refused(400, "Bad Request: ENTITY_BOUNDS_INVALID")
        text.encode("utf-16-le")[2 * begin : 2 * end].decode("utf-16-le")  # no half of a character
    for begin, end, kind in places:
        within = [
            other for other in places if other != (begin, end, kind) and begin < other[1] and other[0] < end
        ]
        if kind in {"code", "pre"} and within:
            raise Refused(400, "Bad Request: code with other entities in it")


def _message(chat: int, number: int, text: str) -> dict[str, Any]:
    kind = "private" if chat > 0 else "supergroup"
    return {"message_id": number, "date": 0, "chat": {"id": chat, "type": kind}, "text": text}


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128  # connections that wait to be accepted: more are reset

    def __init__(self, bot: BotServer) -> None:
        self.bot = bot
        super().__init__(("127.0.0.1", 0), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        with self.bot.connected(request), contextlib.suppress(ConnectionError):
            super().finish_request(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        _, _, rest = unquote(self.path).partition("/file/bot")
        token, _, path = rest.partition("/")
        self._reply(token, "download", {"path": path})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        parameters = _parameters(body, self.headers.get("content-type", ""))
        _, _, rest = self.path.partition("/bot")
        token, _, method = rest.partition("/")
        self._reply(token, method, parameters)

    def _reply(self, token: str, method: str, parameters: dict[str, str]) -> None:
        try:
            result = self._result(token, method, parameters)
        except Refused as refused:
            self._send(refused.status, _error(refused))
        except ConnectionError:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._send(200, result if isinstance(result, bytes) else {"ok": True, "result": result})

    def _result(self, token: str, method: str, parameters: dict[str, str]) -> Any:
        if token != TOKEN:
            raise Refused(401, "Unauthorized")
        result, fault = self.server.bot.answer(method, parameters)
        if fault is not None:
            fault.act()
            raise ConnectionError("cut on demand")
        return result

    def _send(self, status: int, value: Any) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/octet-stream" if body is value else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the overridden method's name
        """Say nothing."""


def _parameters(body: bytes, content_type: str) -> dict[str, str]:
    """The fields of a form; of a file its name and its content, with a zero between them."""
    if not content_type.startswith("multipart/"):
        return {name: values[-1] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
    boundary = content_type.partition("boundary=")[2].strip('"').encode()
    fields: dict[str, str] = {}
    for part in body.split(b"--" + boundary)[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', head)
        file = re.search(rb'filename="([^"]*)"', head)
        assert name is not None, head
        before = f"{file[1].decode(errors='surrogateescape')}\0" if file else ""
        fields[name[1].decode()] = before + content.removesuffix(b"\r\n").decode(errors="surrogateescape")
    return fields


def _error(refused: Refused) -> dict[str, Any]:
    error: dict[str, Any] = {"ok": False, "error_code": refused.status, "description": refused.description}
    if refused.moved_to is not None:
        error["parameters"] = {"migrate_to_chat_id": refused.moved_to}
    if refused.retry_after is not None:
        error["parameters"] = {"retry_after": refused.retry_after}
    return error
