"""The checks of `hermes-jobs doctor`: one function per check, each returns a finding and a hint."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from hermes_jobs.errors import HermesJobsError, Misconfigured, Rejected
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, fail, ok, warn
from hermes_jobs.interfaces.cli.exit_codes import USAGE
from hermes_jobs.interfaces.cli.moments import format_day, format_time
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.runtime.up_state import is_running
from hermes_jobs.settings import Paths, find_home
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.llm.windows import Window
    from hermes_jobs.settings import Settings

LARGE_TOOLS_SHARE = 0.35  # of the window; the system prompt comes on top
LITTLE_SPACE, NO_SPACE = 1_000_000_000, 100_000_000  # bytes
SERVERS_AT_ONCE = 4  # MCP servers that are started or reached in parallel


def is_up(environ: Mapping[str, str]) -> bool:
    """Whether an `up` of the home runs, as far as known without its configuration."""
    try:
        paths = Paths(find_home(environ))
        return paths.run.is_dir() and is_running(paths)
    except (OSError, Misconfigured):
        return False


def home(settings: Settings) -> Iterator[DoctorFinding]:
    """The home is private, and the configuration is readable."""
    paths = settings.paths
    mode = stat.S_IMODE(paths.home.stat().st_mode)
    if mode & 0o077:
        yield warn("home", f"{paths.home} can be read by others (mode {mode:o}).", f"chmod 700 {paths.home}")
    else:
        yield ok("home", str(paths.home))
    changed = sorted(
        f"{key} ({origin})" if origin.startswith("environment ") else key
        for key, origin in settings.origins.items()
        if origin != "default"
    )
    text = f"set: {', '.join(changed)}" if changed else "every key has its default"
    there = "" if paths.config.exists() else " (there is none)"
    yield ok("config", f"{paths.config}{there} — {text}")


def toolsets(application: Application) -> Iterator[DoctorFinding]:
    """Unknown names of toolsets in the settings, which have no effect; and toolsets that nothing turns on."""
    configured = application.settings.toolsets
    try:
        toolbox = application.toolbox
    except Misconfigured:
        return  # a memory provider or context engine that cannot be used has a check of its own
    kinds = {
        f"agents.{name}.toolsets": kind.toolsets or () for name, kind in application.settings.agents.items()
    }
    named = {"toolsets.enabled": configured.enabled, "toolsets.disabled": configured.disabled, **kinds}
    for key, names in named.items():
        if unknown := [name for name in names if name not in toolbox.toolsets]:
            message = f"{key} contains an unknown toolset: {', '.join(unknown)}"
            yield warn("toolsets", message, f"Known: {', '.join(toolbox.toolsets)}.")
    if off := toolbox.never_on():
        yield ok(
            "toolsets", f"neither in toolsets.enabled nor in toolsets.disabled, so off: {', '.join(off)}"
        )


def own_tools(application: Application) -> Iterator[DoctorFinding]:
    """The user's own functions, and what keeps others from being tools; nothing where there are none."""
    try:
        own = application.own_tools
    except Misconfigured:
        return  # see `toolsets`
    if own.tools:
        names = (f"{tool.name} ({tool.effect}, {own.places[tool.name]})" for tool in own.tools)
        yield ok("tools", f"of your own: {', '.join(names)}")
    for fault in own.faults:
        yield warn("tools", f"{fault.where}: {fault.message}", "The agent works without it.")


def pauses(application: Application) -> Iterator[DoctorFinding]:
    """Auxiliary models that have failed and are paused."""
    from hermes_jobs.kernel.streams.model_pauses import STREAM, Pauses

    state, now = application.engine().state(STREAM), application.clock.now()
    assert isinstance(state, Pauses)
    for place in state.paused:
        if pause := state.at(place, now):
            until = format_time(pause.until)
            text = f"{pause.purpose}: {pause.model} rests until {until}; the main model is asked instead"
            yield warn("auxiliary", text, f"It failed: {pause.message}")


def budgets(application: Application) -> Iterator[DoctorFinding]:
    """Whether the configured limits can be enforced, and the spent share of the day's budget."""
    from hermes_jobs.kernel.streams.accounts import NANO
    from hermes_jobs.kernel.streams.budgets import DAY
    from hermes_jobs.text.moments import day_of

    settings = application.settings
    try:
        application.check_budgets()
    except Misconfigured as error:
        yield fail("budgets", error.message, error.hint, code=USAGE)
        return
    limit = settings.budgets.day_usd
    if limit is None:
        return
    day = day_of(application.clock.now(), settings.zone)
    try:
        account = application.log.account(DAY + day)
    except HermesJobsError:
        return
    spent, reserved = account.spent.nano_usd / NANO, account.reserved.nano_usd / NANO
    text = f"${spent:.4f} of ${limit:g} are spent today ({day}), ${reserved:.4f} reserved for running calls"
    yield DoctorFinding(check="budgets", status="ok" if spent < limit else "warn", message=text)


def verifications(application: Application) -> Iterator[DoctorFinding]:
    """Verifications that wait for the budget of the next day."""
    from hermes_jobs.features.replay.api import waiting_verifications
    from hermes_jobs.features.replay.cli.experiments.format import waiting_line
    from hermes_jobs.features.replay.rules.experiment import PREFIX

    for experiment in waiting_verifications(application.engine()):
        name = experiment.stream.removeprefix(PREFIX)
        hint = f"With a higher budgets.day_usd it continues now: hermes-jobs experiments run {name}"
        yield warn("learning", f"{name} is {waiting_line(experiment)}", hint)


WINDOW_SOURCES = {
    "setting": "model.context_length",
    "server": "named by the server{day}",
    "refusal": "named by the provider{day}; `hermes-jobs models forget-limits` forgets it",
    "list": "from the list of known models",
    "default": "assumed: the model is not known; model.context_length sets it",
}


def window_source(window: Window) -> str:
    """Where a window is from."""
    day = f" ({format_day(window.at)})" if window.at else ""
    return WINDOW_SOURCES[window.source].format(day=day)


def context(application: Application) -> DoctorFinding:
    """The context engine, its threshold, and the source of the window."""
    from hermes_jobs.features.compression.setup import BUILT_IN
    from hermes_jobs.prompt.builder import SMALL_WINDOW

    settings = application.settings
    try:
        engine = application.contexts.apart()
    except Misconfigured as error:
        return fail("context", error.message, error.hint, code=USAGE)
    main = settings.main_model
    model_window = application.endpoints.windows(main.base_url).window(main.model)
    window, threshold = model_window.tokens, engine.threshold(model_window.tokens)
    source = window_source(model_window)
    text = f"conversations are compressed at {threshold:,} of {window:,} tokens ({source})"
    if not settings.compression.enabled:
        text = "conversations are compressed only by `sessions compress` (compression.enabled is false)"
    if settings.context.engine != BUILT_IN:
        text += f", by the engine {settings.context.engine}"
    toolsets = application.toolbox.small() if window < SMALL_WINDOW else None
    tools = sum(spec.num_characters for spec in application.toolbox.specs(toolsets)) // CHARACTERS_A_TOKEN
    if tools < window * LARGE_TOOLS_SHARE:
        return ok("context", text)
    hint = (
        f"The tools alone take about {tools:,} tokens of that window: turn off toolsets that you do not need "
        "(toolsets.disabled), or use a model with a larger window."
    )
    return warn("context", text, hint)


def disk(settings: Settings) -> DoctorFinding:
    """Whether there is free disk space."""
    free = shutil.disk_usage(settings.paths.home).free
    text = f"{free / 1e9:.1f} GB free in {settings.paths.home}"
    if free >= LITTLE_SPACE:
        return ok("disk", text)
    status: Literal["warn", "fail"] = "warn" if free >= NO_SPACE else "fail"
    return DoctorFinding(
        check="disk", status=status, message=text, hint="Nothing can be recorded on a full disk."
    )


def mcp(application: Application) -> Iterator[DoctorFinding]:
    """Whether each MCP server can be started or reached, and used."""
    from concurrent.futures import ThreadPoolExecutor

    names = sorted(application.mcp.config)
    if not names:
        return
    _ = application.log, application.views
    with ThreadPoolExecutor(max_workers=SERVERS_AT_ONCE) as pool:
        yield from pool.map(lambda name: _mcp_server(application, name), names)


def _mcp_server(application: Application, name: str) -> DoctorFinding:
    from hermes_jobs.features.mcp import rules as mcp_servers
    from hermes_jobs.features.mcp.messages import Failed
    from hermes_jobs.tools.sandbox import layer
    from hermes_jobs.tools.sandbox_plan import NONE

    check = f"mcp {name}"[:14]
    try:
        listed = application.mcp.discover(name, os.getcwd())  # noqa: PTH109
    except Rejected as rejection:
        return warn(check, f"{name}: {rejection.message}", rejection.hint)
    except HermesJobsError as error:
        return warn(check, f"{name}: {error}")
    if isinstance(listed, Failed):
        hint = f"hermes-jobs mcp {'login' if listed.kind == 'login' else 'test'} {name}"
        last = listed.stderr.strip().splitlines()[-1:]
        text = f"{name}: {listed.message}{f'; its last line: {last[0][:200]}' if last else ''}"
        return warn(check, text, hint)
    state = application.engine().state(mcp_servers.stream_of(name))
    assert isinstance(state, mcp_servers.ServerListings)
    text = f"{name}: {pluralize(len(listed.tools), 'tool')}, specification {listed.protocol}"
    config = application.mcp.config[name]
    if config.command is not None and (config.sandbox == "off" or layer().name == NONE):
        text += ", not in a sandbox"
    if state.waiting is not None:
        hint = f"hermes-jobs mcp accept {name}"
        return warn(check, f"{text}; changed, and waits for you", hint)
    if listed.left_out:
        hint = f"hermes-jobs mcp show {name}"
        first = listed.left_out[0]
        more = f", and {others} more" if (others := len(listed.left_out) - 1) else ""
        reason = printable(f"{first.name!r}: {first.reason}")[:200]
        return warn(check, f"{text}; left out: {reason}{more}", hint)
    return ok(check, text)
