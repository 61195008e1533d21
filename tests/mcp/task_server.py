"""An MCP server by the SDK over HTTP whose calls become tasks, kept as files: `task_server.py PORT FOLDER`.

A task continues until a file `done-ID` is there; who asks about it while `hold-ID` is there gets no answer.
What the server was told is in `calls`, a line each.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import RequestParams

PORT, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
FORM = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
ASKS = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "Which colour?", "requestedSchema": FORM},
}


def note(text: str) -> None:
    with (FOLDER / "calls").open("a") as file:
        file.write(f"{text}\n")


def state(task: str, status: str, **more: Any) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    times = {"createdAt": now, "lastUpdatedAt": now, "ttlMs": None, "pollIntervalMs": 1}
    return {"taskId": task, "status": status, "statusMessage": f"at it: {task}", **times, **more}


class TaskParams(RequestParams):  # type: ignore[misc]
    task_id: str
    input_responses: dict[str, Any] | None = None


class Tasks(Extension):  # type: ignore[misc]
    identifier = "io.modelcontextprotocol/tasks"

    def methods(self):
        bindings = (("tasks/get", self.get), ("tasks/update", self.update), ("tasks/cancel", self.cancel))
        return [MethodBinding(name, TaskParams, handler) for name, handler in bindings]

    async def intercept_tool_call(self, params, ctx, call_next):
        name = params.arguments["name"]
        note(f"begun {name}")
        (FOLDER / f"task-{name}").touch()
        return {"resultType": "task", **state(name, "working")}

    async def get(self, ctx, params):
        name = params.task_id
        if not (FOLDER / f"task-{name}").exists():
            raise MCPError(code=-32602, message=f"there is no task {name}")
        if (FOLDER / f"hold-{name}").exists():
            (FOLDER / f"held-{name}").touch()
            await anyio.sleep_forever()
        if (FOLDER / f"done-{name}").exists():
            answer = FOLDER / f"answer-{name}"
            text = f"done {name} {answer.read_text() if answer.exists() else ''}".strip()
            return state(name, "completed", result={"content": [{"type": "text", "text": text}]})
        if name == "fails":
            return state(name, "failed", error={"code": -32000, "message": "out of paper"})
        if name.startswith("asks") and not (FOLDER / f"answer-{name}").exists():
            return state(name, "input_required", inputRequests={"colour": ASKS})
        return state(name, "working")

    async def update(self, ctx, params):
        answer = params.input_responses["colour"]
        note(f"told {params.task_id} {json.dumps(answer, sort_keys=True)}")
        (FOLDER / f"answer-{params.task_id}").write_text(answer.get("content", {}).get("colour", "-"))
        (FOLDER / f"done-{params.task_id}").touch()
        return {}

    async def cancel(self, ctx, params):
        note(f"cancelled {params.task_id}")
        return {}


server = MCPServer("tasks", extensions=[Tasks()])


@server.tool()
def work(name: str) -> str:
    """Work for a long time."""
    return name


server.run("streamable-http", host="127.0.0.1", port=PORT)
