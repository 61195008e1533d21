"""What strangers, slow clients, other users of the machine and HTML in texts can do to the pages: nothing."""

from __future__ import annotations

import socket
import stat
from collections import Counter
from contextlib import ExitStack

import httpx
import pytest

from tests.home import Home
from tests.model_server import ModelServer
from tests.serve.test_doors import EVIL, fields, served, signed_in

pytestmark = pytest.mark.slow

SMUGGLED = "GET /memory HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"
UNCLEAR = (
    "Content-Length: 4\r\nContent-Length: 5",
    "Content-Length: 4\r\nTransfer-Encoding: chunked",
    "Content-Length: +4",
    "Transfer-Encoding: chunked, identity",
    "Content-Length: 4\r\n folded: yes",
    f"X-Large: {'x' * 70_000}",
)
"""Headers on whose meaning two servers may differ."""


def answer_of(url: str, sent: str) -> str:
    """All that comes back until the server closes, or is silent."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        received = b""
        try:
            connection.sendall(sent.encode())
            while part := connection.recv(65_536):
                received += part
        except OSError:  # refused before all of it was sent, or silent
            pass
        return received.decode(errors="replace")


def test_strangers_and_slow_clients_get_nothing(home: Home, model_server: ModelServer) -> None:
    with served(home) as (url, link), ExitStack() as stack:
        client = signed_in(url, link)
        host = url.removeprefix("http://")
        for name in ("serve.json", "serve.key"):  # who can read these may sign in
            assert stat.S_IMODE((home.path / "run" / name).stat().st_mode) == 0o600, name

        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        for headers in UNCLEAR:
            inner = SMUGGLED.format(host=host, cookie=cookie)
            outer = f"POST /sign-out HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n\r\n"
            answer = answer_of(url, f"{outer}abcd{inner}")
            assert "Memory" not in answer, headers
            assert answer[:12] in {"", "HTTP/1.1 400", "HTTP/1.1 401", "HTTP/1.1 431"}, headers

        for number in range(100):  # half a request each
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
            )
            part = (
                "GET /turns HT"
                if number % 2
                else f"POST /sign-in HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n"
            )
            connection.sendall(part.encode())
        assert client.get("/turns").status_code == 200

        broken = {"Origin": url, "Content-Type": "multipart/form-data; boundary=x"}
        assert client.post("/sessions", headers=broken, content=b"--x\r\nno").status_code in {400, 403}
        form = fields(client.get("/sessions").text, "/sessions")
        for file, why in (
            (("empty.png", b""), "is empty"),
            (("a.zip", b"PK\x03\x04" + b"\0" * 60), "a.zip"),
            (("large.txt", b"x" * 1_000_001), "of text; a message may have"),
        ):
            refused = client.post(
                "/sessions", headers={"Origin": url}, data={**form, "text": "Hi"}, files={"file": file}
            )
            assert refused.status_code == 409, file[0]
            assert why in refused.text, file[0]
        large = {"file": ("large.png", b"\x89PNG" + b"x" * 30_000_000)}
        assert client.post("/sessions", headers={"Origin": url}, data=form, files=large).status_code == 413
        assert client.get("/turns").text.count('href="/turns/t') == 0, "nothing was sent"


def test_hundreds_of_wrong_passwords_are_hardly_tried(home: Home) -> None:
    assert home.run("serve", "--set-password", stdin="correct horse battery\n" * 2).code == 0
    with served(home) as (url, _), httpx.Client(base_url=url, headers={"Origin": url}, timeout=60) as client:
        codes = Counter(
            client.post("/sign-in", data={"password": f"x{number}"}).status_code for number in range(300)
        )
    assert set(codes) == {403, 429}
    assert codes[403] <= 40, "ten in each minute that this took"


def test_html_in_every_field_stays_text(home: Home, model_server: ModelServer) -> None:
    acts = (
        ("/sessions", "/sessions", {"text": EVIL}, {"file": (f"{EVIL}.txt".replace("/", ""), EVIL.encode())}),
        ("/memory", "/memory", {"text": f"Likes {EVIL}", "target": "user", "act": "add"}, None),
        (
            "/schedules?sentence=every+day+at+9+tea",
            "/schedules",
            {"when": "every day at 9", "task": EVIL, "name": EVIL},
            None,
        ),
        ("/memory", "/memory", {"text": EVIL, "target": EVIL, "act": EVIL, "number": EVIL}, None),
        ("/memory", "/memory", {"act": "undo", "number": EVIL}, None),
    )
    with served(home) as (url, link):
        client = signed_in(url, link)
        for page, action, data, files in acts:
            form = fields(client.get(page).text, action)
            answer = client.post(action, headers={"Origin": url}, data={**form, **data}, files=files)
            assert answer.status_code in {303, 409}, data
            _assert_is_text(answer.text)
        (turn,) = home.run("turns", "list", "--json").json
        (schedule,) = home.run("schedule", "list", "--json").json
        for path in (
            "/",
            "/turns",
            f"/turns/{turn['turn']}",
            "/sessions",
            f"/sessions/{turn['session']}",
            "/schedules",
            f"/schedules/{schedule['schedule']}",
            "/memory?why=1",
            "/skills",
            "/reviews",
            "/inbox",
            "/triggers",
            "/usage",
            "/queues",
        ):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert "Signed in as <code>web:" in answer.text, path
            _assert_is_text(answer.text)


def _assert_is_text(page: str) -> None:
    assert "<img src=x" not in page
    assert "<script>alert" not in page
