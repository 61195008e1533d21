"""A summariser for benchmarks that copies: what is lost is lost by the form of summaries, or by rule."""

from __future__ import annotations

import re
import zlib

from hermes_jobs.text.tokens import tokens
from tests.benchmarks.remembering.retention import Work

EARLIER = "## Earlier"
_CALL = re.compile(
    r'\(calls (\w+) \{"(?:path|command)": "([^"]+)"\}\)\n\n'
    r"\[RESULT OF \w+\]\n(?:[^\[]*?\[(exit code \d)\]|(Error))?"
)


class Copyist:
    """Writes down the facts and the outcomes of calls that it reads, as many as it has room for.

    `every`: it leaves out about one line in so many each time that it writes, 0 for none. Which ones follows
    from the line, from how often it has written, and from the seed, so that each run is the same.
    """

    def __init__(self, work: Work, every: int, seed: int = 0) -> None:
        self._facts = [fact.says for part in work.parts for fact in part.facts]
        self._targets = [call.target for part in work.parts for call in part.calls]
        self._every = every
        self._seed = seed
        self._written = 0

    def __call__(self, system_prompt: str, text: str, max_tokens: int) -> str:
        """See `AskSummariser`."""
        self._written += 1
        before, marker, since = text.partition("What has happened since:")
        if not marker:
            before, since = "", text
        old, new = self._kept(self._read(before)), self._kept(self._read(since))
        apart = EARLIER in text
        detail = new if apart else [*old, *new]
        room = max_tokens - 40
        lines = [*_fitting(detail[::-1], room)][::-1]
        answer = "\n".join(
            ("## Active Task", "Go on.", "## Critical Context", *(f"- {line}" for line in lines))
        )
        if not apart:
            return answer
        room -= tokens("\n".join(lines))
        condensed = _fitting([line for line in old if line not in lines], room)
        return "\n".join((answer, EARLIER, *(f"- {line}" for line in condensed)))

    def _read(self, text: str) -> list[str]:
        """The facts and outcomes there, from the transcript or as it wrote them before."""
        done = [
            f"{name} {target}: {code or ('failed' if error else 'ok')}"
            for name, target, code, error in _CALL.findall(text)
        ]
        noted = [
            line[2:]
            for line in text.splitlines()
            if line.startswith("- ") and any(target in line for target in self._targets) and ";" not in line
        ]
        return [*(fact for fact in self._facts if fact in text), *dict.fromkeys((*noted, *done))]

    def _kept(self, lines: list[str]) -> list[str]:
        if not self._every:
            return lines
        told = f"{self._seed} {self._written}"
        return [line for line in lines if zlib.crc32(f"{told} {line}".encode()) % self._every]


def _fitting(lines: list[str], room: int) -> list[str]:
    kept = []
    for line in lines:
        room -= tokens(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept
