"""The web pages in a real Chromium beside all processes of `up`, some of which are killed."""

from __future__ import annotations

import os
from pathlib import Path
from signal import SIGINT, SIGKILL

import pytest
from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.test_serve import click, wait_for
from tests.home import PATIENCE, Home
from tests.model_script import Answer, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.serve.test_doors import free_port
from tests.workers.test_up import home, processes_running, up

__all__ = ["home"]
pytestmark = pytest.mark.slow

FIRST, REST = "It shows a red square", ", and nothing else."
SCRIPT = Script(
    rules=(Rule("What is this", (Hold(first=FIRST, answer=Answer(text=REST)),)),),
    default=Answer(text="Yes."),
)


def press(browser: Chrome, name: str) -> None:
    click(browser, By.XPATH, f"//button[normalize-space()='{name}']")


def one_process(home: Home, words: str, besides: int | None = None) -> int:
    """The process with these words in its command line, when there is one again."""
    found: list[int] = []

    def is_there(_: object) -> bool:
        found[:] = [each for each in processes_running(home, words) if each != besides]
        return len(found) == 1

    WebDriverWait(None, PATIENCE).until(is_there)  # type: ignore[type-var]
    return found[0]


def test_an_answer_grows_although_processes_are_killed_and_what_is_learned_is_undone(
    home: Home, model_server: ModelServer, browser: Chrome, tmp_path: Path
) -> None:
    model_server.follow(SCRIPT)
    picture = tmp_path / "square.png"
    Image.new("RGB", (64, 64), "red").save(picture)
    port = free_port()
    serves = {"HERMES_JOBS_SERVE__ENABLED": "true", "HERMES_JOBS_SERVE__PORT": str(port)}
    with up(home, "--no-flower", **serves) as running:
        browser.get(home.run("open", "--print").out.strip())
        browser.get(f"http://127.0.0.1:{port}/sessions")
        browser.find_element(By.NAME, "text").send_keys("What is this?")
        browser.find_element(By.NAME, "file").send_keys(str(picture))
        press(browser, "Send")
        wait_for(browser, "It shows a red")  # the last word may go on
        width = "return document.querySelector('figure img')?.naturalWidth"
        WebDriverWait(browser, PATIENCE).until(lambda page: page.execute_script(width) == 64)

        worker = one_process(home, "hermes_jobs worker")
        os.kill(worker, SIGKILL)
        model_server.wait_until(lambda: len(model_server.requests) > 1)  # another one calls the model again
        server = one_process(home, "hermes_jobs serve")
        os.kill(server, SIGKILL)
        one_process(home, "hermes_jobs serve", besides=server)
        model_server.release()
        wait_for(browser, FIRST + REST)
        assert browser.find_elements(By.CSS_SELECTOR, "[data-text]") == []
        assert "image_url" in str(model_server.requests[-1].body)

        home.run("memory", "add", "Likes tea")
        browser.get(f"http://127.0.0.1:{port}/memory")
        click(browser, By.CSS_SELECTOR, "button[value=undo]")
        wait_for(browser, "Nothing is remembered yet.")
        undone, added = home.run("memory", "log", "--json").json
        assert (undone["undoes"], undone["by"][:4], added["by"]) == (added["version"], "web:", None)

        browser.get(f"http://127.0.0.1:{port}/schedules")
        browser.find_element(By.NAME, "sentence").send_keys("every weekday at 9 read the news")
        press(browser, "Preview")
        press(browser, "Add")
        wait_for(browser, "Past runs")
        (schedule,) = home.run("schedule", "list", "--json").json
        assert (schedule["task"], schedule["added_by"][:4]) == ("read the news", "web:")
        running.signal(SIGINT)
        assert running.end().code == 0
