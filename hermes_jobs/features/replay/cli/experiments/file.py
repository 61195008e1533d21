"""The file of an experiment: its variants, its checks, and its judge, as YAML or JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.cli.replay import left_out, read_prompt
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.json_schema import schema_fault

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

MAX_SAMPLES = 100
EXAMPLE = "The shortest form: {variants: [{name: now}, {name: large, model: NAME}]}. More: docs/replay.md."


class VariantEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A variant; `system` names a file in the same folder."""

    name: str
    model: str = ""
    system: str = ""
    without: list[str] = []


class CheckEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check of one kind; `schema` is a JSON Schema, or names a file in the same folder."""

    name: str = ""
    regex: str = ""
    schema: str | dict[str, object] = ""
    command: str = ""


class JudgeEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The judge that compares answers, and its criterion."""

    model: str
    rubric: str


class ExperimentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of the file."""

    variants: list[VariantEntry]
    samples: int = 1
    checks: list[CheckEntry] = []
    judge: JudgeEntry | None = None


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """The file as values of the domain."""

    variants: tuple[e.Variant, ...]
    samples: int
    checks: tuple[e.Check, ...]
    judge: e.Judge | None

    @property
    def models(self) -> set[str]:
        """The models that it asks; the empty name is the configured one."""
        asked = {variant.model for variant in self.variants}
        return asked if self.judge is None else {*asked, self.judge.model}


def read_design(application: Application, file: Path) -> Design:
    """Parse the file. Raises `Rejected`, with the place in the file, for errors."""
    from hermes_jobs.settings import yaml_text

    try:
        design_file = msgspec.convert(yaml_text.read(read_prompt(file)).value, described(ExperimentFile))
    except yaml_text.YamlError as error:
        raise _refused(file, f"line {error.line}: {error.problem}") from error
    except msgspec.ValidationError as error:
        text = " ".join(str(error).split())
        raise _refused(file, text) from error
    names = [entry.name for entry in design_file.variants]
    if len(names) < 2 or not all(name.strip() for name in names) or len(set(names)) < len(names):
        raise _refused(file, "it needs two variants or more, each with a name of its own")
    if not 1 <= design_file.samples <= MAX_SAMPLES:
        raise _refused(file, f"samples is {design_file.samples}, and 1 to {MAX_SAMPLES} are possible")
    checks = tuple(_check(file, entry) for entry in design_file.checks)
    if len({check.name for check in checks}) < len(checks):
        raise _refused(file, "two checks have the same name")
    judge = None
    if design_file.judge is not None:
        judge = e.Judge(
            model=_model(application, design_file.judge.model), rubric=design_file.judge.rubric.strip()
        )
        if not judge.model or not judge.rubric:
            raise _refused(file, "the judge needs a model and a rubric")
    variants = tuple(_variant(application, file, entry) for entry in design_file.variants)
    return Design(variants=variants, samples=design_file.samples, checks=checks, judge=judge)


def _variant(application: Application, file: Path, entry: VariantEntry) -> e.Variant:
    return e.Variant(
        name=entry.name,
        model=_model(application, entry.model),
        system=read_prompt(file.parent / entry.system) if entry.system else None,
        without=tuple(left_out(application, target) for target in entry.without),
    )


def _model(application: Application, name: str) -> str:
    return application.settings.models.aliases.get(name, name)


def _check(file: Path, entry: CheckEntry) -> e.Check:
    kinds = [kind for kind in ("regex", "schema", "command") if getattr(entry, kind)]
    if len(kinds) != 1:
        raise _refused(file, "each check is one of regex, schema or command")
    if entry.regex:
        try:
            re.compile(entry.regex)
        except re.error as error:
            raise _refused(file, f"{entry.regex!r} is not a regular expression: {error}") from error
        return e.Check(kind="pattern", name=entry.name or entry.regex, rule=entry.regex)
    if entry.command:
        return e.Check(kind="command", name=entry.name or entry.command, rule=entry.command)
    is_file = isinstance(entry.schema, str)
    schema = read_prompt(file.parent / str(entry.schema)) if is_file else json.dumps(entry.schema)
    if fault := schema_fault(schema):
        raise _refused(file, f"the schema of a check cannot be used: {fault}")
    name = entry.name or (str(entry.schema) if is_file else "schema")
    return e.Check(kind="schema", name=name, rule=schema)


def _refused(file: Path, reason: str) -> Rejected:
    return Rejected(f"{file} is not understood: {reason}.", kind="usage", hint=EXAMPLE)
