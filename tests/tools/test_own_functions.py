"""The user's own functions as tools: found, described, called, and named where they are wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hermes_jobs
from hermes_jobs import tool
from hermes_jobs.client import Home
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.plugins import functions
from hermes_jobs.tools.own_functions import own_tools
from hermes_jobs.tools.toolbox import Toolbox
from tests.home import Home as ProcessHome
from tests.home import endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import Switch, context_in

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a module of the user's, and names it."""
    monkeypatch.syspath_prepend(tmp_path)
    written: list[str] = []

    def write(text: str) -> str:
        name = f"own_module_{tmp_path.name.replace('-', '_')}_{len(written)}"
        head = "from typing import Annotated\nfrom hermes_jobs import tool, ToolContext, Cancel\n"
        (tmp_path / f"{name}.py").write_text(head + text)
        written.append(name)
        return name

    return write


def called(module: str, name: str, arguments: dict[str, Any]) -> ToolOutcome:
    toolbox = Toolbox(own_tools([module]).tools, enabled=())
    call = ToolCall(id="c1", name=name, arguments=msgspec.json.encode(arguments).decode())
    return toolbox.run(call, context_in("/tmp"), None, Switch())


STOCK = '''
@tool(effect="read")
def stock(article: str, places: Annotated[int, "how many places"] = 3, *, context: ToolContext) -> dict:
    """How many of an article there are.

    Args:
        article: its number,
            with the dash
        places: ignored, as the annotation says more

    Returns what is there.
    """
    return {"article": article, "places": places, "session": context.session}
'''


def test_a_function_is_described_by_its_types_and_its_docstring(write: Write) -> None:
    (stock,) = own_tools([write(STOCK)]).tools
    assert stock.description == "How many of an article there are.\n\nReturns what is there."
    assert stock.parameters == {
        "type": "object",
        "properties": {
            "article": {"type": "string", "description": "its number, with the dash"},
            "places": {"type": "integer", "description": "how many places", "default": 3},
        },
        "required": ["article"],
    }
    assert (stock.effect, stock.toolset) == ("read", "own")


def test_it_is_given_its_context_and_its_result_is_json(write: Write) -> None:
    outcome = called(write(STOCK), "stock", {"article": "7-1", "places": "2"})
    assert msgspec.json.decode(outcome.content) == {
        "article": "7-1",
        "places": 2,
        "session": context_in("/tmp").session,
    }


def test_the_function_stays_as_it_is() -> None:
    @tool
    def double(number: int) -> int:
        """Twice the number."""
        return 2 * number

    assert double(4) == 8


def test_an_exception_is_the_answer_to_the_model(write: Write) -> None:
    module = write('@tool\ndef fail() -> None:\n    """Fails."""\n    raise ValueError("no such article")\n')
    outcome = called(module, "fail", {})
    assert (outcome.ok, outcome.content) == (False, "Error: fail failed: ValueError: no such article")


def test_a_call_that_takes_too_long_is_given_up(write: Write) -> None:
    module = write(
        "import threading\nEND = threading.Event()\n"
        '@tool(seconds=0.01)\ndef wait() -> None:\n    """Waits."""\n    END.wait()\n'
    )
    outcome = called(module, "wait", {})
    sys.modules[module].END.set()
    assert not outcome.ok
    assert "gave no answer within 0.01 s; it may still be running" in outcome.content


def test_it_hears_that_it_is_cancelled(write: Write) -> None:
    module = write(
        "import threading\n@tool\ndef wait(cancel: Cancel) -> str:\n"
        '    """Waits."""\n    over = threading.Event()\n    cancel.on_cancel(over.set)\n    over.wait()\n'
        "    return cancel.reason\n"
    )

    cancel = Switch()
    cancel.fire()
    (wait,) = own_tools([module]).tools
    assert wait.call({}, context_in("/tmp"), cancel) == "cancelled"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module_at_all", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)", "cannot be imported: RuntimeError: SystemExit"),
        ("VALUE = 1", "no function with @hermes_jobs.tool"),
        ('@tool\ndef f(x):\n    """Does."""', "the function f: the parameter x has no type"),
        ('@tool\ndef f(*x: int):\n    """Does."""', "the parameter x cannot be passed by its name"),
        ('@tool\ndef f(x: "Nothing"):\n    """Does."""', "name 'Nothing' is not defined"),
        ('@tool\ndef f(x: threading):\n    """Does."""', "cannot be imported: NameError"),
        ('@tool\ndef f(x: set[object]):\n    """Does."""', "the function f: "),
        ("@tool\ndef f(x: int): pass", "it has no docstring"),
        ('@tool(name="no name")\ndef f(x: int):\n    """Does."""', "is no name of a tool"),
        ('@tool(effect="never")\ndef f(x: int):\n    """Does."""', "is none of read, idempotent, write"),
        ('@tool\nasync def f(x: int):\n    """Does."""', "it is async"),
        ('@tool(name="terminal")\ndef f(x: int):\n    """Does."""', "another tool is called terminal"),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_wrong_is_named_and_keeps_nothing_else_from_being_used(
    write: Write, text: str, message: str
) -> None:
    wrong, right = write(text), write(STOCK)
    own = own_tools([wrong, right], {"terminal"})
    assert [each.name for each in own.tools] == ["stock"]
    (fault,) = own.faults
    assert fault.where == wrong
    assert message in fault.message


def test_installed_packages_bring_functions(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    module = write(STOCK)
    points = (
        EntryPoint("all", module, functions.GROUP),
        EntryPoint("one", f"{module}:stock", functions.GROUP),
    )
    monkeypatch.setattr(functions, "entry_points_of", lambda _group: points)
    own = own_tools([])
    assert [each.name for each in own.tools] == ["stock"]
    assert own.faults == ()


def test_the_agent_uses_it_and_doctor_and_tools_list_it(
    tmp_path: Path, write: Write, model_server: ModelServer
) -> None:
    called = AskedCall("stock", {"article": "7-1"})
    rules = (Rule("How many", (Answer(tool_calls=(called,)), Answer(text="Three."))),)
    model_server.follow(Script(rules=rules))
    modules = f"[{write(STOCK)}, {write('import no_such_module_at_all')}]"
    environ = {"HERMES_JOBS_TOOLS__MODULES": modules, "PYTHONPATH": str(tmp_path)}
    outside = ProcessHome(tmp_path, {**endpoint(model_server.base_url), **environ})
    with Home(outside.path, environ=outside.environ) as home:
        assert home.send("How many?").result == "Three."
    (result,) = [message for message in model_server.requests[1].messages if message["role"] == "tool"]
    assert '"article":"7-1"' in result["content"]
    path = f"{tmp_path}:{outside.environ['PYTHONPATH']}"
    checks = outside.run("doctor", "--json", PYTHONPATH=path).json
    found = [(check["status"], check["message"]) for check in checks["checks"] if check["check"] == "tools"]
    assert [status for status, _ in found] == ["ok", "warn"]
    assert "stock (read, own_module" in found[0][1]
    assert "No module named 'no_such_module_at_all'" in found[1][1]
    listed = outside.run("tools", "own", "--json", PYTHONPATH=path).json
    (tool,) = [each for each in listed["tools"] if each["toolset"] == "own"]
    assert tool["source"].startswith("own_module")
    assert (tool["name"], tool["effect"], tool["state"]) == ("stock", "read", "on")
    assert "No module named 'no_such_module_at_all'" in listed["unusable"][0]["message"]


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError):
        _ = hermes_jobs.no_such_name  # type: ignore[attr-defined]  # that is the point
