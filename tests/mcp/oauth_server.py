"""An MCP server over HTTP that wants a login, and its authorization server: strict, and scripted by a test.

It refuses what the specifications tell it to refuse: a code without its PKCE verifier (RFC 7636), another
redirect URI than the registered one, another resource than itself (RFC 8707), a token for somebody else. It
rotates refresh tokens, and revokes all tokens of a login when an old one comes again (RFC 9700, 4.14.2).
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.server_thread import ServerThread

ONE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {
        "name": "echo",
        "description": "Say it again.",
        "inputSchema": ONE,
        "annotations": {"readOnlyHint": True},
    },
    {"name": "write", "description": "Write it.", "inputSchema": ONE, "annotations": {"readOnlyHint": True}},
    {"name": "token", "description": "The token.", "inputSchema": {"type": "object"}},
]
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class Refused(Exception):
    """An answer of the token endpoint with that error."""


@dataclass
class Family:
    """A login: its newest refresh token, and what it was granted."""

    client: str
    scope: str
    refresh: str = ""
    used: set[str] = field(default_factory=set)
    revoked: bool = False


@dataclass
class OauthServer:
    """What a test sets and sees. `lasts`: seconds that an access token lasts; `expired`: all until now have
    ended. `says` and `protects` change what is published of the two servers; `answers` is a status and a body
    in the place of tokens. `decision`: what the person at the browser decides. `pending`: answers before a
    device is let in.
    """

    url: str = ""
    issuer: str = ""
    lasts: int = 3600
    decision: str = "allow"
    registers: bool = True
    pkce: bool = True
    wrong_issuer: str = ""
    wrong_iss: str = ""
    down: bool = False
    rotates: bool = True
    pending: list[str] = field(default_factory=list)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    families: list[Family] = field(default_factory=list)
    tokens: dict[str, tuple[Family, float]] = field(default_factory=dict)
    refreshes: int = 0
    calls: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    says: dict[str, Any] = field(default_factory=dict)
    protects: dict[str, Any] = field(default_factory=dict)
    answers: tuple[int, bytes] | None = None
    hold: threading.Event | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def mcp(self) -> str:
        """The address of the MCP server."""
        return f"{self.url}/mcp"

    def expire(self) -> None:
        """End all access tokens."""
        with self.lock:
            self.tokens.clear()

    def revoke(self) -> None:
        """End all logins."""
        with self.lock:
            for family in self.families:
                family.revoked = True
            self.tokens.clear()

    # --- what it publishes ------------------------------------------------------------------------

    def resource_metadata(self) -> dict[str, Any]:
        return {
            "resource": self.mcp,
            "authorization_servers": [self.issuer],
            "scopes_supported": ["notes:read"],
            **self.protects,
        }

    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "issuer": self.wrong_issuer or self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "revocation_endpoint": f"{self.issuer}/revoke",
            "device_authorization_endpoint": f"{self.issuer}/device",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", DEVICE_GRANT],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.registers:
            found["registration_endpoint"] = f"{self.issuer}/register"
        if self.pkce:
            found["code_challenge_methods_supported"] = ["S256"]
        return {**found, **self.says}

    # --- what it grants ---------------------------------------------------------------------------

    def register(self, metadata: dict[str, Any]) -> dict[str, Any]:
        client = f"client-{len(self.clients)}"
        self.clients[client] = metadata
        return {**metadata, "client_id": client}

    def authorize(self, query: dict[str, str]) -> str:
        """The person's browser at the authorization endpoint; where it is sent back to."""
        client = self.clients[query["client_id"]]
        redirect = query["redirect_uri"]
        assert redirect in client["redirect_uris"], f"{redirect} is not registered"
        assert query["resource"] == self.mcp, query
        assert query["code_challenge_method"] == "S256"
        back = {"state": query["state"], "iss": self.wrong_iss or self.issuer}
        if self.decision != "allow":
            return f"{redirect}?{urlencode({**back, 'error': self.decision})}"
        code = secrets.token_urlsafe(8)
        self.codes[code] = query
        return f"{redirect}?{urlencode({**back, 'code': code})}"

    def device(self, form: dict[str, str]) -> dict[str, Any]:
        assert form["client_id"] in self.clients
        assert form["resource"] == self.mcp
        code = secrets.token_urlsafe(8)
        self.codes[code] = form
        told = {"device_code": code, "user_code": "WDJB-MJHT", "verification_uri": f"{self.url}/enter"}
        return {**told, "expires_in": 600, "interval": 1}

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        if form.get("resource") != self.mcp:
            raise Refused("invalid_target")
        match form["grant_type"]:
            case "refresh_token":
                return self._refreshed(form)
            case "authorization_code":
                asked = self.codes.pop(form["code"], None)
                if asked is None or asked["client_id"] != form["client_id"]:
                    raise Refused("invalid_grant")
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
                    raise Refused("invalid_grant")
            case _:
                assert form["grant_type"] == DEVICE_GRANT
                if self.pending:
                    raise Refused(self.pending.pop(0))
                asked = self.codes.pop(form["device_code"])
        family = Family(form["client_id"], asked.get("scope", ""))
        self.families.append(family)
        return self._granted(family)

    def _refreshed(self, form: dict[str, str]) -> dict[str, Any]:
        self.refreshes += 1
        if self.hold is not None:
            self.hold.wait(30)
        given = form["refresh_token"]
        for family in self.families:
            if given in family.used:  # somebody has an old one: nobody knows who is who
                family.revoked = True
                self.tokens = {name: each for name, each in self.tokens.items() if each[0] is not family}
        family = next((each for each in self.families if each.refresh == given), Family("", ""))
        if family.revoked or family.client != form["client_id"]:
            raise Refused("invalid_grant")
        return self._granted(family)

    def _granted(self, family: Family) -> dict[str, Any]:
        token = f"access-{secrets.token_urlsafe(12)}"
        self.tokens[token] = (family, time.time() + self.lasts)
        granted = {"access_token": token, "token_type": "bearer", "expires_in": self.lasts}
        if self.rotates or not family.refresh:
            family.used.add(family.refresh)
            family.refresh = granted["refresh_token"] = f"refresh-{secrets.token_urlsafe(12)}"
        return {**granted, "scope": family.scope}

    # --- the MCP server ---------------------------------------------------------------------------

    def scope_of(self, header: str) -> str | None:
        """What a request's token was granted; None: it is not valid."""
        family, until = self.tokens.get(header.removeprefix("Bearer "), (Family("", ""), 0.0))
        return family.scope if until > time.time() else None

    def answer(self, message: dict[str, Any], header: str) -> dict[str, Any]:
        params = message.get("params") or {}
        match message["method"]:
            case "initialize":
                about = {"name": "notes", "version": "1"}
                version = "2025-11-25"
                return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
            case "tools/list":
                return {"tools": TOOLS}
            case "tools/call":
                self.calls.append(params["name"])
                text = header if params["name"] == "token" else params["arguments"]["text"]
                return {"content": [{"type": "text", "text": text}]}
            case _:
                raise KeyError(message["method"])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        oauth, url = self.server.oauth, urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        match url.path:
            case "/.well-known/oauth-protected-resource/mcp":
                self._send(200, oauth.resource_metadata())
            case "/.well-known/oauth-authorization-server/issuer":
                self._send(200, oauth.metadata())
            case "/issuer/authorize":
                self._send(302, {}, Location=oauth.authorize(query))
            case _:
                self._send(404 if url.path != "/mcp" else 405, {})

    def do_POST(self) -> None:
        oauth = self.server.oauth
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/mcp":
            self._mcp(json.loads(body))
            return
        if self.path == "/issuer/register":
            with oauth.lock:
                self._send(201, oauth.register(json.loads(body)))
            return
        if self.path not in {"/issuer/token", "/issuer/device", "/issuer/revoke"}:
            self._send(404, {})
            return
        self._form({name: values[0] for name, values in parse_qs(body.decode()).items()})

    def _form(self, form: dict[str, str]) -> None:
        oauth = self.server.oauth
        oauth.asked.append(self.path)
        if oauth.down:
            self._send(503, {})
            return
        if oauth.answers is not None and self.path == "/issuer/token":
            self._send_bytes(*oauth.answers)
            return
        client = oauth.clients.get(form["client_id"], {})
        if client.get("secret"):
            pair = base64.b64encode(f"{form['client_id']}:{client['secret']}".encode()).decode()
            if self.headers["Authorization"] != f"Basic {pair}":
                self._send(401, {"error": "invalid_client"})
                return
        try:
            with oauth.lock:
                match self.path:
                    case "/issuer/token":
                        self._send(200, oauth.token(form))
                    case "/issuer/device":
                        self._send(200, oauth.device(form))
                    case _:
                        assert self.path == "/issuer/revoke"
                        oauth.revoke()
                        self._send(200, {})
        except Refused as refused:
            self._send(400, {"error": str(refused)})

    def _mcp(self, message: dict[str, Any]) -> None:
        oauth, header = self.server.oauth, self.headers.get("Authorization", "")
        scope = oauth.scope_of(header)
        metadata = f'resource_metadata="{oauth.url}/.well-known/oauth-protected-resource/mcp"'
        if scope is None:
            self._send(401, {}, **{"WWW-Authenticate": f"Bearer {metadata}"})
        elif message.get("params", {}).get("name") == "write" and "notes:write" not in scope.split():
            lacks = 'error="insufficient_scope", scope="notes:write"'
            self._send(403, {}, **{"WWW-Authenticate": f"Bearer {lacks}, {metadata}"})
        elif "id" not in message:
            self._send(202, None)
        else:
            try:
                self._send(
                    200, {"jsonrpc": "2.0", "id": message["id"], "result": oauth.answer(message, header)}
                )
            except KeyError:
                error = {"code": -32601, "message": f"no {message['method']}"}
                self._send(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _send(self, status: int, value: Any, **headers: str) -> None:
        self._send_bytes(status, b"" if value is None else json.dumps(value).encode(), **headers)

    def _send_bytes(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, each in headers.items():
            self.send_header(name, each)
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    oauth: OauthServer


@contextmanager
def oauth_server() -> Iterator[OauthServer]:
    """Both servers, at one port."""
    server = _Server(("127.0.0.1", 0), _Handler)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    server.oauth = OauthServer(url=url, issuer=f"{url}/issuer")
    with ServerThread(server):
        yield server.oauth


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: object) -> None:
        return None


def browse(address: str) -> str:
    """A person's browser that opens the address; where it is sent to."""
    try:
        urllib.request.build_opener(_NoRedirect).open(address, timeout=30)
    except urllib.error.HTTPError as answer:
        if answer.code == 302:
            return str(answer.headers["Location"])
        raise
    raise AssertionError("it was not sent anywhere")


def visit(address: str) -> str:
    """A page that the browser shows."""
    with urllib.request.urlopen(address, timeout=30) as page:
        return str(page.read().decode())
