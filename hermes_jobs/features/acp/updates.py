"""Events of a session as updates of ACP: text, calls with their status and diffs, and the plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import acp

from hermes_jobs.interfaces.cli.output import cut, one_line
from hermes_jobs.interfaces.cli.questions.edit_diff import arguments_of, command_of, edited_texts
from hermes_jobs.interfaces.cli.turns.progress import call_details
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.live import LiveTranscript, TextDelta
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.titles import revealed

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

TITLE_WIDTH = 120
RESULT_CHARS = 20_000
KINDS = {
    "terminal": "execute",
    "process": "execute",
    "read_file": "read",
    "write_file": "edit",
    "patch_file": "edit",
    "search_files": "search",
    "session_search": "search",
    "web_search": "search",
    "web_fetch": "fetch",
    "enter_plan_mode": "switch_mode",
}
PLAN = {"cancelled": "completed"}


class Updates:
    """The updates of one session. `replays`: with people's texts, which the editor has not seen."""

    def __init__(self, application: Application, folder: str, *, replays: bool = False) -> None:
        self._snapshots = application.snapshots
        self._redact = application.settings.secrets.redact
        self._folder = folder
        self._replays = replays
        self._live = LiveTranscript()
        self._sent: dict[str, str] = {}  # the text that the editor has of each step
        self._diffs: dict[str, list[Any]] = {}

    def of_delta(self, delta: TextDelta) -> Iterator[Any]:
        """The next part of an answer, as the model writes it."""
        if not delta.tool and self._live.add_delta(delta):
            yield from self._text(delta.step, self._live.text)

    def of_event(self, event: e.Event) -> Iterator[Any]:
        """The updates of an event."""
        match event:
            case e.TurnSubmitted() if self._replays:
                yield acp.update_user_message_text(self._redact(event.text))
            case e.ModelReplied(purpose="turn"):
                self._live.end(event.step, event.attempt)
                yield from self._text(event.step, event.content)
                for call, planned in zip(event.tool_calls, event.plan, strict=False):
                    yield self.announced(planned.call, call)
            case e.ToolStarted():
                yield acp.update_tool_call(event.call, status="in_progress")
            case e.FileWritten() if not event.protected:
                self._diffs.setdefault(event.call, []).extend(self._diff(event.change))
            case e.ToolFinished():
                text = self._redact(event.content[:RESULT_CHARS])
                shown = [acp.tool_content(acp.text_block(text))] if text else []
                content = self._diffs.pop(event.call, None) or shown
                status = "completed" if event.ok else "failed"
                yield acp.update_tool_call(event.call, status=status, content=content)
            case e.ToolInterrupted():
                text = acp.tool_content(acp.text_block(f"Interrupted: {event.reason}"))
                yield acp.update_tool_call(event.call, status="failed", content=[text])
            case e.TodosWritten():
                entries = [
                    acp.plan_entry(self._redact(item.text), status=PLAN.get(item.status, item.status))
                    for item in event.items
                ]
                yield acp.update_plan(entries)
            case _:
                pass

    def announced(self, call_id: str, call: ToolCall) -> Any:
        """A call that is planned: its title, and the edit or the arguments."""
        return acp.start_tool_call(call_id, **self.described(call), status="pending")

    def described(self, call: ToolCall) -> dict[str, Any]:
        """The title, the kind, the content and the places of a call."""
        command, path = command_of(call), arguments_of(call).get("path")
        details = self._redact(revealed(command) or call_details(call.name, call.arguments))
        content = [acp.tool_content(acp.text_block(details))]
        places = []
        if isinstance(path, str):
            file = str(Path(self._folder, path).expanduser())
            places = [acp.schema.ToolCallLocation(path=file)]
            before, after = edited_texts(call, self._folder)
            if after is not None and not self._replays:
                content = [acp.tool_diff_content(file, self._redact(after), self._old(before))]
        return {
            "title": cut(one_line(details), TITLE_WIDTH),
            "kind": KINDS.get(call.name, "other"),
            "content": content,
            "locations": places,
        }

    def _text(self, step: str, text: str) -> Iterator[Any]:
        """What the editor does not have of the text of a step. A repeated attempt begins a paragraph."""
        text, sent = self._redact(text), self._sent.get(step, "")
        if sent.startswith(text):
            return
        self._sent[step] = text
        new = text[len(sent) :] if text.startswith(sent) else f"\n\n{text}"
        yield acp.update_agent_message_text(new)

    def _diff(self, change: e.FileChange) -> Iterator[Any]:
        """The change of a file, if both of its states are kept as texts."""
        texts = [self._kept(change.before), self._kept(change.after)]
        if None not in texts:
            before, after = (self._redact(text or "") for text in texts)
            yield acp.tool_diff_content(change.path, after, before if change.before else None)

    def _kept(self, state: e.FileState | None) -> str | None:
        if state is None:
            return ""
        content = self._snapshots.load(state.digest) if state.digest else None
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError:
            return None

    def _old(self, before: str | None) -> str | None:
        return None if before is None else self._redact(before)
