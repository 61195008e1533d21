"""A home that is served with workers, and the official client of OpenAI before it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT
from typing import Any, NamedTuple

import httpx
import openai

from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

LONG = "The quick brown fox jumps over the lazy dog. " * 8 + "End."
LOOKED = ("Let me see.", "I looked.")
NOTES = AskedCall("todo", {"items": [{"id": "1", "text": "Look"}]})
CLEANS = AskedCall("terminal", {"command": "rm -r build"})
ASKS = AskedCall("ask_user", {"question": "Which one?", "choices": ["red", "blue"]})
SENDS = AskedCall("delegate", {"tasks": [{"goal": "Clean up below"}]})
TITLE = '{"title": "Tea"}'
SCRIPT = Script(
    rules=(
        Rule("Look", (Answer(text=LOOKED[0], tool_calls=(NOTES,)), Answer(text=LOOKED[1]))),
        Rule("Delegate", (Answer(tool_calls=(SENDS,)), Answer(text="They did it."))),
        Rule("Clean", (Answer(tool_calls=(CLEANS,)), Answer(text="Done with it."))),
        Rule("Choose", (Answer(tool_calls=(ASKS,)), Answer(text="Chosen."))),
        Rule("### Task:", (Answer(text=TITLE),)),
        Rule("Hold", (Hold(first="First. ", answer=Answer(text=LONG)),)),
        Rule("Long", (Answer(text=LONG, pace=0.02),)),
    ),
    default=Answer(text="Yes."),
)


class Door(NamedTuple):
    """A served home: its address, and the key of a program called `prog`."""

    home: Home
    url: str
    key: str
    model: ModelServer
    openai: Any  # the official client, which does not try again; its types know no extra events

    def http(self, key: str = "") -> httpx.Client:
        """A client with that key."""
        headers = {"Authorization": f"Bearer {key or self.key}", "Connection": "close"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def add_key(self, name: str, *options: str) -> str:
        """The text of a new key."""
        return self.home.run("keys", "add", name, *options).out.strip()


@contextmanager
def opened(folder: Path, **environ: str) -> Iterator[Door]:
    """One `up` that serves a new home in that folder."""
    model = ModelServer(SCRIPT).start()
    home = Home(folder, {**endpoint(model.base_url), **environ})
    key = home.run("keys", "add", "prog", "--scope", "chat", "--scope", "approve").out.strip()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    served = {"HERMES_JOBS_SERVE__ENABLED": "true", "HERMES_JOBS_SERVE__PORT": str(port)}
    with home.start("up", "--no-flower", "--no-beat", **served) as up:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: _answers(url, key) or up.process.poll() is not None, "the API and a worker")
        with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=60) as client:
            yield Door(home, url, key, model, client)
        up.signal(SIGINT)
        up.end()
    model.close()


def _answers(url: str, key: str) -> bool:
    try:
        body = {"messages": [{"role": "user", "content": "Are you there?"}]}
        headers = {"Authorization": f"Bearer {key}"}
        answer = httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=60)
    except httpx.HTTPError:
        return False
    return bool(answer.status_code == 200)
