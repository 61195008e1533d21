"""Browsers that subscribe at a real `serve`, and what their push service is sent."""

from __future__ import annotations

import re
from pathlib import Path
from signal import SIGINT
from typing import Any

import pytest

from tests.features.push.push_service import PushService, unpadded
from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.serve.test_doors import served, signed_in
from tests.tools.support import wait_until

pytestmark = pytest.mark.slow

ASK = AskedCall("ask_user", {"question": "Which colour?", "choices": ["red", "green"]})


class Page:
    """An open page, and what its script sends."""

    def __init__(self, url: str, link: str) -> None:
        self.url = url
        self.client = signed_in(url, link)
        self.csrf = re.findall(r'id="push" hidden data-csrf="(\w+)"', self.client.get("/").text)[0]

    def post(self, path: str, fields: dict[str, str] | None = None, **headers: str) -> Any:
        data = {"csrf": self.csrf, **(fields or {})}
        return self.client.post(path, data=data, headers={"Origin": self.url, **headers})


def subscribed(home: Home, service: PushService, *names: str) -> list[str]:
    """The ids of new browsers of those names."""
    with served(home) as (url, link):
        page = Page(url, link)
        for name in names:
            service.browser(name)
        return [page.post("/push", service.fields(name)).json()["said"] for name in names]


def with_key(home: Home) -> Home:
    """The home, whose key is made by the first page that asks for it."""
    with served(home) as (url, link):
        assert Page(url, link).post("/push/key").status_code == 200
    return home


def test_a_subscribed_browser_is_notified_until_it_is_removed(home: Home, service: PushService) -> None:
    phone = service.browser("phone")
    with served(home) as (url, link):
        page = Page(url, link)
        key = page.post("/push/key").json()["said"]
        assert page.post("/push/key").json()["said"] == key
        browser = page.post("/push", service.fields("phone")).json()["said"]
        assert page.post("/push", service.fields("phone")).json()["said"] == browser
        assert f'data-browsers="{browser} "' in page.client.get("/").text
    (listed,) = home.run("push", "list", "--json").json
    assert (listed["browser"], listed["service"]) == (browser, service.origin.removeprefix("https://"))
    assert listed["by"].startswith("web:")

    assert home.run("push", "test").out == f"{browser}  sent\n"
    assert phone.shown[0]["text"] == "Notifications arrive in this browser."
    assert service.keys == {key}  # the one for which the browser subscribed

    phone.replies.append((503, {}))
    ran = home.run("push", "test")
    assert (ran.code, "answered 503" in ran.out, "7Jq2LnXw" in ran.out + ran.err) == (1, True, False)

    file = home.path / "push" / f"{browser}.json"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    for secret in ("phone-7Jq2LnXw", unpadded(phone.auth), unpadded(phone.public)):
        assert home.files_holding(secret) == [file]
    number = re.findall(r"PUSH_KEY=\W?(\w{64})", (home.path / ".env").read_text())[0]
    assert home.files_holding(number) == [home.path / ".env"]

    assert home.run("push", "remove", browser).code == 0
    assert not file.exists()
    ran = home.run("push", "test")
    assert ran.code == 2
    assert "Notify this browser" in ran.err
    assert home.run("push", "remove", browser).code == 2


def test_what_waits_and_answers_are_shown_with_the_page_of_the_turn(
    home: Home, service: PushService, model_server: ModelServer
) -> None:
    paint = Rule("Paint", (Answer(tool_calls=(ASK,)), Answer(text="\x01😀ä" * 2_000)))
    model_server.follow(Script(rules=(paint,)))
    subscribed(with_key(home), service, "phone")
    phone = service.browsers["phone"]
    assert home.run("send", "Paint it.", "--deliver", "push").code == 3
    (turn,) = home.run("turns", "list", "--json").json
    waits = {name: value for name, value in phone.shown[0].items() if name != "tag"}
    assert waits == {
        "title": "hermes-jobs",
        "text": "Waits for you: the agent asks.",
        "path": f"/turns/{turn['turn']}",
    }
    assert home.run("turns", "answer", turn["turn"], "green").code == 0
    home.run("turns", "wait", turn["turn"])
    assert phone.shown[1]["text"].startswith("\x01😀ä")
    assert phone.shown[1]["text"].endswith("…")


def test_a_busy_service_is_asked_again_and_those_that_were_reached_are_not(
    home: Home, service: PushService
) -> None:
    """Given two browsers, when the service of one answers 429, then that one alone is sent it again."""
    subscribed(with_key(home), service, "phone", "desk")
    phone, desk = service.browsers["phone"], service.browsers["desk"]
    desk.replies.extend([(429, {"retry-after": "0"}), (503, {})])
    home.send("Hello.", "--deliver", "push")
    assert (phone.attempts, len(phone.shown), len(desk.shown)) == (1, 1, 0)
    (delivery,) = home.run("inbox", "list", "--all", "--json").json
    assert delivery["status"] == "waiting"
    assert delivery["message"].endswith("answered 503.")
    assert "7Jq2LnXw" not in delivery["message"]  # the address is a secret
    with home.start("up", "--no-flower", "--no-beat") as up:
        wait_until(lambda: bool(desk.shown) or up.process.poll() is not None, "the next attempt")
        up.signal(SIGINT)
        up.end()
    assert (phone.attempts, len(phone.shown), len(desk.shown)) == (1, 1, 1)


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_is_over_is_removed(home: Home, service: PushService, status: int) -> None:
    phone, desk = subscribed(with_key(home), service, "phone", "desk")
    service.browsers["phone"].replies.append((status, {}))
    home.send("Hello.", "--deliver", "push")
    assert [each["browser"] for each in home.run("push", "list", "--json").json] == [desk]
    assert [each.name for each in (home.path / "push").iterdir()] == [f"{desk}.json"]
    (delivery,) = home.run("inbox", "list", "--all", "--json").json
    assert (delivery["status"], delivery["receipt"]) == ("sent", desk)
    events = home.run("log", "events", "--json").out
    assert re.search(rf'"browser": ?"{phone}", ?"by": ?"service"', events), events[-2000:]


def test_without_a_browser_the_delivery_says_what_to_do(home: Home) -> None:
    ran = home.run("send", "Hello.", "--deliver", "push")
    assert ran.code == 0
    assert "Warning: deliveries to push will fail: No browser is subscribed" in ran.err
    (delivery,) = home.run("inbox", "list", "--json").json
    assert delivery["message"].endswith("press “Notify this browser”.")
    assert home.run("send", "Hello.", "--deliver", "push:phone").code == 2


def test_only_the_page_subscribes_and_only_what_browsers_give(home: Home, service: PushService) -> None:
    service.browser("phone")
    good = service.fields("phone")
    with served(home) as (url, link):
        page = Page(url, link)
        assert page.post("/push", {**good, "csrf": "0" * 64}).status_code == 403
        assert page.post("/push", good, Origin="https://evil.example").status_code == 403
        for wrong in (
            {"endpoint": good["endpoint"].replace("https", "http")},
            {"endpoint": "https://anna:secret@127.0.0.1/push/phone"},
            {"endpoint": "https://127.0.0.1/" + "a" * 2_000},
            {"endpoint": "file:///etc/passwd"},
            {"p256dh": good["auth"]},
            {"auth": "Müde"},
        ):
            answer = page.post("/push", {**good, **wrong})
            assert answer.status_code == 409
            assert answer.json()["error"].startswith(("The address of a push", "The keys of the"))
        worker = page.client.get("/push-worker.js")
        assert worker.headers["content-type"].startswith("text/javascript")
        assert "worker-src 'self'" in worker.headers["content-security-policy"]
    assert home.run("push", "list", "--json").json == []


def test_services_inside_are_refused(tmp_path: Path, model_server: ModelServer, service: PushService) -> None:
    home = Home(tmp_path, endpoint(model_server.base_url))
    service.browser("phone")
    with served(home) as (url, link):
        page = Page(url, link)
        for host in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "localhost"):
            answer = page.post("/push", {**service.fields("phone"), "endpoint": f"https://{host}/push/phone"})
            assert answer.status_code == 409
            assert "is not at a public address" in answer.json()["error"]
    assert not list((home.path).glob("push/*"))
