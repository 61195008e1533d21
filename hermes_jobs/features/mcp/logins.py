"""Logins at HTTP servers, by OAuth: a file in the home for each server and address, with mode 600.

Renewing or replacing a login requires the file's lock. An authorization server that rotates refresh tokens
may revoke all of a login's tokens when an old one is used again (RFC 9700, section 4.14.2): after getting
the lock a process reads the file again, and uses the tokens that another one has stored.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.file_lock import FileLock
from hermes_jobs.system.struct_types import described

LOCK_SECONDS = 90.0
"""Longer than the time limit of a renewal."""


class OauthClient(msgspec.Struct, frozen=True, kw_only=True):
    """The client that the authorization server knows; `method` is how it authenticates (RFC 7591)."""

    id: str
    secret: str = ""
    method: str = "none"


class Login(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A login at a server. `issuer` and the endpoints are its authorization server's.

    `resource` is the server as the authorization server knows it (RFC 8707), "" where it is not named.
    `expires_at`: when the access token ends, in seconds since the epoch; 0: not known. `ended`: why the login
    is no longer valid. `wanted`: scopes that were missing in a call. `tried_at` and `problem`: time and
    reason of the last failed renewal."""

    server: str
    url: str
    issuer: str
    token_endpoint: str
    client: OauthClient
    access_token: str
    revocation_endpoint: str = ""
    resource: str = ""
    refresh_token: str = ""
    expires_at: float = 0.0
    scope: str = ""
    ended: str = ""
    wanted: str = ""
    tried_at: float = 0.0
    problem: str = ""

    @property
    def tokens(self) -> tuple[str, ...]:
        """The secrets of the login."""
        return tuple(
            secret for secret in (self.access_token, self.refresh_token, self.client.secret) if secret
        )

    def expires_within(self, seconds: float) -> bool:
        """Whether the access token is known to expire in that time."""
        return 0 < self.expires_at < time.time() + seconds


def needed(server: str, reason: str) -> str:
    """The message about a server that requires a login."""
    return f"login needed: hermes-jobs mcp login {server} ({reason})"


class LoginFile:
    """The file of one login."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Login | None:
        """The login; None if it is missing or unreadable."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=described(Login))
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, login: Login) -> None:
        """Replace the login, durably: the old refresh token may be invalid. Raises `OSError`."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_bytes(self.path, msgspec.json.encode(login))

    def remove(self) -> None:
        """Forget the login. Raises `OSError`."""
        self.path.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the login's lock, across processes and threads. Raises `LockTimeout`, `OSError`."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(
            self.path.with_suffix(".lock"), "a login", notify=lambda _text: None, seconds=LOCK_SECONDS
        )
        try:
            with lock.hold():
                yield
        finally:
            lock.close()


class Logins:
    """The logins of a home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file_of(self, server: str, url: str) -> LoginFile:
        """The file for that server at that address: each address has its own login."""
        digest = sha256(url.encode()).hexdigest()[:16]
        return LoginFile(self._folder / f"{server}-{digest}.json")

    def remove(self, server: str) -> None:
        """Forget all logins at servers of that name. Raises `OSError`."""
        for path in self._folder.glob(f"{server}-{'[0-9a-f]' * 16}.*"):
            path.unlink(missing_ok=True)
