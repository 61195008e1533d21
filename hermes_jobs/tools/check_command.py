"""Commands that check an answer: run in a scratch folder, in the sandbox of the tool `terminal`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hermes_jobs.kernel.engine.ports import Cancel, StepInterrupted, ToolContext, Verdict
from hermes_jobs.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.tools.tool import ToolFailed, ToolRefused

FILE = "answer.txt"
MAX_OUTPUT_CHARS = 500
"""Stored characters of the output, from its end."""


class CheckCommand:
    """Runs commands of checks."""

    def __init__(self, options: TerminalOptions, ids: Callable[[str], str]) -> None:
        self._options = options
        self._ids = ids

    def __call__(self, command: str, answer: str, cancel: Cancel) -> tuple[bool, str]:
        """Whether the command exits with 0 in a new folder with the answer in `answer.txt`, and the end of
        its output. A command denied by a rule is not run. Raises `StepInterrupted`."""
        with TemporaryDirectory(prefix="hermes-check-") as folder:
            Path(folder, FILE).write_text(answer, encoding="utf-8", errors="replace")
            call = self._ids("k")
            context = ToolContext(session="", turn="", call=call, workdir=folder, attended=False)
            policy = self._options.policy
            verdict = policy.verdict(command, context)
            if verdict.decision == "deny":
                return False, verdict.refusal()
            if code := policy.unconfined_code(command, context):
                return False, Verdict("deny", code, advice="").refusal()
            try:
                ended = Terminal(self._options).run(context, cancel, command)
            except (ToolFailed, ToolRefused) as error:
                return False, str(error)[:MAX_OUTPUT_CHARS]
        if ended.interrupted:
            raise StepInterrupted
        return ended.ok, "" if ended.ok else ended.content[-MAX_OUTPUT_CHARS:]
