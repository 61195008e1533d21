"""`hermes-jobs bench`: standard measurements of this agent with a model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, model_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.table import print_table
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.interfaces.bench.compressions import SurvivalRow
    from hermes_jobs.interfaces.bench.learning import PlayedPerson
    from hermes_jobs.interfaces.bench.people import ScriptedPerson
    from hermes_jobs.interfaces.bench.retention import RetentionRow
    from hermes_jobs.settings import Settings

SUMMARIES = 10  # of the long piece of work
COUNTS = ("KEPT", "MISSED", "WRONG", "STALE", "LEAKED", "GIVEN", "ANSWERED", "TOKENS")

SHARES = ("COMPRESSIONS", "OLDEST", "ALL", "OUTCOMES", "FOUND", "TOKENS")


@click.group(epilog=example("hermes-jobs bench learning --model gpt-6.1-terra"))
def bench() -> None:
    """Benchmarks of the agent with a model."""


@bench.command(
    "learning",
    epilog=example(
        "hermes-jobs bench learning --model gpt-6.1-terra",
        "hermes-jobs bench learning --person maya --yes --json",
    ),
)
@model_option("Model.  [default: the configured one]")
@click.option(
    "--person",
    "names",
    metavar="NAME",
    type=NonEmpty(),
    multiple=True,
    help="Only this scripted user; repeatable.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation before the model is called.")
@json_option
@pass_context
def learning(context: CliContext, model: str | None, names: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Measure what the agent retains of conversations over weeks.

    Scripted users talk to it. Then each fact is asked for in a new session: without memory, with plain notes,
    with everything in the prompt, with the memory, with observations only, and with recall. It runs in a
    temporary home and reads only the configuration of yours. Answers are checked by patterns, not by a model.
    """
    from hermes_jobs.interfaces.bench.learning import MEMORY_MODES, LearningBench
    from hermes_jobs.interfaces.bench.people import people
    from hermes_jobs.interfaces.cli.exit_codes import FAILED
    from hermes_jobs.interfaces.cli.questions.confirmation import confirmed

    persons = _chosen(people(), names)
    settings = _with_model(context.settings, model)
    texts, facts = sum(len(person.texts) for person in persons), sum(len(person.facts) for person in persons)
    sessions = sum(len(person.sessions) for person in persons)
    num_sessions = max(len(person.texts) for person in persons)
    calls = 3 * texts + sessions + len(MEMORY_MODES) * facts + num_sessions + SUMMARIES
    counts = f"{pluralize(len(persons), 'person', 'people')}, {pluralize(facts, 'question')}"
    note(f"At least {calls:,} calls of {settings.main_model.model}: {counts}.")
    if not confirmed("Begin?", "Nothing was asked", yes=yes):
        note("Nothing was asked.")
        return FAILED
    with tempfile.TemporaryDirectory(prefix="hermes-jobs-bench-") as folder:
        played = LearningBench(settings, context.environ, Path(folder), note)
        ways = [played.play(way, persons) for way in MEMORY_MODES]
        survived = _run_survival(context, settings, Path(folder), persons)
        retained = _run_retention(context, settings, Path(folder))
    print_result(
        lambda: _as_object(ways, survived, retained),
        lambda: _print(ways, survived, retained),
        as_json=as_json,
    )
    return 0


def _chosen(persons: Sequence[ScriptedPerson], names: Sequence[str]) -> Sequence[ScriptedPerson]:
    unknown = next((name for name in names if all(person.name != name for person in persons)), None)
    if unknown is not None:
        known_names = ", ".join(person.name for person in persons)
        raise Rejected(f"There is no person {unknown!r}.", kind="usage", hint=f"There are: {known_names}.")
    return [person for person in persons if not names or person.name in names]


def _with_model(settings: Settings, model: str | None) -> Settings:
    """The settings for that model. Raises if it cannot be called."""
    from msgspec.structs import replace

    from hermes_jobs.bootstrap.validation import check_choice

    if model is not None:
        settings = replace(settings, model=replace(settings.model, model=model))
    if settings.rehearsal:
        raise Misconfigured("No model is configured.", hint="Connect one: hermes-jobs setup")
    check_choice(settings, settings.main_model)
    return settings


def _run_survival(
    context: CliContext, settings: Settings, folder: Path, persons: Sequence[ScriptedPerson]
) -> Sequence[SurvivalRow]:
    from hermes_jobs.interfaces.bench.compressions import survival

    longest_person = max(persons, key=lambda item: len(item.texts))
    note(f"{longest_person.name}: one conversation, five compressions")
    return list(survival(settings, context.environ, folder / "long", longest_person))


def _run_retention(context: CliContext, settings: Settings, folder: Path) -> Sequence[RetentionRow]:
    from hermes_jobs.interfaces.bench.home import opened, settings_for
    from hermes_jobs.interfaces.bench.retention import asking, retained, work
    from hermes_jobs.kernel.engine.ports import ModelError

    note("a long piece of work, five compressions, by form of summary")
    folder = folder / "work"
    rows: list[RetentionRow] = []
    with opened(settings_for(settings, folder), context.environ, folder) as home:
        try:
            rows.extend(retained(lambda: asking(home.application), work().parts))
        except ModelError as error:
            note(f"No table of summaries: {error.message}")
    return rows


def _as_object(
    ways: Sequence[PlayedPerson], survived: Sequence[SurvivalRow], retained: Sequence[RetentionRow]
) -> dict[str, object]:
    from hermes_jobs.interfaces.bench.learning import K, recall_at, rows_of

    return {
        "ways": [row._asdict() for row in rows_of(ways)],
        "recall_at": {str(k): recall_at(ways[-1], k) for k in K},
        "compressions": [row._asdict() for row in survived],
        "summaries": [row._asdict() for row in retained],
        "mistakes": [
            {"way": way.way.name, "person": outcome.person, "what": what, "name": name}
            for way in ways
            for outcome in way.outcomes
            for what, name in outcome.mistakes
        ],
    }


def _print(
    ways: Sequence[PlayedPerson], survived: Sequence[SurvivalRow], retained: Sequence[RetentionRow]
) -> None:
    from hermes_jobs.interfaces.bench.learning import BASELINE, K, recall_at, rows_of

    print_table(
        ("WAY", *COUNTS, "CALLS", "USED"),
        [
            (
                row.way,
                *(f"{count}" for count in (row.kept, row.missed, row.wrong, row.stale, row.leaked)),
                f"{row.given:.0%}",
                f"{row.answered:.0%}",
                f"{row.tokens:,.0f}",
                f"{row.requests:,}",
                f"{row.used:,}",
            )
            for row in rows_of(ways)
        ],
        main="WAY",
        ranks=("USED", "CALLS"),
        figures=(*COUNTS, "CALLS", "USED"),
    )
    shares = ", ".join(f"{recall_at(ways[-1], k):.0%} among the first {k}" for k in K)
    note(f"Passages of earlier sessions that hold what a question needs: {shares}.")
    for after in survived:
        note(
            f"After {after.compressions} compressions, of {after.facts} facts: {after.in_conversation:.0%} "
            f"in the conversation, {after.in_memory:.0%} in the memory, {after.found:.0%} found again."
        )
    _print_retained(retained)
    if not survived:
        note("No compression made the conversation smaller, because it was too short.")
    for way in ways:
        for outcome in way.outcomes if way.way != BASELINE else ():
            for what, name in outcome.mistakes:
                note(f"{way.way.name}: {outcome.person}, {name}: {what}")


def _print_retained(retained: Sequence[RetentionRow]) -> None:
    if not retained:
        return
    click.echo()
    print_table(
        ("SUMMARY", *SHARES),
        [
            (
                row.form,
                f"{row.compressions}",
                *(f"{share:.0%}" for share in (row.oldest, row.all_facts, row.outcomes, row.found)),
                f"{row.tokens:,}",
            )
            for row in retained
        ],
        main="SUMMARY",
        ranks=("FOUND", "TOKENS"),
        figures=SHARES,
    )
