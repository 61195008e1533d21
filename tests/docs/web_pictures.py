"""The web pages that docs/web.md shows: real pages of a real `up` in Chromium, as WebP in docs/images.

`python -m tests.docs.web_pictures [FOLDER]` makes them; `make pictures` does, too. The model is a script.
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from msgspec.structs import replace
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.docs.pictures import IMAGES, SCRIPT, home_with_project
from tests.home import PATIENCE, Home
from tests.model_script import Answer, AskedCall, Hold, Rule
from tests.model_server import ModelServer
from tests.workers.test_up import free_port, up

MEND = "The accents test fails. Please mend it."
TIDY = "Tidy up: I need no build folders."
SUM_UP = "Sum up what happened in this folder this week."
SO_FAR = (
    "Ten commits in six days. Most of them are about the README: what a slug is, how to install it, and an"
)
WEEKLY = Rule(
    contains="Sum up",
    actions=(
        Answer(tool_calls=(AskedCall("terminal", {"command": "git log --oneline"}),)),
        Hold(first=SO_FAR + " example", answer=Answer(text=" of today.")),
    ),
)


class Picture(NamedTuple):
    """A page that shows the text; `width` and `height` are CSS pixels, `scheme` is `light` or `dark`."""

    name: str
    page: str
    text: str
    width: int
    height: int
    scheme: str


PICTURES: tuple[Picture, ...] = (
    Picture("web-turn", "turn", SO_FAR, 1280, 900, "light"),  # first: while its text arrives
    Picture("web-waiting", "waiting", "rm -r build dist", 1280, 720, "dark"),
    Picture("web-waiting-phone", "waiting", "rm -r build dist", 400, 760, "light"),
    Picture("web-session-phone", "session", "Nothing else was changed", 400, 760, "dark"),
)


def main() -> None:
    """Make all of them, in the folder that is named or in docs/images."""
    images = Path(sys.argv[1]) if sys.argv[1:] else IMAGES
    script = replace(SCRIPT, rules=(*SCRIPT.rules, WEEKLY))
    with (
        TemporaryDirectory() as folder,
        closing(ModelServer(script).start()) as model,
    ):
        home = home_with_project(Path(folder), model.base_url)
        home.environ["LOGNAME"] = "anna"
        port = free_port()
        serves = {"HERMES_JOBS_SERVE__ENABLED": "true", "HERMES_JOBS_SERVE__PORT": str(port)}
        with up(home, "--no-flower", **serves), chromium(Path(folder) / "browser") as browser:
            browser.get(home.run("open", "--print").out.strip())
            paths = _turns(home)
            for each in PICTURES:
                browser.get(f"http://127.0.0.1:{port}{paths[each.page]}")
                (images / f"{each.name}.webp").write_bytes(taken(browser, each))
                sys.stdout.write(f"{images / each.name}.webp\n")
        model.release()


def _turns(home: Home) -> dict[str, str]:
    """The paths of pages, after the turns that they show have begun."""
    home.run("send", MEND)
    session = home.run("sessions", "list", "--json").json[0]["session"]
    running = home.send("--no-wait", SUM_UP)["turn"]
    home.send("--no-wait", TIDY)
    return {"waiting": "/", "turn": f"/turns/{running}", "session": f"/sessions/{session}"}


@contextmanager
def chromium(folder: Path) -> Iterator[Chrome]:
    """A Chromium without a window."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={folder}")
    browser = Chrome(options=options, service=ChromeService(shutil.which("chromedriver"), env={**os.environ}))
    try:
        yield browser
    finally:
        browser.quit()


def taken(browser: Chrome, picture: Picture) -> bytes:
    """The page as WebP, when it shows the picture's text."""
    scheme = {"name": "prefers-color-scheme", "value": picture.scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {
        "width": picture.width,
        "height": picture.height,
        "deviceScaleFactor": 1.5 if picture.width < 600 else 1,
        "mobile": picture.width < 600,
    }
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    WebDriverWait(browser, PATIENCE).until(
        lambda page: picture.text in page.find_element(By.TAG_NAME, "main").text
    )
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 85})
    return base64.b64decode(shot["data"])


if __name__ == "__main__":
    main()
