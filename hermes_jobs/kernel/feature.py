"""What a feature may declare, and the features that `hermes_jobs.app` lists.

A feature is a folder in `hermes_jobs.features`; its `__init__` holds its declaration, `FEATURE`. A part is
named `module:name` inside that folder and imported when it is first needed: a declaration imports nothing, so
that `--help` stays fast. Whoever needs parts of a kind loops over `parts(kind)`, and never names a feature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "events",
    "streams",
    "reaction",
    "turn_end",
    "steps",
    "model_steps",
    "tables",
    "built",
    "tools",
    "prompt",
    "asking",
    "holding",
    "waiting",
    "deciding",
    "planning",
    "upkeep",
    "checks",
    "setup",
    "gateway",
    "tracing",
]
"""The kinds of parts of which a feature has at most one, named like the fields of `Feature`."""


Finder = Callable[[Any, str], str]
"""Finds the id that a name means, as its beginning does, in an `Application`. Raises `Rejected`: `ambiguous`,
or another kind where there is none."""


class Command(NamedTuple):
    """A command: its function, and its line in the list of commands. `section`: its place in `--help`."""

    target: str
    summary: str = ""
    section: str = ""


class Decidable(NamedTuple):
    """What waits until a person decides about it, until `expires_at` (ISO 8601, UTC).

    `id` means one with that `text` only. `about`: where it is from, a line; `turn`: what it was made in.
    `acts`: what can be done by the words for it, the wanted one first, the refusing one last; each with the
    name of who decides. They raise `Rejected`.
    """

    id: str
    title: str
    text: str
    about: str
    turn: str
    expires_at: str
    acts: Mapping[str, Callable[[str], object]]


class Feature(NamedTuple):
    """A declaration; what is left empty the feature does not have."""

    package: str
    """The folder's package: `__name__`."""
    events: str = ""
    """The types of its events, one union."""
    streams: str = ""
    """The `StreamKind`s of its streams: their state, fold and due steps."""
    reaction: str = ""
    """A function of a session, its version, an event of it and a loader of states: what it appends beside the
    event, in the same append."""
    turn_end: str = ""
    """The same, without the version, for the event that ends a turn: no command that ends none imports it."""
    queues: Mapping[str, str] = {}
    """The queue of each of its kinds of steps, which are Celery tasks."""
    steps: str = ""
    """A function from an `Application` to the handlers of those steps."""
    model_steps: str = ""
    """A function from an `Application` and its `ModelCalls` to the handlers of steps that call a model."""
    channels: Mapping[str, str] = {}
    """The `DeliveryChannel` of each of its kinds of targets: a function of the settings returns it."""
    tools: str = ""
    """A function from an `Application` to its tools; their toolsets are added to the others."""
    prompt: str = ""
    """A function from an `Application` to a function from a session to its section of the system prompt,
    empty where it has none."""
    asking: str = ""
    """A function from an `Application` and a tool call to the model calls that its tools make in it, an
    `Asking`; None for the calls of other tools."""
    holding: str = ""
    """A function from an `Application` to what becomes of lasting calls that are not done now, a `Hold`."""
    waiting: str = ""
    """A function from an `Application` and a moment (ISO 8601, UTC) to a line about what waits there for a
    person, empty if nothing of it is newer; "" is before everything."""
    deciding: str = ""
    """A function from an `Application` to what waits there until a person decides, each a `Decidable`: the
    first web page shows it with a button for each act."""
    planning: str = ""
    """A function of an `Application` that plans work which the clock makes due. Workers call it every ten
    minutes."""
    upkeep: str = ""
    """A function of an `Application` that tidies its part of the home, hourly."""
    tables: str = ""
    """A function from `ViewSources` to its `Projection`s: the rows that follow from events."""
    built: str = ""
    """A function of a connection that finishes its tables after a rebuild, before the first read."""
    checks: str = ""
    """A function from an `Application`, and whether `--live` is set, to its findings in `doctor`."""
    setup: str = ""
    """A step of `setup`: made of a `CliContext` and its `Questions`, run with the values of its options."""
    gateway: str = ""
    """A function of the settings: whether `up` runs the gateway for it."""
    tracing: str = ""
    """A function of settings, log and environment to the exporter of traces, if one is configured."""
    secrets: Mapping[str, str] = {}
    """The variables of the secrets that it needs, with the purpose of each."""
    commands: Mapping[str, Command] = {}
    """Its commands by name: `inbox`; `turns diff` is one of the group `turns`."""
    finders: Mapping[str, str] = {}
    """The commands that show something by its id, as `inbox show`, each with its `Finder`."""

    def load(self, target: str) -> Any:
        """The part `module:name`, imported."""
        module, _, name = target.partition(":")
        return getattr(import_module(f"{self.package}.{module}"), name)


@cache
def features() -> tuple[Feature, ...]:
    """All declarations, in the order of the list."""
    # By name, because the list imports nothing of the kernel, and the kernel nothing of the list.
    names: tuple[str, ...] = import_module("hermes_jobs.app").FEATURES
    return tuple(import_module(f"hermes_jobs.features.{name}").FEATURE for name in names)


@cache
def parts(kind: Kind) -> tuple[Any, ...]:
    """That part of every feature that has one, imported."""
    return tuple(feature.load(target) for feature in features() if (target := str(getattr(feature, kind))))


def queues() -> dict[str, str]:
    """The queue of each kind of step of a feature."""
    return {kind: queue for feature in features() for kind, queue in feature.queues.items()}


def channel(kind: str) -> Any:
    """The function that returns the channel of the kind of target, imported; None where no feature has one.

    Raises `ModuleNotFoundError` where a library that it needs is not installed.
    """
    found = ((feature, feature.channels[kind]) for feature in features() if kind in feature.channels)
    return next((feature.load(target) for feature, target in found), None)


def secrets() -> dict[str, str]:
    """The variables of the features' secrets, with the purpose of each."""
    return {name: purpose for feature in features() for name, purpose in feature.secrets.items()}


def finders() -> dict[str, Finder]:
    """The features' commands that show something by its id, each with its finder, imported."""
    return {
        words: feature.load(target) for feature in features() for words, target in feature.finders.items()
    }


def commands(group: str = "") -> dict[str, Command]:
    """The commands of the group by their last word, their targets in full (`package.module:name`)."""
    return {
        name: command._replace(target=f"{feature.package}.{command.target}")
        for feature in features()
        for words, command in feature.commands.items()
        if words.rpartition(" ")[0] == group and (name := words.rpartition(" ")[2])
    }
