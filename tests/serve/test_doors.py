"""The web pages of a real process: who is let in, and what is refused."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import unescape
from signal import SIGKILL, SIGTERM
from typing import Any

import httpx
import pytest

from tests.home import Home
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

pytestmark = pytest.mark.slow

EVIL = "<script>alert(1)</script>\"'><img src=x>"
COMMAND = f"rm -r build # {EVIL}"
CLEAN = AskedCall("terminal", {"command": COMMAND})
SCRIPT = Script(rules=(Rule("Clean", (Answer(tool_calls=(CLEAN,)), Answer(text="Clean."))),))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def served(home: Home, port: int | None = None) -> Iterator[tuple[str, str]]:
    """A `serve` of the home: its address, and the link that it printed."""
    port = port or free_port()
    with home.start("serve", "--port", str(port)) as running:
        running.wait_for("sign-in?link=")
        link = running.err.partition("  http")[2].split()[0]
        yield f"http://127.0.0.1:{port}", f"http{link}"
        running.signal(SIGTERM)
        assert running.end().code == 0


@pytest.fixture
def site(home: Home) -> Iterator[tuple[str, str]]:
    with served(home) as (url, link):
        yield url, link


def signed_in(url: str, link: str) -> Any:
    client = httpx.Client(base_url=url, headers={"Accept": "text/html", "Connection": "close"}, timeout=60)
    assert client.get(link).status_code == 303
    return client


def fields(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the form with that action."""
    form = page.partition(f'method="post" action="{action}"')[2].partition("</form>")[0]
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form)
    return {name: unescape(value) for name, value in found}


def test_nobody_gets_in_without_a_cookie(site):
    url, _ = site
    for path in (
        "/",
        "/turns",
        "/sessions",
        "/memory",
        "/usage",
        "/queues",
        "/events",
        "/metrics",
        "/nosuch",
    ):
        assert httpx.get(url + path).status_code == 401, path
        assert httpx.get(url + path, headers={"Cookie": "hermes-jobs-5580=1.2.61.b"}).status_code == 401
    assert httpx.post(url + "/sessions", headers={"Origin": url}, data={"text": "Hi"}).status_code == 401
    assert httpx.get(url + "/turns", headers={"Accept": "text/html"}).headers["location"] == "/sign-in"
    assert httpx.get(url + "/healthz").text == "ok\n"
    assert httpx.get(url + "/readyz").text == "ready\n"


def test_a_link_signs_in_once_and_a_forged_one_never(site):
    url, link = site
    assert httpx.get(link[:-1] + ("0" if link[-1] != "0" else "1")).status_code == 403
    client = signed_in(url, link)
    assert client.get("/").status_code == 200
    assert httpx.get(link).status_code == 403
    cookie = httpx.get(url + "/").headers  # and a stranger gets no cookie
    assert "set-cookie" not in cookie


def test_the_cookie_is_for_this_site_alone_and_outlives_a_restart(home):
    port = free_port()
    with served(home, port) as (url, link):
        answer = httpx.get(link)
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
    sent = cookie.partition(";")[0]
    with served(home, port) as (url, _):
        assert httpx.get(url + "/turns", headers={"Cookie": sent}).status_code == 200
        assert httpx.get(url + "/turns", headers={"Cookie": sent[:-2] + "00"}).status_code == 401
        assert httpx.get(link).status_code == 403  # signed by the process before


def test_a_request_for_no_path_is_refused(site):
    url, _ = site
    host, port = url.removeprefix("http://").split(":")
    for asked in (b";", b"*", b"http://x/"):
        with socket.create_connection((host, int(port)), 30) as connection:
            connection.sendall(
                b"GET %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n" % (asked, host.encode(), port.encode())
            )
            assert connection.recv(100).split()[1] == b"400", asked


def test_other_hosts_and_other_origins_are_refused(site):
    url, link = site
    client = signed_in(url, link)
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
    page = client.get("/sessions").text
    form = {**fields(page, "/sessions"), "text": "Hi"}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert client.post("/sessions", headers=headers, data=form).status_code == 403, headers
    bad = {**form, "csrf": "0" * 64}
    assert client.post("/sessions", headers={"Origin": url}, data=bad).status_code == 403
    assert client.get("/turns").text.count("/turns/t") == 0
    assert client.post("/sessions", headers={"Origin": url}, data=form).status_code == 303


def test_large_bodies_are_refused_with_and_without_their_length(site):
    url, link = site
    client = signed_in(url, link)

    def parts() -> Iterator[bytes]:
        for _ in range(160):
            yield b"x" * 65_536

    headers = {"Origin": url, "Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/sessions", headers=headers, content=b"x" * 10_000_000).status_code == 413
    with suppress(httpx.WriteError):  # it may be refused before all of it was sent
        assert client.post("/sessions", headers=headers, content=parts()).status_code == 413
    assert client.get("/").status_code == 200


def test_no_page_runs_scripts_of_others(site):
    url, link = site
    client = signed_in(url, link)
    policy = client.get("/").headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "default-src 'none'" in policy
    for path in ("/sessions", "/schedules"):
        page = client.get(path, params={"q": EVIL, "sentence": EVIL}).text
        assert "<img src=x" not in page
        assert "<script>alert" not in page


def test_too_many_sign_ins_are_refused(site):
    url, _ = site
    codes = [
        httpx.post(url + "/sign-in", headers={"Origin": url}, data={"password": "x"}).status_code
        for _ in range(15)
    ]
    assert codes[:5] == [403] * 5
    assert codes[-1] == 429


def test_an_approval_is_bound_to_the_call_that_is_shown(home: Home, model_server: ModelServer):
    (home.work / "build").mkdir()
    model_server.follow(SCRIPT)
    with home.start("send", "Clean up.") as running:
        running.wait_for("Without an answer")
        running.signal(SIGKILL)
    with served(home) as (url, link):
        client = signed_in(url, link)
        page = client.get("/").text
        assert "(1) Waiting for you" in page
        assert "<img src=x" not in page
        assert "rm -r build" in page
        path = re.findall(r'action="(/turns/[^"]+/decide)"', page)[0]
        form, headers = fields(page, path), {"Origin": url}
        for wrong in ({"seal": "0" * 64}, {"call": "nosuch"}, {"answer": "everything"}):
            data = {"answer": "once", **form, **wrong}
            assert client.post(path, headers=headers, data=data).status_code == 409, wrong
        assert "(1) Waiting for you" in client.get("/").text
        turn = client.get(path.rpartition("/")[0]).text
        assert "<img src=x" not in turn
        assert client.post(path, headers=headers, data={"answer": "once", **form}).status_code == 303
        assert client.post(path, headers=headers, data={"answer": "once", **form}).status_code == 409
        assert "Nothing waits for you" in client.get("/").text
    with home.open_log() as log:
        given = [each.event for each in log.tail() if each.type == "ApprovalGiven"]
    assert [event.by[:4] for event in given] == ["web:"]  # type: ignore[attr-defined]


def test_other_addresses_need_a_password(home: Home):
    ran = home.run("serve", "--host", "0.0.0.0", "--port", str(free_port()))
    assert ran.code == 2
    assert "--set-password" in ran.err
    ran = home.run("open")
    assert ran.code == 2
    assert "hermes-jobs serve" in ran.err


def test_an_address_that_others_reach_is_served_with_a_warning(home: Home):
    """Given a password, it says what plain HTTP shows, unless a proxy with HTTPS is declared."""
    assert home.run("serve", "--set-password", stdin="correct horse battery\n" * 2).code == 0
    https = {"HERMES_JOBS_SERVE__PUBLIC_URL": "https://jobs.example.com"}
    for declared, expected in (
        ({}, ["plain HTTP"]),
        (https, []),
    ):
        with home.start("serve", "--host", "0.0.0.0", "--port", str(free_port()), **declared) as running:
            running.wait_for("Serving http")
            assert [text for text in ("plain HTTP",) if text in running.err] == expected
            running.signal(SIGTERM)


def test_only_the_proxy_that_knows_the_secret_names_who_is_signed_in(home: Home):
    home.environ["HERMES_JOBS_SERVE__TRUSTED_PROXY_HEADER"] = "X-User"
    refused = home.run("serve", "--port", str(free_port()))
    assert refused.code == 2
    assert "config set SERVE_PROXY_SECRET" in refused.err
    secret = "correct-horse-battery"
    assert home.run("config", "set", "SERVE_PROXY_SECRET", stdin=secret).code == 0
    with served(home) as (url, _):
        for given, status in ((None, 401), ("wrong", 401), (secret, 200)):
            headers = {"X-User": "anna"} | ({"X-Proxy-Secret": given} if given else {})
            assert httpx.get(f"{url}/turns", headers=headers, timeout=60).status_code == status
        assert httpx.get(f"{url}/turns", headers={"X-Proxy-Secret": secret}, timeout=60).status_code == 401


def test_a_password_signs_in_and_a_wrong_one_does_not(home: Home):
    password = "correct horse battery"
    assert "at least 12 characters" in home.run("serve", "--set-password", stdin="short\nshort\n").err
    assert home.run("serve", "--set-password", stdin=f"{password}\n" * 2).code == 0
    with served(home) as (url, _), httpx.Client(base_url=url, headers={"Origin": url}, timeout=60) as client:
        assert client.post("/sign-in", data={"password": "correct horse"}).status_code == 403
        assert client.get("/turns").status_code == 401
        assert client.post("/sign-in", data={"password": password}).status_code == 303
        assert client.get("/turns").status_code == 200
    assert home.files_holding(password) == []


def test_events_arrive_as_they_are_recorded_and_go_on_behind_the_last_one(home: Home):
    with served(home) as (url, link):
        client = signed_in(url, link)

        def next_event(lines: Iterator[str]) -> tuple[str, str]:
            number = next(line for line in lines if line.startswith("id:")).removeprefix("id: ")
            return number, next(line for line in lines if line.startswith("data:"))

        with client.stream("GET", "/events?after=0") as answer:
            home.run("memory", "add", "Likes tea")
            first, text = next_event(answer.iter_lines())
            assert "Likes tea" in text
        home.run("memory", "add", "Likes milk")
        with client.stream("GET", "/events", headers={"Last-Event-ID": first}) as answer:
            assert "Likes milk" in next_event(answer.iter_lines())[1]
