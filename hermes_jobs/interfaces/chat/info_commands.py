"""Slash commands with information: the session, its cost, its tools."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_jobs.features.usage.tables.usage import select_spending, select_unknown_costs
from hermes_jobs.interfaces.chat.session_commands import MEANINGS
from hermes_jobs.interfaces.chat.slash import ChatContext
from hermes_jobs.interfaces.cli.model_format import model_label, tokens_label
from hermes_jobs.interfaces.cli.output import cut, one_line
from hermes_jobs.kernel.views.models import SessionView
from hermes_jobs.text.figures import cost_text, money, pluralize, unknown_costs


def status(chat: ChatContext, _rest: str) -> None:
    """Show the model, folder, context usage and workers."""
    from hermes_jobs import __version__
    from hermes_jobs.interfaces.chat.toolbar import toolbar_status

    application, conversation = chat.application, chat.conversation
    settings, here = application.settings, conversation.session
    current = toolbar_status(application, conversation)
    name = here.id if here is not None else "new; it starts with your next message"
    state = "a turn runs" if current.is_running else "idle"
    if current.waiting:
        state += f", {pluralize(current.waiting, 'turn')} waiting"
    works = "workers (hermes-jobs queues lists them)" if application.workers.are_live() else "this process"
    _fields(
        chat,
        {
            "Model": f"{one_line(current.model)} ({model_label(settings, current.model)})",
            "Session": f"{name} · {here.title}" if here is not None and here.title else name,
            "State": state,
            "Folder": conversation.workdir,
            "Context": f"{current.fill or 'unknown until the next answer,'} of {current.window:,} tokens",
            "Cost": money(current.cost_usd),
            "Mode": f"{conversation.mode}: {MEANINGS[conversation.mode]}",
            "Work done by": works,
            "Home": str(settings.paths.home),
            "Version": __version__,
        },
    )


def cost(chat: ChatContext, _rest: str) -> None:
    """Show usage and cost of this session, and of today."""
    application, lineage = chat.application, chat.conversation.lineage
    budgets = application.settings.budgets
    if lineage is None:
        chat.print_line("This session: no cost yet.")
    else:
        _say_spent(chat, application.views.session(lineage), budgets.session_usd)
    days = application.views.read(select_spending, by="day", zone=application.settings.zone)
    today = application.clock.now()
    key = _day(today, application.timezone)
    spent = next((row for row in days if row.key == key), None)
    if spent is not None:
        cost = cost_text(spent.cost_usd, spent.known_cost_usd)
        today_done = f"Today: {pluralize(spent.requests, 'model call')}, {cost}"
        chat.print_line(f"{today_done}{_limit(budgets.day_usd)}. /usage adds up by model.")


def _say_spent(chat: ChatContext, session: SessionView, limit: float | None) -> None:
    totals = session.totals
    counts = f"{pluralize(session.num_turns, 'turn')}, {pluralize(totals.num_model_calls, 'model call')}"
    cost = cost_text(totals.cost_usd, totals.known_cost_usd)
    chat.print_line(f"This session: {counts}, {cost}{_limit(limit)}.")
    below = chat.application.views.used_below(session.lineage)
    if below.num_model_calls:
        calls = pluralize(below.num_model_calls, "model call")
        chat.print_line(f"Its sub-agents: {calls}, {cost_text(below.cost_usd, below.known_cost_usd)}.")
    if missing := unknown_costs(chat.application.views.read(select_unknown_costs, lineage=session.lineage)):
        chat.print_line(f"Not in the cost: {missing}.")
    chat.print_line(f"Tokens: {tokens_label(totals.usage)}.")


def _limit(limit: float | None) -> str:
    return "" if limit is None else f" of at most ${limit:g}"


def _day(moment: float, zone: str) -> str:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return datetime.fromtimestamp(moment, ZoneInfo(zone)).date().isoformat()


def tools(chat: ChatContext, _rest: str) -> None:
    """List the agent's tools in this session, with descriptions."""
    here, start = chat.conversation.session, chat.conversation.start
    chosen = here.started.toolsets if here is not None and here.started is not None else start.toolsets
    toolbox = chat.application.toolbox
    specs = (toolbox if here is None else toolbox.of(here)).specs(chosen)
    _fields(chat, {spec.name: describe_tool(spec.name, spec.description) for spec in specs})
    chat.print_line("Other tools need a new session: hermes-jobs chat --toolsets A,B")


def _fields(chat: ChatContext, fields: Mapping[str, str]) -> None:
    """Names and values below each other, each cut to one line of the terminal."""
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        if value:
            chat.print_line(cut(f"{name:<{width}}  {one_line(value)}", chat.columns() - 1))


TOOL_WORDS: Mapping[str, str] = {
    "terminal": "runs a shell command in the session's folder, or in the background",
    "process": "lists, reads, types into and kills background processes",
    "read_file": "reads a text file or PDF document page by page, or shows a picture",
    "write_file": "writes a whole file, and the folders that it needs",
    "patch_file": "replaces a text within a file",
    "search_files": "finds lines by a regular expression, or files by name; passes over what git ignores",
    "web_fetch": "fetches one page of the public Internet as text",
    "web_search": "searches the web through the provider that is set",
    "memory": "adds, replaces and removes memory entries",
    "skills_list": "lists the skills",
    "skill_view": "reads a skill",
    "skill_manage": "writes, changes and deletes skills",
    "session_search": "searches earlier conversations",
    "recall_compacted": "searches the messages that a summary has replaced",
    "schedule": "adds, lists, changes and removes schedules",
    "todo": "keeps a list of steps for longer work",
    "delegate": "delegates parts of the work to sub-agents",
}


def describe_tool(name: str, description: str) -> str:
    """A short description of that tool; for one of a plugin, the beginning of its description."""
    if name in TOOL_WORDS:
        return TOOL_WORDS[name]
    line = " ".join(description.split())
    sentence, stop, _ = line.partition(". ")
    return f"{sentence}." if stop else line
