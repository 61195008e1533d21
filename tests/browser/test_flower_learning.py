"""What a person sees in Flower of reviews and compressions: which wait, run, have failed, are done."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from hermes_jobs.bootstrap import Application
from hermes_jobs.runtime.queues import ALL_QUEUES
from hermes_jobs.settings import load
from tests.browser.learning_scene import CONCURRENCY, ENVIRON, FACT, SHOWN, play, scene
from tests.browser.test_flower import rows
from tests.home import Home, endpoint
from tests.model_server import ModelServer
from tests.workers.test_up import UP, free_port

pytestmark = pytest.mark.slow

PICTURES = "FLOWER_PICTURES"
"""The variable that names a folder for the pictures in docs; without it none is taken."""
LONG = 90  # seconds
SORTED = """
    const done = arguments[0], table = $('#tasks-table').DataTable();
    table.one('draw', () => done(true));
    table.order([[0, 'asc']]).page.len(50).draw();
"""


def by_name(browser: Chrome) -> set[tuple[str, str]]:
    """The names and states of all tasks, after loading the page anew with the first names on top."""
    browser.refresh()
    filled = "return document.querySelectorAll('#tasks-table tbody td:nth-child(3)').length > 0"
    WebDriverWait(browser, LONG).until(lambda _: browser.execute_script(filled))
    browser.set_script_timeout(LONG)
    browser.execute_async_script(SORTED)
    return {(row[0], row[2]) for row in rows(browser) if len(row) > 2}


def cells(browser: Chrome, table: str) -> list[list[str]]:
    """The rows of that table of the page of queues."""
    script = (
        "return [...arguments[0].querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    )
    found: list[list[str]] = browser.execute_script(script, browser.find_element(By.ID, table))
    return found


def picture(browser: Chrome, name: str) -> None:
    if PICTURES in os.environ:
        for width in (1280, 1600):
            browser.set_window_size(width, 1200)
            browser.save_screenshot(f"{os.environ[PICTURES]}/flower-{name}-{width}.png")


def test_reviews_and_compressions_are_distinguished_by_name_and_state(
    tmp_path: Path, model_server: ModelServer, browser: Chrome
) -> None:
    model_server.follow(scene)
    home = Home(tmp_path, {**endpoint(model_server.base_url), **ENVIRON})
    port = free_port()
    with home.start("up", "--flower-port", str(port), "--concurrency", str(CONCURRENCY)) as running:
        running.wait_for(UP)
        with closing(Application(load(home.environ), home.environ)) as application:
            play(application)
        added = home.run(
            "schedule", "add", "--cron", "0 9 * * *", "--task", "Say good morning.", "--yes", "--json"
        ).json
        schedule = added["schedule"]
        browser.get(f"http://127.0.0.1:{port}/tasks")
        WebDriverWait(browser, LONG).until(lambda _: by_name(browser) >= SHOWN)
        picture(browser, "reviews")
        browser.find_element(By.LINK_TEXT, "Queues").click()
        WebDriverWait(browser, LONG).until(lambda _: cells(browser, "log-queues"))
        queues = {row[0]: row[1:] for row in cells(browser, "log-queues")}
        assert set(queues) == set(ALL_QUEUES)
        assert queues["reviews"] == ["0", "", str(CONCURRENCY), "0"], "waiting, oldest, running, later"
        assert queues["schedules"] == ["0", "", "0", "1"]
        waiting, oldest, *others = queues["compression"]
        assert (waiting, others) == ("1", ["0", "0"])
        assert oldest.endswith(" s"), "the age of the compression that waits for a thread"
        ((step, task, due),) = cells(browser, "log-later")
        assert (step.split("-")[0], task, due[-8:]) == (schedule, "schedule.fire", "09:00:00")
        assert {tuple(row[1:3] + row[4:]) for row in cells(browser, "log-reviews")} == {
            ("memory", "running", "", ""),
            ("memory", "failed", "", "400: no such model"),
            ("memory", "completed", "memory write 1", ""),
        }
        assert FACT not in browser.page_source, "names, not texts"
        picture(browser, "queues")
        model_server.release()
