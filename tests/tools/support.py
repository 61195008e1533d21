"""What the tests of tools share: a desk of files, a cancel that can be fired, waiting for a condition."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.files import Files
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.search import FileSearch
from hermes_jobs.tools.toolbox import Toolbox

DEADLINE = 90.0


class Switch:
    """A `Cancel` that the test fires."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self.reason: str | None = None

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        with self._lock:
            if self.reason is None:
                self._callbacks.append(callback)
                return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None
        callback()
        return lambda: None

    def share_lease(self) -> None:
        """It is limited by no lease."""

    def fire(self, reason: str = "cancelled") -> None:
        with self._lock:
            self.reason = reason
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class Desk:
    """A working folder beside a home, and the tools on it."""

    def __init__(
        self, folder: Path, roots: tuple[str, ...] | None = None, *, seconds: int = 20, in_home: bool = False
    ) -> None:
        """With `in_home` the session works in the person's own home folder."""
        self.folder = folder
        self.work = folder if in_home else folder / "work"
        self.home = folder / "home"
        self.work.mkdir(exist_ok=True)
        self.home.mkdir()
        rules = self.paths = PathPolicy(home=str(self.home), user_home=str(folder), roots=roots)
        self.context = context_in(self.work)
        self.tools = Toolbox(
            (*Files(rules).tools, *FileSearch(rules, seconds=seconds).tools), enabled=("files",)
        )

    def verdict(self, name: str, *, attended: bool = True, **arguments: object) -> str:
        asked = ToolCall("x", name, json.dumps(arguments))
        return self.tools.verdict(asked, context_in(self.work, attended=attended)).decision

    def ask(self, name: str, cancel: Switch | None = None, /, **arguments: object) -> ToolOutcome:
        asked = ToolCall("x", name, json.dumps(arguments))
        return self.tools.run(asked, context_in(self.work), None, cancel or Switch())

    def read(self, path: object, **more: object) -> str:
        return self.ask("read_file", path=str(path), **more).content

    def write(self, path: object, content: str = "x") -> str:
        return self.ask("write_file", path=str(path), content=content).content

    def patch(self, path: object, old: str, new: str, **more: object) -> str:
        return self.ask("patch_file", path=str(path), old_string=old, new_string=new, **more).content

    def search(self, pattern: str, **more: object) -> str:
        return self.ask("search_files", pattern=pattern, **more).content


ENGINES = ("/run/docker.sock", "/run/podman")
"""Sockets of engines that some machines have: tests count them as shown, so that no machine differs."""


def context_in(workdir: Path | str, *, attended: bool = True, approved: bool = False) -> ToolContext:
    return ToolContext(
        session="s1", turn="t1", call="t1-1-0", workdir=str(workdir), attended=attended, approved=approved
    )


def wait_until(condition: Callable[[], bool], what: str, *, seconds: float = DEADLINE) -> None:
    """Return as soon as the condition holds; fail after so many seconds."""
    give_up = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain for: {what}"
        pause.wait(0.01)


def processes_with(mark: str) -> list[int]:
    """The living processes whose command line or environment holds the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in text and state != "Z":
                found.append(int(folder.name))
    return found
