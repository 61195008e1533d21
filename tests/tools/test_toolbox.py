"""Which tools are offered, in what order calls run, and that no call ever raises."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import Toolbox as ToolboxPort
from hermes_jobs.kernel.engine.ports import ToolOutcome, Verdict
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.tools.tool import Arguments, Tool, ToolFailed, tool
from hermes_jobs.tools.toolbox import Toolbox

from .support import Switch, context_in


def path_of(arguments: Arguments) -> Sequence[str]:
    return (arguments["path"],)


@tool(toolset="files", effect="read", reads=path_of)
def read_file(path: str) -> str:
    return f"content of {path}"


@tool(toolset="files", effect="write", writes=path_of)
def write_file(path: str) -> str:
    return f"wrote {path}"


@tool(toolset="terminal", effect="write", touches="anything")
def terminal(command: str) -> ToolOutcome:
    return ToolOutcome(content=f"ran {command}", ok=False)


@tool(toolset="memory", effect="idempotent")
def memory() -> str:
    return "remembered"


@tool(toolset="odd", effect="read")
def fail(how: str) -> str:
    if how == "politely":
        raise ToolFailed("the moon is full. Wait a day.")
    raise RuntimeError(f"token sk-secret-1234 was bad; {how}")


@tool(toolset="odd", effect="read", available=lambda: False)
def absent() -> str:
    return "never"


@tool(
    toolset="odd",
    effect="read",
    guard=lambda arguments, _context: Verdict(arguments["decision"], "a rule"),
)
def guarded(decision: str) -> str:
    return "done"


@tool(
    toolset="odd",
    effect="read",
    guard=lambda arguments, _context: Verdict("deny", f"no pattern for {arguments['text']}"),
)
def quoting(text: str) -> str:
    return "done"


TOOLS = (terminal, read_file, write_file, memory, fail, absent, guarded)
EVERYTHING = ("terminal", "files", "memory", "odd")


def box(
    *tools: Tool, enabled: Sequence[str] = EVERYTHING, disabled: Sequence[str] = (), serialize: bool = True
) -> Toolbox:
    return Toolbox(
        tools or TOOLS,
        enabled=enabled,
        disabled=disabled,
        serialize_terminal=serialize,
        toolsets={"coding": ("terminal", "files"), "all": ("coding", "memory", "all")},
        redact=lambda text: text.replace("sk-secret-1234", "[REDACTED]"),
    )


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(id="x", name=name, arguments=json.dumps(arguments))


def run(tools: Toolbox, asked: ToolCall, toolsets: Sequence[str] | None = None) -> ToolOutcome:
    return tools.run(asked, context_in("/"), toolsets, Switch())


def names(tools: Toolbox, toolsets: Sequence[str] | None = None) -> list[str]:
    return [each.name for each in tools.specs(toolsets)]


# --- which tools there are -----------------------------------------------------------------------


def test_it_is_a_toolbox_as_the_engine_wants_it():
    port: ToolboxPort = box()
    assert port.specs(None)


def test_the_configured_toolsets_are_offered_by_name():
    assert names(box(enabled=("files", "memory"))) == ["memory", "read_file", "write_file"]


def test_a_turn_may_name_its_own_toolsets():
    assert names(box(enabled=("files",)), ("memory",)) == ["memory"]
    assert names(box(enabled=("files",)), ()) == []


def test_a_toolset_may_include_others_and_itself():
    assert names(box(), ("coding",)) == ["read_file", "terminal", "write_file"]
    assert names(box(), ("all",)) == ["memory", "read_file", "terminal", "write_file"]


def test_a_disabled_toolset_is_off_also_for_a_turn_that_names_it():
    assert names(box(disabled=("files",)), ("coding",)) == ["terminal"]
    assert names(box(disabled=("coding",))) == ["fail", "guarded", "memory"]


def test_a_tool_that_is_not_available_here_is_hidden():
    assert "absent" not in names(box())
    assert run(box(), call("absent")).invalid


def test_an_empty_toolset_is_no_error():
    assert names(box(enabled=("delegate", "memory"))) == ["memory"]


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="same name"):
        box(memory, memory)


# --- running -------------------------------------------------------------------------------------


def test_a_call_returns_the_tools_result():
    assert run(box(), call("read_file", path="a")) == ToolOutcome(content="content of a")
    assert run(box(), call("terminal", command="ls")) == ToolOutcome(content="ran ls", ok=False)


def test_an_unknown_tool_is_answered_with_the_nearest_names():
    outcome = run(box(), call("read_fil"))
    assert outcome.invalid
    assert not outcome.ok
    assert "there is no tool `read_fil` here; did you mean `read_file`" in outcome.content


def test_a_tool_outside_the_turns_toolsets_is_unknown():
    outcome = run(box(), call("terminal", command="ls"), ("memory",))
    assert outcome.invalid
    assert "The tools are: memory." in outcome.content


def test_broken_arguments_are_invalid_and_name_the_field():
    outcome = run(box(), call("read_file", pth="a"))
    assert outcome.invalid
    assert outcome.content.startswith("Error: read_file: unknown argument `pth`; did you mean `path`?")


def test_a_tool_that_fails_answers_with_its_reason():
    outcome = run(box(), call("fail", how="politely"))
    assert outcome == ToolOutcome(content="Error: the moon is full. Wait a day.", ok=False)


def test_an_exception_becomes_a_text_without_traceback_and_secrets():
    outcome = run(box(), call("fail", how="badly"))
    assert outcome.content == "Error: fail failed: RuntimeError: token [REDACTED] was bad; badly"
    assert not outcome.ok
    assert not outcome.invalid


def test_secrets_are_taken_out_of_results_too():
    assert run(box(), call("read_file", path="sk-secret-1234")).content == "content of [REDACTED]"


def test_secrets_are_taken_out_of_what_answers_a_call_that_is_not_run():
    assert "`[REDACTED]`" in run(box(), call("sk-secret-1234")).content
    refusing = box(quoting)
    assert "no pattern for [REDACTED]" in run(refusing, call("quoting", text="sk-secret-1234")).content


def test_a_call_that_is_cancelled_before_it_begins_does_nothing():
    switch = Switch()
    switch.fire()
    outcome = box().run(call("read_file", path="a"), context_in("/"), None, switch)
    assert outcome.interrupted


def test_a_denied_call_does_not_run_even_when_the_caller_did_not_ask():
    outcome = run(box(), call("guarded", decision="deny"))
    assert not outcome.ok
    assert "refused (a rule). Nothing was run." in outcome.content


@pytest.mark.parametrize("decision", ["allow", "ask", "deny"])
def test_the_verdict_is_the_guards(decision):
    assert box().verdict(call("guarded", decision=decision), context_in("/")).decision == decision


def test_an_invalid_call_needs_no_approval():
    assert box().verdict(call("nothing"), context_in("/")).decision == "allow"
    assert box().verdict(call("guarded"), context_in("/")).decision == "allow"


def test_a_guard_that_fails_denies():
    @tool(toolset="odd", effect="read", guard=lambda arguments, _context: arguments["missing"])
    def careless() -> str:
        return "ran"

    assert box(careless).verdict(call("careless"), context_in("/")).decision == "deny"


@given(st.sampled_from([*(each.name for each in TOOLS), "?"]), st.text())
def test_no_call_of_a_model_raises(name, arguments):
    asked = ToolCall(id="x", name=name, arguments=arguments)
    assert run(box(), asked).content
    assert len(box().plan("t-1", [asked, asked], "/")) == 2
    assert box().verdict(asked, context_in("/")).decision in ("allow", "ask", "deny")


# --- the order -----------------------------------------------------------------------------------


def order(tools: Toolbox, *calls: ToolCall, workdir: str = "/w") -> list[tuple[str, ...]]:
    return [each.after for each in tools.plan("t", calls, workdir)]


def test_calls_get_our_own_ids_and_the_effect_of_their_tools():
    plan = box().plan("t1-2", [call("memory"), call("terminal", command="x"), call("nobody")], "/")
    assert [(each.call, each.effect) for each in plan] == [
        ("t1-2-0", "idempotent"),
        ("t1-2-1", "write"),
        ("t1-2-2", "read"),
    ]


def test_calls_that_do_not_meet_start_together():
    calls = (call("write_file", path="a"), call("write_file", path="b"), call("read_file", path="c"))
    assert order(box(), *calls) == [(), (), ()]


def test_two_writes_to_one_path_keep_their_order():
    assert order(box(), call("write_file", path="a"), call("write_file", path="./x/../a")) == [(), ("t-0",)]


def test_a_read_goes_after_the_write_before_it_and_a_write_after_the_read():
    calls = (call("write_file", path="a"), call("read_file", path="a"), call("write_file", path="a"))
    assert order(box(), *calls) == [(), ("t-0",), ("t-0", "t-1")]


def test_two_reads_of_one_path_start_together():
    assert order(box(), call("read_file", path="a"), call("read_file", path="a")) == [(), ()]


def test_a_path_is_the_same_by_way_of_a_symbolic_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    calls = (call("write_file", path="link"), call("write_file", path=str(tmp_path / "real")))
    assert order(box(), *calls, workdir=str(tmp_path)) == [(), ("t-0",)]


def test_a_folder_and_a_file_in_it_meet():
    assert order(box(), call("write_file", path="d/a"), call("read_file", path="d")) == [(), ("t-0",)]
    assert order(box(), call("write_file", path="d/a"), call("read_file", path="d/ab")) == [(), ()]


def test_commands_and_file_tools_of_one_message_keep_the_order_in_which_they_were_written():
    calls = (
        call("read_file", path="x"),
        call("terminal", command="echo > f"),
        call("read_file", path="f"),
        call("read_file", path="g"),
        call("terminal", command="rm f"),
    )
    assert order(box(), *calls) == [(), ("t-0",), ("t-1",), ("t-1",), ("t-0", "t-1", "t-2", "t-3")]


def test_tools_without_files_run_beside_commands():
    assert order(box(), call("terminal", command="a"), call("memory")) == [(), ()]


def test_commands_start_together_where_that_is_configured():
    calls = (call("terminal", command="a"), call("read_file", path="x"), call("terminal", command="b"))
    assert order(box(serialize=False), *calls) == [(), (), ()]


@given(st.lists(st.sampled_from(["terminal", "read_file", "write_file", "memory"]), max_size=8))
def test_a_command_and_a_call_on_files_are_never_side_by_side(names):
    """Given any calls of one message, then each pair with a command and a file tool is ordered."""
    calls = [call(n, **{"terminal": {"command": "x"}, "memory": {}}.get(n, {"path": n})) for n in names]
    plan = order(box(), *calls)
    for later, second in enumerate(names):
        for earlier, first in enumerate(names[:later]):
            pair = {first, second}
            if "terminal" in pair and "memory" not in pair:
                assert f"t-{earlier}" in plan[later]
            if pair == {"read_file"}:
                assert f"t-{earlier}" not in plan[later]


def test_an_invalid_call_delays_no_other():
    calls = (call("write_file", pat="a"), call("write_file", path="a"))
    assert order(box(), *calls) == [(), ()]


@tool(toolset="search", effect="read", offered=lambda session: session.num_compressed > 0)
def recall(query: str) -> str:
    return f"found {query}"


def test_a_tool_for_compressed_sessions_is_offered_from_the_first_compression_on():
    toolbox = Toolbox([recall, read_file], enabled=["search", "files"])
    session = Session(stream="session-s1")

    def offered(session: Session) -> list[str]:
        return [spec.name for spec in toolbox.of(session).specs(None)]

    assert offered(session) == ["read_file"]
    assert offered(replace(session, num_compressed=1)) == ["read_file", "recall"]
    assert [spec.name for spec in toolbox.with_tools([write_file]).of(session).specs(None)] == [
        "read_file",
        "write_file",
    ]
