"""`hermes-jobs skills install` and `update`: skills from other sources, scanned before use, and their
missing requirements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec

from hermes_jobs.features.skills.cli.needs import settle_needs
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import FAILED, explain
from hermes_jobs.interfaces.cli.id_completion import complete_skill
from hermes_jobs.interfaces.cli.options import Json, example, yes_option
from hermes_jobs.interfaces.cli.output import note, print_text
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.questions.confirmation import confirmed
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.features.skills.events import SkillOrigin
    from hermes_jobs.features.skills.guard import Concern
    from hermes_jobs.features.skills.installation import InstallCandidate
    from hermes_jobs.features.skills.rules.skill import Files, Skill


MAX_FINDINGS = 12  # shown findings of the guard
NOT_INSTALLED = "Nothing was installed"
UNCHANGED = "Nothing was changed"

S = TypeVar("S", "Skill", "InstallCandidate")

_ANYWAY = click.option("--anyway", is_flag=True, help="Install it although the guard finds it dangerous.")
_YES = yes_option("Do not ask.")


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a skill: `status` is `installed`, `updated`, `current`, `failed`, or `left`: not wanted.

    `rules`: what the guard found and the person accepted. `error`: why it failed, where others were done.
    """

    skill: str
    status: str
    origin: SkillOrigin
    rules: tuple[str, ...] = ()
    error: str = ""


@command(
    "install",
    epilog=example(
        "hermes-jobs skills install https://github.com/anthropics/skills --skill pdf",
        "hermes-jobs skills install ~/Downloads/pdf-tools",
    ),
)
@click.argument("source", metavar="SOURCE", type=NonEmpty())
@click.option(
    "--skill",
    "names",
    metavar="NAME",
    multiple=True,
    type=NonEmpty(),
    help="Install this one of several. Repeatable.",
)
@click.option("--all", "everything", is_flag=True, help="Install all skills of the source.")
@click.option("--name", metavar="NAME", type=NonEmpty(), help="Name to install it under.")
@click.option("--category", metavar="NAME", default="", help="Category to install it in.")
@_ANYWAY
@_YES
def install_skill(  # noqa: PLR0913, PLR0917 - one argument a flag
    context: CliContext,
    source: str,
    names: tuple[str, ...],
    everything: bool,
    name: str | None,
    category: str,
    anyway: bool,
    yes: bool,
    as_json: Json,
) -> None:
    """Install skills from a folder, an archive, git or a URL.

    SOURCE is a folder, an archive, a git repository, or the URL of an archive or a SKILL.md. Each skill and
    the guard's findings are shown before you confirm. Its origin is recorded with a commit and a digest, and
    `skills update` shows what has changed there since. For a revision and folder of a repository, use
    https://….git#REV:PATH.
    """
    from hermes_jobs.features.skills.installation import choose, find_candidates
    from hermes_jobs.features.skills.sources import fetch

    with TemporaryDirectory() as folder:
        candidates_found = choose(find_candidates(fetch(source, Path(folder))), names, everything=everything)
    if name is not None and len(candidates_found) > 1:
        raise click.UsageError("--name is for one skill: choose it with --skill.")

    def install(candidate: InstallCandidate) -> Installed:
        here = name or candidate.name
        return _installed(context, candidate, here, category, anyway=anyway, yes=yes, quiet=as_json)

    _do_each(context, candidates_found, install, as_json=as_json)


@command("update", epilog=example("hermes-jobs skills update", "hermes-jobs skills update pdf --theirs"))
@click.argument("name", metavar="[NAME]", required=False, type=NonEmpty(), shell_complete=complete_skill)
@click.option("--theirs", is_flag=True, help="On a conflict, take the source's lines.")
@_ANYWAY
@_YES
def update_skills(
    context: CliContext, name: str | None, theirs: bool, anyway: bool, yes: bool, as_json: Json
) -> None:
    """Update installed skills, all or one.

    The difference is shown first. Your changes are merged with those of the source; `skills undo` reverts an
    update.
    """
    from hermes_jobs.errors import Rejected

    catalog = context.application.skills
    installed = [skill for skill in catalog.of_home().values() if skill.origin is not None]
    if name is not None:
        chosen_skill = catalog.past(name)
        if chosen_skill.origin is None:
            raise Rejected(f"The skill {name} was not installed from elsewhere.", kind="usage")
        installed = [chosen_skill]
    if not installed:
        note("No skill was installed from elsewhere: hermes-jobs skills install SOURCE")

    def update(skill: Skill) -> Installed:
        return _updated(context, skill, prefer_theirs=theirs, anyway=anyway, yes=yes, quiet=as_json)

    _do_each(context, installed, update, as_json=as_json)


def _do_each(
    context: CliContext, skills: Sequence[S], act: Callable[[S], Installed], *, as_json: bool
) -> None:
    """Do it for each. A refused one of several is reported, does not stop the others, and exits with 1."""
    outcomes = [act(skill) if len(skills) == 1 else _tried(context, skill, act) for skill in skills]
    print_result(lambda: outcomes, lambda: None, as_json=as_json)
    if any(outcome.status == "failed" for outcome in outcomes):
        raise SystemExit(FAILED)


def _tried(context: CliContext, skill: S, act: Callable[[S], Installed]) -> Installed:
    from hermes_jobs.errors import Rejected

    try:
        return act(skill)
    except Rejected as error:
        explain(error.message, error.hint, context)
        assert skill.origin is not None
        return Installed(skill=skill.name, status="failed", origin=skill.origin, error=error.message)


def _installed(
    context: CliContext,
    candidate: InstallCandidate,
    name: str,
    category: str,
    *,
    anyway: bool,
    yes: bool,
    quiet: bool,
) -> Installed:
    from hermes_jobs.features.skills.cli.format import origin_line
    from hermes_jobs.features.skills.guard import new_concerns
    from hermes_jobs.features.skills.installation import check_replaceable
    from hermes_jobs.features.skills.names import checked_name

    if category:
        checked_name(category, "category")
    catalog = context.application.skills
    before = catalog.states(checked_name(name))[-1]
    check_replaceable(before, candidate.origin)
    if before.exists:
        return _updated(
            context, before, prefer_theirs=False, anyway=anyway, yes=yes, quiet=quiet, newest=candidate
        )
    if not quiet:
        size = sum(len(file.content) for file in candidate.files.values())
        print_text(f"{name}: {candidate.description}")
        print_text(f"  from {origin_line(candidate.origin)}")
        print_text(f"  {pluralize(len(candidate.files), 'file')}, {size:,} characters")
    for problem in candidate.problems:
        note(f"  left out: {problem}")
    rules = _accepted(name, new_concerns({}, candidate.files), "installed", anyway=anyway)
    if not confirmed(f"Install {name}?", NOT_INSTALLED, yes=yes):
        note(f"{NOT_INSTALLED}.")
        return Installed(skill=name, status="left", origin=candidate.origin)
    catalog.install(before, candidate, candidate.files, category=category, rules=rules)
    note(f"The skill {name} is installed: hermes-jobs skills show {name}")
    settle_needs(context, name, ask=not yes)
    return Installed(skill=name, status="installed", origin=candidate.origin, rules=rules)


def _updated(
    context: CliContext,
    skill: Skill,
    *,
    prefer_theirs: bool,
    anyway: bool,
    yes: bool,
    quiet: bool,
    newest: InstallCandidate | None = None,
) -> Installed:
    """Update a skill to the newest state of its origin, which is fetched unless given."""
    from hermes_jobs.features.skills.guard import new_concerns
    from hermes_jobs.features.skills.installation import installed_files, merge_update

    assert skill.origin is not None
    candidate = newest or _newest(skill.name, skill.origin)
    if candidate.origin.digest == skill.origin.digest:
        note(f"{skill.name} is up to date.")
        return Installed(skill=skill.name, status="current", origin=skill.origin)
    catalog = context.application.skills
    base = installed_files(catalog.states(skill.name))
    files, conflicts = merge_update(base, skill.files, candidate.files)
    _refuse_conflicts(skill.name, () if prefer_theirs else conflicts)
    if not quiet:
        print_text(f"{skill.name}: what would change")
        _print_diff(skill.files, files)
    rules = _accepted(skill.name, new_concerns(skill.files, files), "updated", anyway=anyway)
    if not confirmed(f"Update {skill.name}?", UNCHANGED, yes=yes):
        note(f"{UNCHANGED}.")
        return Installed(skill=skill.name, status="left", origin=skill.origin)
    catalog.install(skill, candidate, files, rules=rules)
    note(f"The skill {skill.name} is up to date; to take it back: hermes-jobs skills undo {skill.name}")
    return Installed(skill=skill.name, status="updated", origin=candidate.origin, rules=rules)


def _newest(name: str, origin: SkillOrigin) -> InstallCandidate:
    """The skill as it is at its origin now. Raises `Rejected`, kind `fetch`."""
    from hermes_jobs.errors import Rejected
    from hermes_jobs.features.skills.installation import find_candidates
    from hermes_jobs.features.skills.sources import fetch

    try:
        with TemporaryDirectory() as folder:
            fetched = msgspec.structs.replace(fetch(origin.source, Path(folder)), path=origin.path)
            return find_candidates(fetched)[0]
    except Rejected as error:
        raise Rejected(
            f"{name} cannot be updated: {error.message}",
            kind="fetch",
            hint=f"It came from {origin.source}; what you have of it stays as it is.",
        ) from error


def _refuse_conflicts(name: str, conflicts: Sequence[str]) -> None:
    from hermes_jobs.errors import Rejected

    if conflicts:
        raise Rejected(
            f"The same lines were changed here and there in {', '.join(conflicts)} of {name}.",
            kind="conflict",
            hint=f"`skills update {name} --theirs` takes theirs; `skills undo {name}` brings yours back.",
        )


def _print_diff(before: Files, after: Files) -> None:
    from hermes_jobs.features.snapshots.cli.diff_format import colour
    from hermes_jobs.text.diff import file_diff

    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        if any(file is not None and file.base64 for file in (old, new)):
            click.echo(f"{path}: a binary file has changed")
            continue
        texts = (file.content if file is not None else None for file in (old, new))
        for line in colour(file_diff(path, *texts)):
            click.echo(line)


def _accepted(name: str, concerns: Sequence[Concern], text: str, *, anyway: bool) -> tuple[str, ...]:
    """Show what the guard found; the rules that count as accepted when it is installed. Raises `Rejected`."""
    from hermes_jobs.errors import Rejected
    from hermes_jobs.features.skills.guard import verdict

    for concern in concerns[:MAX_FINDINGS]:
        note(f"  {concern.severity}: {concern.path}:{concern.line}: {concern.rule}: {concern.excerpt}")
    if len(concerns) > MAX_FINDINGS:
        note(f"  … and {len(concerns) - MAX_FINDINGS} more")
    if verdict(concerns) == "dangerous" and not anyway:
        raise Rejected(
            f"The guard calls {name} dangerous. It was not {text}.",
            kind="guard",
            hint="Check these lines. --anyway installs it, and records your decision.",
        )
    return tuple(dict.fromkeys(concern.rule for concern in concerns))
