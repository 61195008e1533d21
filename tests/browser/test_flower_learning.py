"""What a person sees in Flower of reviews and compressions: which wait, run, have failed, are done."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

from hermes_jobs.bootstrap import Application
from hermes_jobs.settings import load
from tests.browser.learning_scene import CONCURRENCY, ENVIRON, SHOWN, play, scene
from tests.browser.test_flower import rows
from tests.home import Home, endpoint
from tests.model_server import ModelServer
from tests.workers.test_up import UP, free_port

pytestmark = pytest.mark.slow

PICTURE = "FLOWER_PICTURE"
"""The variable that names a file for the picture in docs/learning.md; without it none is taken."""
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
        browser.get(f"http://127.0.0.1:{port}/tasks")
        WebDriverWait(browser, LONG).until(lambda _: by_name(browser) >= SHOWN)
        if PICTURE in os.environ:
            browser.save_screenshot(os.environ[PICTURE])
        model_server.release()
