"""What a person sees in Flower: every task of a turn, every queue, and nothing of what was said."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from hermes_jobs.runtime.queues import ALL_QUEUES
from tests.home import KEY, Home, endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.workers.test_up import UP, free_port

pytestmark = pytest.mark.slow

SAID = "a-word-that-was-said"
PATIENCE = 30  # seconds for a page to show what it should
HEADS = """
    const left = cell => cell.getBoundingClientRect().left;
    return [...document.querySelectorAll('.tasks-table')].map(t => [...t.tHead.rows[0].cells].map(left));
"""
"""The left edges of the columns: of the head that is shown, a table of its own, and of the table below it."""


def rows(browser: Chrome) -> list[list[str]]:
    """The cells of the page's table, as they are read."""
    script = "return [...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    found: list[list[str]] = browser.execute_script(script)
    return found


def has_rows(browser: Chrome, least: int) -> bool:
    """Whether the page shows so many; it is loaded again if not, since Flower's does not follow."""
    if len(rows(browser)) >= least:
        return True
    browser.refresh()
    return False


def states_after_reloading(browser: Chrome) -> set[str]:
    browser.refresh()
    return {row[2] for row in rows(browser) if len(row) > 2}


def test_flower_shows_a_turn_task_by_task_without_content(
    tmp_path: Path, model_server: ModelServer, browser: Chrome
) -> None:
    asked = AskedCall("terminal", {"command": f"echo {SAID}"})
    model_server.follow(Script(rules=(Rule(SAID, (Answer(tool_calls=(asked, asked)), Answer(text=SAID))),)))
    home = Home(tmp_path, endpoint(model_server.base_url))
    port, web = free_port(), free_port()
    serves = {"HERMES_JOBS_SERVE__ENABLED": "true", "HERMES_JOBS_SERVE__PORT": str(web)}
    with home.start("up", "--flower-port", str(port), **serves) as running:
        running.wait_for(UP)
        turn = home.send(f"say {SAID}")["turn"]

        browser.get(f"http://127.0.0.1:{port}/tasks")
        WebDriverWait(browser, PATIENCE).until(lambda _: has_rows(browser, 6))
        shown = {row[1]: (row[0], row[2]) for row in rows(browser)}
        kinds = {kind for kind, _ in shown.values()}
        assert kinds == {"turn.prefetch", "turn.call_model", "turn.run_tool", "turn.record_usage"}
        assert all(task.startswith(turn) for task in shown), "an id leads to `turns show`"
        assert {f"{turn}-1", f"{turn}-1-0", f"{turn}-1-1", f"{turn}-2", f"{turn}-record"} <= set(shown)
        WebDriverWait(browser, PATIENCE).until(lambda _: states_after_reloading(browser) == {"SUCCESS"})
        assert SAID not in browser.page_source

        browser.set_window_size(1280, 800)
        (worker,) = {row[6] for row in rows(browser)}
        assert worker.startswith("worker-"), "times, runtime and worker stand beside the id"
        edge = "return document.querySelector('tbody tr').cells[6].getBoundingClientRect().right"
        assert browser.execute_script(edge) < 1280
        shown_head, own_head = browser.execute_script(HEADS)
        assert all(abs(shown - own) <= 2 for shown, own in zip(shown_head, own_head, strict=True)), "aligned"

        browser.find_element(By.LINK_TEXT, f"{turn}-1-0").click()
        WebDriverWait(browser, PATIENCE).until(lambda _: "turn.run_tool" in browser.page_source)
        assert SAID not in browser.page_source
        assert KEY not in browser.page_source

        browser.get(f"http://127.0.0.1:{port}/broker")
        WebDriverWait(browser, PATIENCE).until(lambda _: len(rows(browser)) >= len(ALL_QUEUES))
        assert {row[0]: row[1] for row in rows(browser)} == dict.fromkeys(ALL_QUEUES, "0")
        assert (
            browser.find_element(By.LINK_TEXT, "hermes-jobs").get_attribute("href")
            == f"http://127.0.0.1:{web}/"
        )
