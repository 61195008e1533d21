"""`hermes-jobs acp` as an editor sees it: the package's own client, over the pipes of a real process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from signal import SIGKILL
from typing import Any

import acp
import pytest
from acp import schema as s

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.home import Home
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer

pytestmark = pytest.mark.slow

WRITE = AskedCall("write_file", {"path": "a.txt", "content": "new\n"})
CLEAN = AskedCall("terminal", {"command": "rm -r build"})
ASK = AskedCall("ask_user", {"question": "Which colour?", "choices": ["red", "blue"]})
SCRIPT = Script(
    rules=(
        Rule("Write", (Answer(text="I write it.", tool_calls=(WRITE,)), Answer(text="Written."))),
        Rule("Clean", (Answer(tool_calls=(CLEAN,)), Answer(text="Cleaned."))),
        Rule("Ask", (Answer(tool_calls=(ASK,)), Answer(text="It is blue."))),
        Rule("Picture", (Answer(text="A picture."),)),
        Rule("Slow", (Hold(first="I begin"),)),
    )
)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Editor:
    """A client that keeps what it is sent. `answer` chooses among the options of a permission."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[Any] = []
        self.answer: Callable[[dict[str, str]], str | None] = lambda options: None
        self.is_asked = asyncio.Event()
        self.never = asyncio.Event()
        self.awaited = ""
        self.is_said = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        """Nothing to keep."""

    async def session_update(self, session_id: str, update: Any, **_others: Any) -> None:
        self.updates.append(update)
        if self.awaited and self.awaited in self.text:
            self.is_said.set()

    async def wait_for(self, text: str) -> None:
        """Until the agent has said that."""
        self.awaited = text
        if text not in self.text:
            await self.is_said.wait()
        self.is_said.clear()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_others: Any
    ) -> s.RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self.is_asked.set()
        chosen = self.answer({option.kind: option.option_id for option in options})
        if chosen is None:
            await self.never.wait()
        return s.RequestPermissionResponse(outcome=s.AllowedOutcome(outcome="selected", option_id=chosen))

    @property
    def text(self) -> str:
        """The text of the agent."""
        return "".join(each.content.text for each in self.of("agent_message_chunk"))

    def of(self, kind: str) -> list[Any]:
        """The updates of that kind."""
        return [each for each in self.updates if each.session_update == kind]


@asynccontextmanager
async def connected(home: Home, editor: Editor, *, is_killed: bool = False) -> AsyncIterator[Any]:
    """A connection to a process of its own, which ends when its input does, or is killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hermes_jobs", "acp"),
        env=home.environ,
        cwd=home.work,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    connection = acp.connect_to_agent(editor, process.stdin, process.stdout)
    try:
        started = await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_info=s.Implementation(name="My Editor", version="1"),
        )
        assert started.agent_capabilities.load_session
        yield connection
        if is_killed:
            process.kill()
        await connection.close()
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == (-SIGKILL if is_killed else 0)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def said(text: str) -> list[Any]:
    return [acp.text_block(text)]


def test_an_editor_prompts_permits_sees_diffs_answers_cancels_and_loads(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(SCRIPT)
    (home.work / "a.txt").write_text("old\n")
    (home.work / "build").mkdir()
    session = asyncio.run(_in_an_editor(home))
    asyncio.run(_in_another_one(home, session))

    with home.open_log() as log:
        facts = facts_of(log)
    submitted = [fact for fact in facts if isinstance(fact, e.TurnSubmitted)]
    assert {fact.source for fact in submitted} == {"acp:My-Editor"}
    assert len(submitted[-1].attachments) == 1
    assert [fact.by for fact in facts if isinstance(fact, e.ApprovalGiven)] == ["acp:My-Editor"]


async def _in_an_editor(home: Home) -> str:
    editor = Editor()
    async with connected(home, editor) as agent:
        session = (await agent.new_session(cwd=str(home.work), mcp_servers=[])).session_id
        editor.answer = lambda options: options["allow_once"]

        written = await agent.prompt(session_id=session, prompt=said("Write it"))
        assert written.stop_reason == "end_turn"
        assert editor.text == "I write it.Written."
        (call,) = editor.of("tool_call")
        assert (call.kind, call.status, call.locations[0].path) == ("edit", "pending", f"{home.work}/a.txt")
        *_, finished = editor.of("tool_call_update")
        assert (finished.status, finished.content[0].type) == ("completed", "diff")
        assert (finished.content[0].old_text, finished.content[0].new_text) == ("old\n", "new\n")
        assert (home.work / "a.txt").read_text() == "new\n"

        editor.asked.clear()
        await agent.prompt(session_id=session, prompt=said("Clean up"))
        ((asked, options),) = editor.asked
        assert (asked.kind, asked.title) == ("execute", "rm -r build")
        assert [option.kind for option in options][-1] == "reject_once"
        assert not (home.work / "build").exists()

        await agent.prompt(session_id=session, prompt=said("Ask me"))
        assert "Which colour?" in editor.text
        await agent.prompt(session_id=session, prompt=said("2"))
        assert editor.text.endswith("It is blue.")

        editor.answer = lambda options: None
        editor.is_asked.clear()
        other = (await agent.new_session(cwd=str(home.work), mcp_servers=[])).session_id
        prompting = asyncio.create_task(agent.prompt(session_id=other, prompt=said("Clean up again")))
        await editor.is_asked.wait()
        await agent.cancel(session_id=other)
        assert (await prompting).stop_reason == "cancelled"

        with pytest.raises(acp.RequestError, match="empty"):
            await agent.prompt(session_id=session, prompt=said(" "))
        with pytest.raises(acp.RequestError):
            await agent.prompt(session_id="nosuch", prompt=said("Hello"))
    return str(session)


async def _in_another_one(home: Home, session: str) -> None:
    """Given another process: the session is listed, loaded with its history, and goes on."""
    editor = Editor()
    async with connected(home, editor) as agent:
        listed = (await agent.list_sessions(cwd=str(home.work))).sessions
        assert session in {each.session_id for each in listed}
        await agent.load_session(cwd=str(home.work), session_id=session, mcp_servers=[])
        people = [each.content.text for each in editor.of("user_message_chunk")]
        assert people == ["Write it", "Clean up", "Ask me"]
        assert next(each.content[0].type for each in editor.of("tool_call_update") if each.content) == "diff"
        assert editor.text.endswith("It is blue.")
        shown = [*said("Picture"), acp.image_block(PIXEL, "image/png")]
        assert (await agent.prompt(session_id=session, prompt=shown)).stop_reason == "end_turn"
        assert editor.text.endswith("A picture.")
        with pytest.raises(acp.RequestError):
            await agent.load_session(cwd=str(home.work), session_id="nosuch", mcp_servers=[])


def test_a_turn_whose_process_was_killed_goes_on_where_its_session_is_loaded(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(SCRIPT)

    async def begun() -> str:
        editor = Editor()
        async with connected(home, editor, is_killed=True) as agent:
            session = (await agent.new_session(cwd=str(home.work), mcp_servers=[])).session_id
            prompting = asyncio.create_task(agent.prompt(session_id=session, prompt=said("Slow")))
            await editor.wait_for("I begin")
        with suppress(Exception):  # the connection was lost
            await prompting
        return str(session)

    async def loaded(session: str) -> None:
        editor = Editor()
        async with connected(home, editor) as agent:
            await agent.load_session(cwd=str(home.work), session_id=session, mcp_servers=[])
            model_server.release()
            await editor.wait_for("Released.")

    session = asyncio.run(begun())
    asyncio.run(loaded(session))
    with home.open_log() as log:
        ended = [fact for fact in facts_of(log) if isinstance(fact, e.TurnCompleted)]
    assert [fact.answer for fact in ended] == ["I beginReleased."]
