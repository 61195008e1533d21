"""The client that the suite starts: a home with the suite's server, whose tools a scripted model calls.

    python -m tests.conformance.client URL

The suite's `MCP_CONFORMANCE_SCENARIO` names the scenario, and `MCP_CONFORMANCE_CONTEXT` has what a client was
given beforehand: https://github.com/modelcontextprotocol/conformance.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hermes_jobs.client import Home, Turn, TurnEvent
from tests.home import Home as ProcessHome
from tests.home import endpoint
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer

NAME = "suite"
BROWSER = f"{sys.executable} -m tests.conformance.browser %s"
VALUES = {"number": 2, "integer": 2, "string": "text", "boolean": True}
SECONDS = 60.0


def main(url: str) -> int:
    """Play the scenario; 1 if the turn did not end well."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    model = ModelServer(call_every_tool).start()
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            home = ProcessHome(Path(folder), {**endpoint(model.base_url), "BROWSER": BROWSER})
            return play(home, url, scenario, given)
    finally:
        model.stop()


def play(home: ProcessHome, url: str, scenario: str, given: dict[str, Any]) -> int:
    """Add the server, log in where it asks for it, have the agent call its tools, and accept its forms."""
    known = [f"{key}={given[key]}" for key in ("client_id", "client_secret") if key in given]
    oauth = [word for value in known for word in ("--oauth", value)]
    commands = [["mcp", "add", NAME, url, "--trust", "--keep", *oauth]]
    if scenario.startswith("auth/"):
        commands.append(["mcp", "login", NAME, "--browser", "--timeout", "10"])
    for command in commands:
        ran = home.run_in_new_interpreter(*command)  # one or two: a server to fork them from costs more
        sys.stderr.write(f"{' '.join(command)}: {ran.code}\n{ran.out}{ran.err}")
    with Home(home.path, environ=home.environ) as opened:
        turn = None
        for part in opened.stream("Call every tool.", workdir=home.work, mode="full", timeout=SECONDS):
            if isinstance(part, TurnEvent) and part.type == "InputRequested":
                opened.turns.answer(part.data["turn"])  # the form as it is shown, with its defaults
            if isinstance(part, Turn):
                turn = part
    assert turn is not None, "the stream ends with the turn"
    sys.stderr.write(f"{turn.status}: {turn.result} {turn.error}\n")
    return int(turn.status != "completed")


def call_every_tool(seen: Seen) -> Action:
    """One call of each of the server's tools; then the end."""
    functions = [tool["function"] for tool in seen.body.get("tools", ())]
    calls = tuple(
        AskedCall(function["name"], values(function["parameters"]["properties"]))
        for function in functions
        if function["name"].startswith(f"{NAME}__")
    )
    return Answer(tool_calls=calls) if calls and not seen.rounds else Answer(text="Done.")


def values(properties: dict[str, Any]) -> dict[str, Any]:
    """One of the right type for each."""
    return {name: VALUES.get(of.get("type"), "text") for name, of in properties.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
