"""“Notify this browser” in a real Chromium, on loopback.

Chromium's own push service is out of reach: what `PushManager.subscribe` would return is put in its place,
with keys of the test's own. All else is real: the page's script, its service worker, `serve`, the sending.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.features.push.push_service import PushService
from tests.home import PATIENCE, Home
from tests.model_server import ModelServer
from tests.serve.test_doors import served

pytestmark = pytest.mark.slow

IN_ITS_PLACE = """
(() => {
  let now = null;
  const given = FIELDS;
  PushManager.prototype.subscribe = async function (options) {
    window.wanted = options;
    now = { endpoint: given.endpoint, toJSON: () => ({ endpoint: given.endpoint, keys: given }),
            unsubscribe: async () => { now = null; return true; } };
    return now;
  };
  PushManager.prototype.getSubscription = async () => now;
})();
"""
FIRST = "0"
"""Chromium's id of the first service worker of a new profile."""
SHOWN = """
const done = arguments[0];
navigator.serviceWorker.ready.then(worker => worker.getNotifications()).then(
  all => done(all.map(each => ({ title: each.title, body: each.body, tag: each.tag, data: each.data }))));
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[PushService]:
    with PushService(tmp_path) as service:
        yield service
        assert service.problems == []


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer, service: PushService) -> Home:
    return service.home(tmp_path, model_server.base_url)


def button(browser: Chrome) -> Any:
    """The button, once the script shows it."""
    waiting = WebDriverWait(browser, PATIENCE)
    waiting.until(lambda page: page.find_element(By.ID, "push").is_displayed())
    return browser.find_element(By.CSS_SELECTOR, "#push button")


def said(browser: Chrome, text: str) -> None:
    """Wait until the page says that beside the button."""

    def says(page: Chrome) -> bool:
        return text in page.find_element(By.CSS_SELECTOR, "#push [role=status]").text

    WebDriverWait(browser, PATIENCE).until(says)


def test_a_click_subscribes_the_browser_and_its_worker_shows_what_arrives(
    home: Home, service: PushService, browser: Chrome
) -> None:
    """Given a page on loopback, when its button is clicked, then its worker shows a test notification."""
    phone = service.browser("phone")
    fields = json.dumps(service.fields("phone"))
    browser.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": IN_ITS_PLACE.replace("FIELDS", fields)}
    )
    with served(home) as (url, link):
        granted = {"origin": url, "permissions": ["notifications"]}
        browser.execute_cdp_cmd("Browser.grantPermissions", granted)
        browser.execute_cdp_cmd("ServiceWorker.enable", {})
        browser.get(link)
        assert button(browser).text == "Notify this browser"
        button(browser).click()
        said(browser, "This browser is notified")
        assert button(browser).text == "Stop notifying this browser"
        wanted = browser.execute_script("return window.wanted")
        assert wanted["userVisibleOnly"] is True

        (listed,) = home.run("push", "list", "--json").json
        assert home.run("push", "test").out == f"{listed['browser']}  sent\n"
        assert service.keys == {wanted["applicationServerKey"]}
        delivered = {"origin": url, "registrationId": FIRST, "data": json.dumps(phone.shown[0])}

        def is_shown(page: Chrome) -> bool:
            """Sent until it is shown, as one was lost on a busy machine: its tag makes all of them one."""
            page.execute_cdp_cmd("ServiceWorker.deliverPushMessage", delivered)
            return bool(page.execute_async_script(SHOWN))

        WebDriverWait(browser, PATIENCE).until(is_shown)
        assert browser.execute_async_script(SHOWN) == [
            {
                "title": "hermes-jobs",
                "body": "Notifications arrive in this browser.",
                "tag": "test",
                "data": "/",
            }
        ]

        button(browser).click()
        said(browser, "not notified any more")
        assert button(browser).text == "Notify this browser"
        assert home.run("push", "list", "--json").json == []
        severe = [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]
        assert severe == []


def test_a_browser_that_allows_nothing_says_so(home: Home, browser: Chrome) -> None:
    with served(home) as (url, link):
        denied = {"origin": url, "permission": {"name": "notifications"}, "setting": "denied"}
        browser.execute_cdp_cmd("Browser.setPermission", denied)
        browser.get(link)
        button(browser).click()
        said(browser, "The browser does not allow notifications of this site.")
    assert home.run("push", "list", "--json").json == []
