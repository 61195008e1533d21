"""What programs are refused, and how it is said: keys, scopes, budgets, bodies, and other keys' turns."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from tests.api.door import Door, opened

pytestmark = pytest.mark.slow
CHAT = {"messages": [{"role": "user", "content": "Hi"}]}


def error_of(answer: httpx.Response) -> Any:
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert error["message"]
    return error


def test_no_key_a_wrong_one_and_a_revoked_one_are_refused_at_once(door: Door) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer hj-wrong"},
        {"Authorization": "Basic hj-wrong"},
        {"Authorization": f"Bearer {door.key}x"},
        {"Authorization": b"Bearer \xe4"},
    ):
        for path in ("/v1/models", "/api/turns", "/openapi.json", "/events", "/metrics", "/v1/nosuch"):
            answer = httpx.get(door.url + path, headers=headers)
            assert (answer.status_code, error_of(answer)["code"]) == (401, "invalid_api_key"), path
    key = door.add_key("short-lived")
    with door.http(key) as http:
        assert http.get("/v1/models").status_code == 200
        assert door.home.run("keys", "revoke", "short-lived").code == 0
        assert http.get("/v1/models").status_code == 401
        assert http.post("/v1/chat/completions", json=CHAT).status_code == 401


def test_each_scope_allows_what_it_says_and_others_turns_are_hidden(door: Door) -> None:
    reads, manages, other = (
        door.add_key("reads", "--scope", "read"),
        door.add_key("m", "--scope", "manage"),
        "",
    )
    other = door.add_key("other")
    with door.http() as own:
        turn = own.post("/v1/chat/completions", json=CHAT).headers["x-hermes-turn"]
        session = own.get(f"/api/turns/{turn}").json()["session"]
        assert own.get("/api/turns").status_code == 403
        assert own.post(f"/api/turns/{turn}/cancel").json()["error"]["code"] == "already_ended"
        assert own.get("/events").status_code == own.get("/metrics").status_code == 401
    with door.http(other) as http:
        for path in (f"/api/turns/{turn}", f"/api/turns/{turn}/waiting", f"/v1/responses/resp_{turn}"):
            assert http.get(path).status_code == 404, path
        for header in ({"X-Hermes-Session": session}, {"X-Hermes-Session": session[:8]}):
            assert http.post("/v1/chat/completions", json=CHAT, headers=header).status_code == 404
        taken = {"input": "Hi", "previous_response_id": f"resp_{turn}"}
        assert http.post("/v1/responses", json=taken).status_code == 404
        assert http.post("/api/turns", json={"text": "Hi", "session": session}).status_code == 404
        assert http.post(f"/api/turns/{turn}/approve", json={"call": "x"}).status_code == 403
    with door.http(reads) as http:
        for path in (
            "/api/turns",
            f"/api/turns/{turn}",
            "/api/sessions",
            f"/api/sessions/{session}/messages",
        ):
            assert http.get(path).status_code == 200, path
        for path in ("/api/schedules", "/api/usage?by=model", "/api/queues", "/api/memory", "/metrics"):
            assert http.get(path).status_code == 200, path
        assert http.get("/api/search", params={"q": "Hi"}).json()
        assert http.post("/v1/chat/completions", json=CHAT).status_code == 403
        assert error_of(http.post(f"/api/turns/{turn}/cancel"))["code"] == "scope"
        assert http.post(f"/api/sessions/{session}/rename", json={"title": "T"}).status_code == 403
    with door.http(manages) as http:
        assert http.post(f"/api/sessions/{session}/rename", json={"title": "Mine"}).json()["title"] == "Mine"
        added = http.post("/api/schedules", json={"when": "every day at 9", "task": "Look."}).json()
        for act in ("pause", "resume", "remove"):
            assert http.post(f"/api/schedules/{added['schedule']}/{act}").status_code == 200, act


def test_a_browser_cannot_post_here_and_its_cookie_reads(door: Door) -> None:
    link = door.home.run("open", "--print").out.strip()
    with httpx.Client(base_url=door.url, timeout=60) as browser:
        assert browser.get(link).status_code == 303
        assert browser.get("/v1/models").status_code == 200
        for headers in ({}, {"Origin": door.url}, {"Origin": "http://evil.example"}):
            refused = browser.post("/v1/chat/completions", json=CHAT, headers=headers)
            assert (refused.status_code, error_of(refused)["type"]) == (403, "permission_error")
        with_key = {"Authorization": "Bearer hj-wrong"}
        assert browser.get("/v1/models", headers=with_key).status_code == 401


def test_bodies_that_are_wrong_or_huge_are_refused_and_nothing_is_recorded(door: Door) -> None:
    before = len(door.home.run("turns", "list", "--json", "-n", "500").json)
    with door.http() as http:
        for body in (
            b"", b"{", b"[]", b"null", b'{"messages": []}', b'{"messages": [{"role": "user"}]}', b"\xff",
            b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
            b'{"messages": [{"role": "assistant", "content": "Hi"}]}',
            b'{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function"}]}',
            b'{"messages": [{"role": "user", "content": "Hi"}], "n": 2}',
            b'{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}',
            b'{"messages": ' + b"[" * 50_000,
        ):  # fmt: skip
            answer = http.post("/v1/chat/completions", content=body)
            assert answer.status_code == 400, (body[:80], answer.text)
            assert error_of(answer)["type"] == "invalid_request_error"
        large = {"messages": [{"role": "user", "content": "x" * 10_000_000}]}
        assert http.post("/v1/chat/completions", json=large).status_code == 400
        assert http.post("/v1/chat/completions", content=b"x" * 41_000_000).status_code == 413
        assert http.put("/v1/models").status_code == 405
        assert error_of(http.get("/v1/nosuch"))["code"] == "not_found"
    stranger = httpx.post(f"{door.url}/v1/chat/completions", content=b"x" * 10_000_000)
    assert stranger.status_code == 401
    assert len(door.home.run("turns", "list", "--json", "-n", "500").json) == before


def test_huge_headers_are_refused_and_others_are_served(door: Door) -> None:
    host = door.url.removeprefix("http://")
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port))) as raw, suppress(ConnectionError):
        raw.sendall(f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nX-Long: {'a' * 2_000_000}\r\n\r\n".encode())
        assert b" 400 " in raw.recv(100)
    with door.http() as http:
        assert http.get("/v1/models", headers={"Host": "evil.example"}).status_code == 421
        assert http.get("/v1/models").status_code == 200


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    prices = '{"scripted": {"input": 1.0, "output": 1.0}}'
    with opened(tmp_path_factory.mktemp("priced"), HERMES_JOBS_MODELS__PRICES=prices) as door:
        yield door


def test_a_key_spends_no_more_than_its_budget(priced: Door) -> None:
    door = priced
    key = door.add_key("poor", "--budget", "0.02")
    with door.http(key) as http:
        answers = [http.post("/v1/chat/completions", json=CHAT) for _ in range(8)]
        statuses = [answer.status_code for answer in answers]
        assert statuses[0] == 200
        assert statuses[-1] == 429, statuses
        assert error_of(answers[-1])["code"] == "insufficient_quota"
        assert "another key" in error_of(answers[-1])["message"]
    (poor,) = [each for each in door.home.run("keys", "list", "--json").json if each["key"] == "poor"]
    assert 0 < poor["spent_usd"] <= 0.02
    link = door.home.run("open", "--print").out.strip()
    with httpx.Client(base_url=door.url, timeout=60) as browser:
        assert browser.get(link).status_code == 303
        page = browser.get("/", headers={"Accept": "text/html"}).text
        assert "of the budget of the key poor for this month is used up" in page
        assert "hermes-jobs keys edit poor --budget USD" in page
    assert door.home.run("keys", "edit", "poor", "--budget", "5").code == 0
    with door.http(key) as http:
        assert http.post("/v1/chat/completions", json=CHAT).status_code == 200
    with door.http() as http:
        assert http.post("/v1/chat/completions", json=CHAT).status_code == 200
    spent = {each["key"]: each["spent_usd"] for each in door.home.run("keys", "list", "--json").json}
    assert spent["poor"] > poor["spent_usd"]
    assert spent["prog"] > 0, "also without a budget, it is known what a key has spent"
    assert door.home.run("log", "events", "verify").code == 0
