"""Argument fidelity with BFCL's multi-turn data: `python -m tests.bfcl FOLDER [CASES]`.

FOLDER is `berkeley-function-call-leaderboard/bfcl_eval/data` of a checkout of one's own of
https://github.com/ShishirPatil/gorilla. MCP servers over stdio declare the functions that its documents
describe, and record the arguments that reach them. A scripted model makes the calls that the possible answers
name, one round for each turn of a case. Calls are counted that arrive with the same values of the same types.
No function is performed, and no model is judged.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from hermes_jobs.client import Home
from tests.home import Home as ProcessHome
from tests.home import endpoint
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.processes import ROOT

DOCUMENTS: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
TYPES = {"dict": "object", "float": "number", "tuple": "array"}
Call = tuple[str, dict[str, Any]]  # the name of a function, its arguments


def functions(folder: Path, document: str) -> dict[str, Any]:
    """The schemas of a document's functions by name, as JSON Schemas."""
    lines = (folder / f"multi_turn_func_doc/{document}.json").read_text().splitlines()
    return {entry["name"]: _schema(entry["parameters"]) for entry in map(json.loads, lines)}


def _schema(node: Any) -> Any:
    if isinstance(node, list):
        return [_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    of = node.get("type")
    return {name: _schema(part) for name, part in node.items()} | (
        {"type": TYPES.get(of, of)} if isinstance(of, str) else {}
    )


def cases(folder: Path) -> Iterator[tuple[str, list[list[Call]]]]:
    """Each case's id and the calls of its turns, named `DOCUMENT__FUNCTION` as the model sees them."""
    name = "BFCL_v4_multi_turn_base.json"
    questions = map(json.loads, (folder / name).read_text().splitlines())
    answers = map(json.loads, (folder / "possible_answer" / name).read_text().splitlines())
    for question, answer in zip(questions, answers, strict=True):
        known = {
            function: (f"{DOCUMENTS[one]}__{function}", list(schema["properties"]))
            for one in question["involved_classes"]
            for function, schema in functions(folder, DOCUMENTS[one]).items()
        }
        yield (
            question["id"],
            [[_call(text, known) for text in turn] for turn in answer["ground_truth"] if turn],
        )


def _call(text: str, known: Mapping[str, tuple[str, list[str]]]) -> Call:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call), text
    assert isinstance(call.func, ast.Name), text
    name, parameters = known[call.func.id]
    by_place = zip(parameters, call.args, strict=False)
    by_name = [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    return name, {name: ast.literal_eval(value) for name, value in (*by_place, *by_name)}


def serve(folder: Path, document: str, record: Path) -> None:
    """An MCP server over stdio with the document's functions, which appends each call to `record`."""
    tools = [{"name": name, "inputSchema": schema} for name, schema in functions(folder, document).items()]
    for line in sys.stdin:
        request = json.loads(line)
        method, result = request["method"], None
        if method == "initialize":
            version = request["params"]["protocolVersion"]
            about = {"name": document, "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        elif method == "tools/list":
            result = {"tools": tools}
        elif method == "tools/call":
            name, arguments = request["params"]["name"], request["params"].get("arguments", {})
            with record.open("a") as file:
                file.write(json.dumps([f"{document}__{name}", arguments]) + "\n")
            result = {"content": [{"type": "text", "text": "Done."}]}
        if "id" in request:
            unknown = {"error": {"code": -32601, "message": "There is no such method."}}
            answer = unknown if result is None else {"result": result}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
            sys.stdout.flush()


def _servers(folder: Path, record: Path) -> dict[str, Any]:
    """A server for each document; without a sandbox, which has a `/tmp` of its own."""
    words = ["-m", "tests.bfcl", "--serve", str(folder.resolve())]
    of = {"command": sys.executable, "cwd": str(ROOT), "env": {"PYTHONPATH": str(ROOT)}, "sandbox": "off"}
    return {name: of | {"args": [*words, name, str(record)], "trusted": True} for name in DOCUMENTS.values()}


def main(folder: Path, count: int | None) -> int:
    """Play the cases; 1 if a call did not arrive as it was made."""
    scripts = dict(list(cases(folder))[:count])
    arrived = made = 0

    def play(seen: Seen) -> Action:
        turns = scripts[seen.last_user_text.strip()]
        if seen.rounds >= len(turns):
            return Answer(text="Done.")
        return Answer(tool_calls=tuple(AskedCall(name, arguments) for name, arguments in turns[seen.rounds]))

    model = ModelServer(play).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, closing(model):
        record = Path(scratch, "record")
        home = ProcessHome(Path(scratch), endpoint(model.base_url))
        home.path.mkdir(exist_ok=True)
        (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": _servers(folder, record)}))
        with Home(home.path, environ=home.environ) as opened:
            for case, turns in scripts.items():
                record.write_text("")
                ended = opened.send(case, workdir=home.work, mode="full", unattended=True, timeout=120)
                calls = [repr(list(call)) for turn in turns for call in turn]
                got = [repr(json.loads(line)) for line in record.read_text().splitlines()]
                same = (Counter(calls) & Counter(got)).total()
                arrived, made = arrived + same, made + len(calls)
                if same < len(calls) or len(got) > same:
                    click.echo(f"{case} ({ended.status}): made {calls}, arrived {got}")
    click.echo(f"{arrived} of {made} calls of {len(scripts)} cases arrived with their values and types.")
    return int(arrived < made)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
    else:
        sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else None))
