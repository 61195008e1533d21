"""The parts of the docs that are read off the code: each a name and the Markdown that stands for it."""

from __future__ import annotations

import inspect
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args, get_type_hints

import click
import grimp
import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.interfaces.chat.commands import COMMANDS
from hermes_jobs.interfaces.chat.info_commands import describe_tool
from hermes_jobs.interfaces.cli import hermes_jobs
from hermes_jobs.interfaces.cli.help import TOPICS, Bullets, Rows
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.streams.stream_kind import StreamKind
from hermes_jobs.kernel.streams.streams import kinds
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.llm.providers import PROVIDERS
from hermes_jobs.runtime.queues import QUEUES
from hermes_jobs.settings import known_keys, load
from hermes_jobs.settings.search_providers import SEARCH_PROVIDERS
from hermes_jobs.settings.sections import Configuration
from hermes_jobs.settings.sections.tools import Toolsets
from hermes_jobs.tools.command_line import OFFERED, SHARED
from hermes_jobs.tools.command_rules.rules import rule_set
from hermes_jobs.tools.sandbox_overview import BACKENDS, overview
from hermes_jobs.tools.toolbox import ALWAYS
from tests.docs.pages import ROOT
from tests.domain.world import World

HELP = {"-h", "--help"}
CURATION = "curation"  # the curator's own tools


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = (" | ".join(cell.replace("|", r"\|") for cell in line) for line in [heads, *rows])
    first, *others = (f"| {line} |" for line in lines)
    return "\n".join([first, f"|{'---|' * len(heads)}", *others])


def code(text: str) -> str:
    """The text as code, or nothing for no text."""
    return f"`{text}`" if text else ""


def first_sentence(text: str | None) -> str:
    """How a docstring begins, on one line."""
    paragraph = " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return f"{sentence}." if stop else paragraph


# --- the layers ------------------------------------------------------------------------------


def layers() -> list[list[str]]:
    """The packages of each layer, the uppermost first, as import-linter holds them."""
    linted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(each["layers"] for each in linted["contracts"] if each["type"] == "layers")
    return [[name.strip().strip("()") for name in layer.replace("|", ":").split(":")] for layer in layers]


def packages() -> str:
    """A picture of the layers, and what each package is and imports."""
    lines = ["```mermaid", "flowchart TB"]
    lines += [f'    layer{at}["{" · ".join(map(_short, names))}"]' for at, names in enumerate(layers())]
    lines += [f"    layer{at} --> layer{at + 1}" for at in range(len(layers()) - 1)]
    rows = [
        (code(name), first_sentence(import_module(name).__doc__), ", ".join(map(_short, sorted(imported))))
        for name, imported in _imports().items()
    ]
    return "\n".join([*lines, "```", "", table(("package", "what it is", "imports"), rows)])


def _short(name: str) -> str:
    return name.removeprefix("hermes_jobs.")


def _imports() -> dict[str, set[str]]:
    """Which packages of ours each package imports, the uppermost layer first."""
    names = [name for layer in layers() for name in layer]
    graph = grimp.build_graph(
        "hermes_jobs", "workers", "schedules", exclude_type_checking_imports=True, cache_dir=None
    )
    imports: dict[str, set[str]] = {name: set() for name in names}
    for module in graph.modules:
        package = _package_of(module, names)
        for imported in graph.find_modules_directly_imported_by(module):
            other = _package_of(imported, names)
            if package and other and other != package:
                imports[package].add(other)
    return imports


def _package_of(module: str, names: Iterable[str]) -> str | None:
    return next((name for name in names if f"{module}.".startswith(f"{name}.")), None)


# --- the life of a turn ----------------------------------------------------------------------


def turn() -> str:
    """What is due and what is written, in order, of a turn with two tools side by side."""
    world = World()
    written = 0
    lines = [
        "```mermaid",
        "sequenceDiagram",
        "    participant send",
        "    participant log",
        "    participant turns as a worker of turns",
        "    participant tools as a worker of tools",
    ]

    def note(author: str) -> None:
        nonlocal written
        facts = [type(fact).__name__ for fact in world.facts[written:]]
        written = len(world.facts)
        lines.append(f"    {author}->>log: {', '.join(facts)}")

    def due(steps: Iterable[Step]) -> None:
        lines.extend(f"    log-->>{step.queue}: {step.kind} {step.id}" for step in steps)

    world.submit("What do the two files say?")
    note("send")
    due(world.due)
    world.prefetch()
    note("turns")
    due(world.due)
    world.reply(calls=(("read_file", "read"), ("read_file", "read")))
    note("turns")
    both = world.due
    due(both)
    for step in both:
        world.begin(step)
        world.finish_tool(step)
        note("tools")
    due(world.due)
    world.reply("They say hello.")
    note("turns")
    due(world.due)
    world.record()
    note("turns")
    return "\n".join([*lines, "```"])


# --- tasks and events ------------------------------------------------------------------------


def queues() -> str:
    """Every queue with its tasks."""
    tasks: dict[str, list[str]] = defaultdict(list)
    for task, queue in QUEUES.items():
        tasks[queue].append(task)
    rows = [(code(queue), ", ".join(map(code, names))) for queue, names in tasks.items()]
    return table(("queue", "tasks"), rows)


def events() -> str:
    """Every event by the kind of stream that holds it."""
    shown = []
    for about, types in _facts_by_stream().items():
        rows = [
            (code(kind.__name__), ", ".join(kind.__struct_fields__), first_sentence(kind.__doc__))
            for kind in types
        ]
        shown.append(f"### {about}\n\n{table(('event', 'fields', ''), rows)}")
    return "\n\n".join(shown)


def _facts_by_stream() -> Mapping[str, Sequence[type[e.Event]]]:
    """Types by the streams that hold them; kinds of streams that share theirs stand together."""
    streams: dict[tuple[type[e.Event], ...], list[str]] = defaultdict(list)
    for kind in kinds():
        name = f"{kind.prefix}…" if kind.prefix.endswith("-") else kind.prefix
        streams[_facts_of(kind)].append(name)
    missing = set(EVENT_TYPES.values()).difference(*streams)
    assert not missing, f"no stream folds {missing}"
    return {" and ".join(map(code, names)): kinds for kinds, names in streams.items()}


def _facts_of(kind: StreamKind) -> tuple[type[e.Event], ...]:
    """What the kind's fold takes, by its annotation."""
    hints = [hint for name, hint in get_type_hints(kind.evolve).items() if name != "return"]
    return get_args(hints[1]) or (hints[1],)


# --- what people set and call ----------------------------------------------------------------


def keys() -> str:
    """Every key of the configuration."""
    rows = [
        (code(key.name), code(_written(_default(key.parts))), key.expected, key.description)
        for key in known_keys().values()
    ]
    return table(("key", "default", "takes", "meaning"), rows)


def _default(parts: Iterable[str]) -> object:
    value: object = Configuration()
    for part in parts:
        value = getattr(value, part)
    return value


def _written(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode().replace('"', "")


def commands() -> str:
    """Every command with its flags."""
    rows = [
        (
            code(" ".join(["hermes-jobs", *path, *_arguments(command)])),
            first_sentence(command.help),
            _flags(command),
        )
        for path, command in leaves(hermes_jobs)
    ]
    return table(("command", "what it does", "flags"), rows)


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below the group that is not a group, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command


def _arguments(command: click.Command) -> list[str]:
    context = click.Context(command)
    return [each.make_metavar(context) for each in command.params if isinstance(each, click.Argument)]


def _flags(command: click.Command) -> str:
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    names = [max(each.opts, key=len) for each in options]
    return " ".join(code(name) for name in names if name not in HELP)


def providers() -> str:
    """Every provider: what to set, and what is known of it."""
    known = {True: "yes", False: "no", None: "unknown"}
    rows = [
        (
            f"[{each.title}]({each.docs})",
            code(each.name),
            code(each.base_url or ""),
            " or ".join(map(code, each.keys)) + ("" if each.needs_key else ", if it wants one"),
            known[each.lists_models],
            each.caching + (f": {each.cache_note}" if each.cache_note else ""),
        )
        for each in PROVIDERS.values()
    ]
    heads = ("provider", "`model.provider`", "address", "key", "lists models", "prompt caching")
    return table(heads, rows)


def tools() -> str:
    """Every tool that works for a person, by toolset, and which toolsets are on."""
    with TemporaryDirectory() as folder:
        searching = {"HERMES_JOBS_WEB__SEARCH__PROVIDER": "searxng"}
        application = Application(load(searching, home=Path(folder)), {})
        try:
            found = [each for each in application.toolbox.tools if each.toolset != CURATION]
        finally:
            application.close()
    on = {*Toolsets().enabled, *ALWAYS}
    rows = [
        (
            code(each.name),
            code(each.toolset) + ("" if each.toolset in on else " (off)"),
            "only reads" if each.effect == "read" else "",
            describe_tool(each.name, each.description),
        )
        for each in sorted(found, key=lambda each: (each.toolset not in on, each.toolset, each.name))
    ]
    return table(("tool", "toolset", "", "what it does"), rows)


def shared() -> str:
    """Each question about what others share, and the programs that raise it."""
    programs: dict[str, list[str]] = {name: [] for name in SHARED}
    for rule in rule_set("ask").rules:
        if rule.name in programs:
            programs[rule.name] += rule.programs.split()
    rows = [
        (
            name,
            ", ".join(map(code, sorted({*named}))),
            "all such calls of the program and its verb" if name in OFFERED else "exactly that command",
        )
        for name, named in programs.items()
    ]
    return table(("question", "programs", "`s` and `a` remember"), rows)


def search_providers() -> str:
    """Every search provider: what to set, and what one should know of it."""
    rows = [
        (
            f"[{each.title}]({each.docs})",
            code(each.name),
            code(each.base_url or "") or ("`web.search.base_url`" if each.name == "searxng" else ""),
            code(each.key) if each.key else "",
            each.note,
        )
        for each in SEARCH_PROVIDERS.values()
    ]
    return table(("provider", "`web.search.provider`", "address", "key", "worth knowing"), rows)


def topic(name: str) -> Callable[[], str]:
    """What `hermes-jobs help` tells about that topic."""

    def block(found: str | Rows | Bullets) -> str:
        if isinstance(found, Rows):
            return table(found.heads, [(code(first), second) for first, second in found.rows])
        return "\n".join(f"* {item}" for item in found.items) if isinstance(found, Bullets) else found

    return lambda: "\n\n".join(map(block, TOPICS[name].blocks))


def chat_commands() -> str:
    """Every slash command, by its group."""
    rows = [
        (
            f"**{group}**" if first else "",
            code(each.usage) + "".join(f", {code(f'/{alias}')}" for alias in each.aliases),
            each.summary,
        )
        for group, found in COMMANDS.items()
        for first, each in zip(chain([True], repeat(False)), found, strict=False)
    ]
    return table(("", "command", "what it does"), rows)


def sandbox() -> str:
    """What commands see and may write, by backend."""
    return table(("", *(f"`{name}`" for name in BACKENDS)), overview())


PARTS: Mapping[str, Callable[[], Any]] = {
    "chat_commands": chat_commands,
    "shared": shared,
    "tools": tools,
    "sandbox": sandbox,
    "help_exit_codes": topic("exit-codes"),
    "help_environment": topic("environment"),
    "help_files": topic("files"),
    "help_json": topic("json"),
    "packages": packages,
    "turn": turn,
    "queues": queues,
    "events": events,
    "keys": keys,
    "commands": commands,
    "providers": providers,
    "searchers": search_providers,
}
