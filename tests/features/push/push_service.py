"""A push service on loopback, over HTTPS: it refuses what RFC 8030, 8291 and 8292 do not allow, and decrypts
what it is sent with the keys of its browsers.

The decryption is written from the RFCs, beside the product's encryption, and shares no code with it.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import json
import re
import ssl
import time
from collections import deque
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.x509.oid import NameOID

from tests.home import Home, endpoint
from tests.server_thread import ServerThread

DAY = 86_400
POINT = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def unpadded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def padded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Browser:
    """A browser's keys. `replies`: what its push service answers next, before 201s. `shown`: what it got."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.public = self.private.public_key().public_bytes(*POINT)
        self.auth = name.encode().ljust(16, b"\0")
        self.replies: deque[tuple[int, dict[str, str]]] = deque()
        self.shown: list[dict[str, Any]] = []
        self.attempts = 0

    def decrypted(self, body: bytes) -> bytes:
        """The text of a body in `aes128gcm`: RFC 8188, section 2, and RFC 8291, section 3.4."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, record = body[21 : 21 + length], body[21 + length :]
        assert len(body) <= 4_096
        assert len(record) <= size
        shared = self.private.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        )
        key = _hkdf(self.auth, shared, b"WebPush: info\0" + self.public + sender, 32)
        plain = AESGCM(_hkdf(salt, key, b"Content-Encoding: aes128gcm\0", 16)).decrypt(
            _hkdf(salt, key, b"Content-Encoding: nonce\0", 12), record, None
        )
        text, delimiter, padding = plain.rpartition(b"\2")
        assert delimiter
        assert not padding.strip(b"\0")
        return text


def _hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, info + b"\1", "sha256")[:length]


class PushService:
    """Answers 201 to what is right. `problems`: what was not; `keys`: of those who have sent."""

    def __init__(self, folder: Path) -> None:
        self.certificate = folder / "push-service.pem"
        self.browsers: dict[str, Browser] = {}
        self.problems: list[str] = []
        self.keys: set[str] = set()
        self._http = _Http(self)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_self_signed(self.certificate))
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = ServerThread(self._http, "push service")

    def home(self, folder: Path, base_url: str) -> Home:
        """A home that trusts its certificate, and may reach this machine."""
        trusting = {"SSL_CERT_FILE": str(self.certificate), "HERMES_JOBS_WEB__ALLOW_PRIVATE": "true"}
        return Home(folder, {**endpoint(base_url), **trusting})

    @property
    def origin(self) -> str:
        return f"https://127.0.0.1:{self._http.server_address[1]}"

    def browser(self, name: str) -> Browser:
        """A new browser."""
        self.browsers[name] = Browser(name)
        return self.browsers[name]

    def fields(self, name: str) -> dict[str, str]:
        """What the browser gives to a page that subscribes it."""
        browser = self.browsers[name]
        return {
            "endpoint": f"{self.origin}/push/{name}-7Jq2LnXw",
            "p256dh": unpadded(browser.public),
            "auth": unpadded(browser.auth),
        }

    def __enter__(self) -> PushService:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._thread.close()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        """The answer to a request."""
        browser = self.browsers[path.removeprefix("/push/").partition("-")[0]]
        browser.attempts += 1
        try:
            self._check(headers)
            text = browser.decrypted(body)
        except Exception as error:  # noqa: BLE001 - the test reports each
            self.problems.append(repr(error))
            return 400, {}
        status, more = browser.replies.popleft() if browser.replies else (201, {})
        if status == 201:
            browser.shown.append(json.loads(text))
        return status, more

    def _check(self, headers: dict[str, str]) -> None:
        assert re.fullmatch(r"\d+", headers["ttl"])  # RFC 8030, section 5.2
        assert headers["content-encoding"] == "aes128gcm"  # RFC 8291, section 4
        assert headers["urgency"] in {"very-low", "low", "normal", "high"}  # RFC 8030, section 5.3
        signed = re.fullmatch(
            r"vapid t=([^ ,]+), ?k=([\w-]+)", headers["authorization"]
        )  # RFC 8292, section 3
        assert signed, headers["authorization"]
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), padded(signed[2]))
        required: Any = {"require": ["aud", "exp", "sub"]}
        claims = jwt.decode(signed[1], public, ["ES256"], audience=self.origin, options=required)
        assert 0 < claims["exp"] - time.time() <= DAY
        assert re.match(r"mailto:.+@|https://", claims["sub"])
        self.keys.add(signed[2])


class _Http(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, service: PushService) -> None:
        self.service = service
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_request: object) -> None:
        """Say nothing of a client that does not trust the certificate."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, more = self.server.service.take(self.path, headers, body)
        with contextlib.suppress(ConnectionError):
            self.send_response(status)
            for name, value in {"content-length": "0", **more}.items():
                self.send_header(name, value)
            self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the overridden method's name
        """Say nothing."""


def _self_signed(path: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=12))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(built.public_bytes(serialization.Encoding.PEM) + pem)
    return path
