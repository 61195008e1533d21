"""The web pages in a real Chromium: people answer what waits there, and see the turn go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.home import PATIENCE, Home, endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.serve.test_doors import served

pytestmark = pytest.mark.slow

CLEAN = AskedCall("terminal", {"command": "rm -r build"})
ASK = AskedCall("ask_user", {"question": "Which colour?", "choices": ["red", "green"]})
SCRIPT = Script(
    rules=(
        Rule("Clean", (Answer(tool_calls=(CLEAN,)), Answer(text="It is clean."))),
        Rule("Paint", (Answer(tool_calls=(ASK,)), Answer(text="It is painted."))),
    )
)


@pytest.fixture
def home(tmp_path: Path, log_url: str, model_server: ModelServer) -> Home:
    """A home before the scripted model, with its log on each kind of database."""
    return Home(tmp_path, {**endpoint(model_server.base_url), "HERMES_JOBS_LOG_URL": log_url})


REPLACED = (NoSuchElementException, StaleElementReferenceException)
"""What is met where a page puts a new part into the place of another just then."""


def wait_for(browser: Chrome, text: str) -> None:
    """Wait until the open page, which follows the log by itself, has that text."""
    waiting = WebDriverWait(browser, PATIENCE, ignored_exceptions=REPLACED)
    waiting.until(lambda page: text in page.find_element(By.TAG_NAME, "main").text)


def click(browser: Chrome, by: str, what: str) -> None:
    """Click what is there, or comes."""

    def clicked(page: Chrome) -> bool:
        page.find_element(by, what).click()
        return True

    WebDriverWait(browser, PATIENCE, ignored_exceptions=REPLACED).until(clicked)


def test_an_approval_and_a_question_are_answered_in_the_browser(
    home: Home, model_server: ModelServer, browser: Chrome
):
    (home.work / "build").mkdir()
    model_server.follow(SCRIPT)
    with served(home) as (url, link):
        browser.get(link)
        assert browser.title.startswith("Nothing waits for you")
        with home.start("send", "Clean up.") as cleaning:
            wait_for(browser, "rm -r build")  # without loading the page again
            WebDriverWait(browser, PATIENCE).until(lambda page: page.title.startswith("(1) Waiting for you"))
            click(browser, By.CSS_SELECTOR, "button[value=once]")
            wait_for(browser, "Nothing waits for you")
            assert cleaning.end().out == "It is clean.\n"
        assert not (home.work / "build").exists()

        assert home.run("send", "Paint it.").code == 3  # nobody is at the terminal: it waits
        wait_for(browser, "Which colour?")
        browser.get(f"{url}/turns")
        click(browser, By.LINK_TEXT, "Paint it.")
        wait_for(browser, "Which colour?")
        click(browser, By.XPATH, "//label[contains(., 'green')]//input")
        click(browser, By.XPATH, "//button[normalize-space()='Answer']")
        assert home.run("turns", "follow", "last").out == "It is painted.\n"
        wait_for(browser, "It is painted.")  # the turn's page has followed it
        assert "green" in model_server.requests[-1].body["messages"][-1]["content"]
        severe = [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]
        assert severe == []
