"""Forms of MCP servers in a real Chromium: labels, types, choices and defaults, and faults at the field."""

from __future__ import annotations

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from tests.browser.test_serve import wait_for
from tests.browser.test_serve_live import press
from tests.e2e.test_mcp_input import AskingHome, mcp
from tests.serve.conftest import home
from tests.serve.test_doors import served

__all__ = ["home", "mcp"]
pytestmark = pytest.mark.slow


def test_a_form_is_filled_in_in_the_browser(mcp: AskingHome, browser: Chrome) -> None:
    mcp.asks_for(("new__book", {"flight": "LX1"}), ("new__pay", {}))
    with served(mcp.home) as (url, link), mcp.home.start("send", "Go.") as sending:
        browser.get(link)
        wait_for(browser, "Which seat on LX1?")
        browser.get(url)  # the script changes nothing here any more
        wait_for(browser, "2 to 3 characters, required")
        fields = {
            label.text: browser.find_element(By.ID, label.get_attribute("for") or "")
            for label in browser.find_elements(By.CSS_SELECTOR, ".field > label")
        }
        seat, bags, meal, insured = (fields[name] for name in ("Seat", "bags", "meal", "insured"))
        assert (bags.get_attribute("type"), bags.get_attribute("max")) == ("number", "2")
        assert [each.text for each in Select(meal).options] == ["", "meat", "none"]
        assert Select(meal).first_selected_option.text == "none"
        assert Select(insured).first_selected_option.text == "no"
        seat.send_keys("1")
        bags.send_keys("3")
        Select(insured).select_by_visible_text("yes")
        browser.execute_script("document.querySelector('form').noValidate = true")  # the server checks, too
        press(browser, "Answer")

        wait_for(browser, "This is not right yet")
        faults = [each.text for each in browser.find_elements(By.CLASS_NAME, "fault")]
        assert faults == [
            "The field seat has to be at least 2 characters.",
            "The field bags may be at most 2.",
        ]
        seat, bags = browser.find_elements(By.CSS_SELECTOR, "[aria-invalid]")
        assert (seat.get_attribute("value"), bags.get_attribute("value")) == ("1", "3")
        seat.send_keys("2A")
        bags.clear()
        bags.send_keys("1")
        press(browser, "Answer")

        wait_for(browser, "xn--bcher-kva.example")
        booked = "booked LX1 [('bags', 1), ('insured', True), ('meal', 'none'), ('seat', '12A')]"
        assert mcp.calls == ["asked LX1", booked]
        press(browser, "I have opened it")
        wait_for(browser, "Nothing waits for you")
        assert sending.end().out == "Done.\n"
        assert mcp.calls[-1] == "pay accept"
