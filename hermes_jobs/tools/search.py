"""The `search_files` tool: a search in a subprocess, with its results in pages."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH110

from __future__ import annotations

import os
from typing import Annotated

import msgspec
from msgspec import Meta

from hermes_jobs.kernel.engine.ports import Cancel, ToolContext, ToolOutcome, Verdict
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.figures import pluralize
from hermes_jobs.tools.files import PathRules
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.processes import Completed
from hermes_jobs.tools.search_process import MAX_FILE_BYTES, Mode, Query, SearchEnding
from hermes_jobs.tools.subprocess_call import request, responses
from hermes_jobs.tools.terminal import check_workdir
from hermes_jobs.tools.text_pages import PAGE_CHARS
from hermes_jobs.tools.tool import Arguments, Tool, ToolFailed, tool

SECONDS = 20
KILL_GRACE_SECONDS = 5  # seconds more, after which the process is killed without a response
HEADER_CHARS = 1_000
RESULTS = 200


class FileSearch:
    """Searches in files inside the roots."""

    def __init__(self, paths: PathPolicy, *, seconds: int = SECONDS) -> None:
        self._paths = paths
        self._seconds = seconds

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The family's tools."""

        def guard(arguments: Arguments, context: ToolContext) -> Verdict:
            return self._paths.verdict(arguments["path"], context, writes=False)

        rules = PathRules(self._paths, "read", writes=False)
        return (
            tool(toolset="files", effect="read", reads=_path, guard=guard, rules=rules)(self.search_files),
        )

    def search_files(  # noqa: PLR0913 - what a model can ask for
        self,
        caller: ToolContext,
        cancel: Cancel,
        pattern: Annotated[str, Meta(max_length=2_000, description="Python's syntax.")],
        *,
        path: Annotated[str, "A folder or file."] = ".",
        glob: Annotated[
            Annotated[str, Meta(max_length=1_000)] | None,
            "Such as `*.py`, `src/**/*.{ts,tsx}`, `!*.md`.",
        ] = None,
        mode: Annotated[
            Mode,
            "`content`: lines; `files`: files with a match; `count`: matches per file; `names`: files whose "
            "path matches.",
        ] = "content",
        context: Annotated[int, Meta(ge=0, le=20, description="Lines around a match.")] = 0,
        ignore_case: bool = False,
        offset: Annotated[int, Meta(ge=0, description="Results to skip.")] = 0,
        limit: Annotated[int, Meta(ge=1, le=2_000)] = RESULTS,
    ) -> ToolOutcome:
        """Search the lines of text files by a regular expression, or find files by path.

        Skips binaries, files over 5 MB and what .gitignore names, unless `path` is one of them. At most
        50,000 characters per call; the first line of the result says how to continue.
        """
        check_workdir(caller.workdir)
        real = self._paths.to_read(path, caller.workdir)
        self._paths.check_approved(real, caller, writes=False)
        if not os.path.exists(real):
            raise ToolFailed(f"{path} does not exist.")
        query = Query(
            paths=self._paths,
            base=real,
            top=next(
                (root for root in self._paths.real_roots(caller.workdir) if is_inside(real, root)), real
            ),
            workdir=os.path.realpath(caller.workdir),
            pattern=pattern,
            glob=glob,
            mode=mode,
            context=context,
            ignore_case=ignore_case,
            offset=offset,
            limit=limit,
            limit_chars=PAGE_CHARS - HEADER_CHARS,
            seconds=self._seconds,
        )
        completed = request(
            "hermes_jobs.tools.search_process",
            query,
            timeout=self._seconds + KILL_GRACE_SECONDS,
            cancel=cancel,
        )
        return _outcome(completed, query)


def _path(arguments: Arguments) -> tuple[str, ...]:
    return (arguments["path"],)


def _outcome(completed: Completed, query: Query) -> ToolOutcome:
    values = responses(completed)
    results = [value for value in values if isinstance(value, str)]
    endings = [msgspec.convert(value, described(SearchEnding)) for value in values if isinstance(value, dict)]
    if completed.interrupted:
        return ToolOutcome(content="Interrupted.", ok=False, interrupted=True)
    ending = endings[-1] if endings else _missing_ending(completed, len(results))
    if ending.wrong is not None:
        raise ToolFailed(ending.wrong)
    notes = "".join(f"\n[{note}]" for note in _notes(ending, query))
    text = "\n".join(results)
    return ToolOutcome(content=f"[{_header(ending, query)}]{notes}\n{text}".rstrip("\n"))


def _missing_ending(completed: Completed, num_shown: int) -> SearchEnding:
    if completed.timed_out:
        return SearchEnding(shown=num_shown, stopped_in="a file")
    raise ToolFailed(f"the search ended without an answer (exit code {completed.exit_code}).")


def _header(ending: SearchEnding, query: Query) -> str:
    what = {"content": "matching lines", "names": "files"}.get(query.mode, "files with matches")
    among = f"; {pluralize(ending.files, 'file')} searched"
    if not ending.shown:
        return f"no {'more ' if query.offset else ''}{what}{among}"
    first, last = query.offset + 1, query.offset + ending.shown
    more = f"; there are more: continue with offset={last}" if ending.more else among
    return f"{what} {first:,}–{last:,}{more}"


def _notes(ending: SearchEnding, query: Query) -> list[str]:
    notes: list[str] = []
    if ending.stopped_in is not None:
        notes.append(
            f"stopped after {query.seconds} s, in {ending.stopped_in}: the rest was not searched. "
            "Simplify the pattern, or narrow path or glob."
        )
    if ending.num_large:
        more = "" if ending.num_large <= len(ending.large) else " and others"
        notes.append(
            f"not searched, as over {MAX_FILE_BYTES // 1024**2} MB: {', '.join(ending.large)}{more}; "
            "name one as path to search it"
        )
    return notes
