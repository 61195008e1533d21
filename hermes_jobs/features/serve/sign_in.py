"""Who asks: links that work once, cookies, passwords, and the names that a proxy gives.

A link is signed with a key that the running process keeps in `run/serve.json` (mode 600): who can read that
file may sign in. A cookie is signed with `run/serve.key`, so that it outlives a restart (ADR 168).
"""

from __future__ import annotations

import getpass
import hashlib
import hmac
import os
import secrets
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.struct_types import described

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from hermes_jobs.settings import Paths
    from hermes_jobs.settings.sections.processes import ServeSettings

LINK_SECONDS = 300
SECRET_HEADER = "X-Proxy-Secret"
"""The header in which the proxy that signs people in proves that it is it."""
COOKIE_SECONDS = 30 * 86_400


class Caller(NamedTuple):
    """Who asks. `name`: as it stands in events, such as `web:anna`. `csrf`: the token that every form of a
    browser carries; empty for a program with a key of its own."""

    name: str
    csrf: str = ""


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The running process, as `open` finds it. `key` signs links."""

    pid: int
    url: str
    key: str

    @classmethod
    def begin(cls, url: str) -> Running:
        """This process."""
        return cls(pid=os.getpid(), url=url, key=secrets.token_hex(32))

    def link(self) -> str:
        """A new link that signs in once."""
        fields = f"{int(time.time()) + LINK_SECONDS}.{secrets.token_hex(12)}"
        return f"{self.url}/sign-in?link={fields}.{_mac(self.key.encode(), 'link', fields)}"

    def publish(self, paths: Paths) -> None:
        """Write its file."""
        write_bytes(_state_file(paths), msgspec.json.encode(self), durable=False)

    def withdraw(self, paths: Paths) -> None:
        """Remove its file, unless another process has written one."""
        if read_running(paths) == self:
            _state_file(paths).unlink(missing_ok=True)


def read_running(paths: Paths) -> Running | None:
    """The process that serves this home, if one does."""
    try:
        running = msgspec.json.decode(_state_file(paths).read_bytes(), type=described(Running))
        os.kill(running.pid, 0)
    except (OSError, msgspec.MsgspecError):
        return None
    return running


class SignIn:
    """Signs browsers in, and says who asks."""

    def __init__(
        self,
        paths: Paths,
        running: Running,
        settings: ServeSettings,
        password_hash: str | None,
        proxy_secret: str | None,
    ) -> None:
        self._key = _lasting_key(paths.run / "serve.key")
        self._running = running
        self._settings = settings
        self._hash = password_hash
        self._proxy_secret = proxy_secret
        self._used: dict[str, int] = {}  # links by when they end
        self._lock = threading.Lock()
        self.cookie = f"hermes-jobs-{settings.port}"  # browsers share cookies among ports
        self.takes_password = password_hash is not None

    def use_link(self, link: str) -> str | None:
        """The value of a cookie, if the link is good and was not used before."""
        fields, _, mac = link.rpartition(".")
        ends, _, nonce = fields.partition(".")
        if not _same(mac, _mac(self._running.key.encode(), "link", fields)) or int(ends) < time.time():
            return None
        with self._lock:
            self._used = {used: until for used, until in self._used.items() if until >= time.time()}
            if nonce in self._used:
                return None
            self._used[nonce] = int(ends)
        return self._cookie(getpass.getuser())

    def use_password(self, password: str) -> str | None:
        """The value of a cookie, if the password is right. Takes a tenth of a second."""
        from argon2 import PasswordHasher
        from argon2.exceptions import Argon2Error, InvalidHashError

        try:
            PasswordHasher().verify(self._hash or "", password)
        except (Argon2Error, InvalidHashError):
            return None
        return self._cookie(getpass.getuser())

    def caller(self, cookie: str | None, headers: Headers) -> Caller | None:
        """The person of the cookie, or of the proxy's header beside its secret; None for nobody."""
        header, secret = self._settings.trusted_proxy_header, self._proxy_secret
        is_proxy = header and secret and _same(headers.get(SECRET_HEADER, ""), secret)
        if header and is_proxy and (name := headers.get(header)):
            return Caller(f"web:{name}", _mac(self._key, "csrf", f"proxy {name}"))
        fields, _, mac = (cookie or "").rpartition(".")
        if not fields or not _same(mac, _mac(self._key, "cookie", fields)):
            return None
        ends, _nonce, name = fields.split(".", 2)
        if int(ends) < time.time():
            return None
        return Caller(f"web:{bytes.fromhex(name).decode()}", _mac(self._key, "csrf", fields))

    def seal(self, *shown: str) -> str:
        """A mark that a form carries of what it shows: nobody else can make it."""
        return _mac(self._key, "seal", msgspec.json.encode(shown).decode())

    def _cookie(self, name: str) -> str:
        fields = f"{int(time.time()) + COOKIE_SECONDS}.{secrets.token_hex(12)}.{name.encode().hex()}"
        return f"{fields}.{_mac(self._key, 'cookie', fields)}"


def _state_file(paths: Paths) -> Path:
    return paths.run / "serve.json"


def _mac(key: bytes, purpose: str, text: str) -> str:
    return hmac.new(key, f"{purpose}\0{text}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _same(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode())


def _lasting_key(path: Path) -> bytes:
    """The key in that file, which is made where it is missing."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
        if len(key) == 32:
            return key
        path.unlink()
        return _lasting_key(path)
    with os.fdopen(file, "wb") as opened:
        opened.write(key := secrets.token_bytes(32))
    return key
