"""What prompts leave out of the memory: said by `doctor`, and at a person's turn."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_jobs.agent.memory.files import NAMES
from hermes_jobs.agent.memory.prompt_section import OVER, left_out
from hermes_jobs.bootstrap import Application
from hermes_jobs.domain.memory.memory import TARGETS, chars
from hermes_jobs.interfaces.cli.checks import Finding
from hermes_jobs.text.plural import pluralize

HINT = "`hermes-jobs memory show` marks them; merge, shorten or remove entries there or in the file."


def memory(application: Application) -> Iterator[Finding]:
    """How full the memory is, and what of it no prompt has."""
    now, limits = application.memory.sync(), application.memory_limits
    problems = []
    for target in TARGETS:
        entries, limit = now.entries(target), limits.of(target)
        out = left_out(entries, limit, now.allowed)
        over = [entry for entry in out if out[entry] == OVER]
        if over:
            problems.append(
                f"{NAMES[target]} has {chars(entries):,} of {limit:,} characters: prompts leave out "
                f"{pluralize(len(over), 'entry', 'entries')}"
            )
        if len(out) > len(over):
            count = pluralize(len(out) - len(over), "entry", "entries")
            problems.append(f"{NAMES[target]} has {count} that prompts leave out by a rule")
    for problem in problems:
        yield Finding(check="memory", status="warn", message=problem, hint=HINT)
    if not problems:
        sizes = (f"{target} {chars(now.entries(target)):,}/{limits.of(target):,}" for target in TARGETS)
        yield Finding(check="memory", status="ok", message=f"{', '.join(sizes)} characters")
