"""`hermes-jobs skills install` and `update`: skills from elsewhere, looked at before they are used, and
what they lack on this machine.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
import msgspec

from hermes_jobs.agent.skills.front_matter import Needs
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.id_completion import complete_skill
from hermes_jobs.interfaces.cli.options import example, json_option, yes_option
from hermes_jobs.interfaces.cli.output import note, print_text
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.questions.confirmation import ask_secret, confirmed
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.settings import find_home, is_secret_variable, known_secrets, set_secret, set_value
from hermes_jobs.text.plural import pluralize

if TYPE_CHECKING:
    from hermes_jobs.agent.skills.guard import Concern
    from hermes_jobs.agent.skills.installation import InstallCandidate
    from hermes_jobs.domain.events import SkillOrigin
    from hermes_jobs.domain.skill.skill import Files, Skill


SHOWN = 12  # findings of the guard that are shown
NOTHING = "Nothing was installed"
UNCHANGED = "Nothing was changed"

_ANYWAY = click.option("--anyway", is_flag=True, help="Although the guard calls it dangerous.")
_YES = yes_option("Do not ask.")


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a skill: `status` is `installed`, `updated`, `current`, or `left`: a person said no.

    `rules`: what the guard found and the person accepted.
    """

    skill: str
    status: str
    origin: SkillOrigin
    rules: tuple[str, ...] = ()


@click.command(
    "install",
    epilog=example(
        "hermes-jobs skills install https://github.com/anthropics/skills --skill pdf",
        "hermes-jobs skills install ~/Downloads/pdf-tools",
    ),
)
@click.argument("source", metavar="SOURCE", type=NonEmpty())
@click.option("--skill", "names", metavar="NAME", multiple=True, type=NonEmpty(), help="Which, of several.")
@click.option("--all", "everything", is_flag=True, help="All that are there.")
@click.option("--name", metavar="NAME", type=NonEmpty(), help="What it is called here.")
@click.option("--category", metavar="NAME", default="", help="The category that it goes into.")
@_ANYWAY
@_YES
@json_option
@pass_context
def install_skill(  # noqa: PLR0913, PLR0917 - one argument a flag
    context: CliContext,
    source: str,
    names: tuple[str, ...],
    everything: bool,
    name: str | None,
    category: str,
    anyway: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Install skills from a folder, an archive, git or a URL.

    SOURCE is a folder, a git repository, or the address of an archive or a SKILL.md. Each skill is shown with
    what the guard finds in it before you are asked. Its origin is recorded with the state that came (a
    commit, a digest), and `skills update` shows what has changed there since. A repository's state and folder
    are named as https://….git#REV:PATH.
    """
    from hermes_jobs.agent.skills.installation import candidates, chosen
    from hermes_jobs.agent.skills.sources import fetch

    with TemporaryDirectory() as folder:
        found = chosen(candidates(fetch(source, Path(folder))), names, everything=everything)
    if name is not None and len(found) > 1:
        raise click.UsageError("--name is for one skill: choose it with --skill.")
    done = [
        _installed(context, each, name or each.name, category, anyway=anyway, yes=yes, quiet=as_json)
        for each in found
    ]
    print_result(lambda: done, lambda: None, as_json=as_json)


@click.command(
    "update", epilog=example("hermes-jobs skills update", "hermes-jobs skills update pdf --theirs")
)
@click.argument("name", metavar="[NAME]", required=False, type=NonEmpty(), shell_complete=complete_skill)
@click.option("--theirs", is_flag=True, help="Where the same lines were changed here too, theirs are taken.")
@_ANYWAY
@_YES
@json_option
@pass_context
def update_skills(
    context: CliContext, name: str | None, theirs: bool, anyway: bool, yes: bool, as_json: bool
) -> None:
    """Update installed skills, all or one.

    The difference is shown first. What was changed here is kept beside what was changed there; `skills undo`
    takes an update back.
    """
    from hermes_jobs.errors import Rejected

    shelf = context.application.skills
    known = [skill for skill in shelf.of_home().values() if skill.origin is not None]
    if name is not None:
        chosen_skill = shelf.past(name)
        if chosen_skill.origin is None:
            raise Rejected(f"The skill {name} was not installed from elsewhere.", kind="usage")
        known = [chosen_skill]
    if not known:
        note("No skill was installed from elsewhere: hermes-jobs skills install SOURCE")
    done = [_updated(context, each, theirs=theirs, anyway=anyway, yes=yes, quiet=as_json) for each in known]
    print_result(lambda: done, lambda: None, as_json=as_json)


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
    from hermes_jobs.agent.skills.guard import new_concerns
    from hermes_jobs.agent.skills.installation import refuse_taken
    from hermes_jobs.agent.skills.names import checked_name
    from hermes_jobs.interfaces.cli.skills.format import origin_line

    if category:
        checked_name(category, "category")
    shelf = context.application.skills
    before = shelf.states(checked_name(name))[-1]
    refuse_taken(before, candidate.origin)
    if before.exists:
        return _updated(context, before, theirs=False, anyway=anyway, yes=yes, quiet=quiet, newest=candidate)
    if not quiet:
        size = sum(len(each.content) for each in candidate.files.values())
        print_text(f"{name}: {candidate.description}")
        print_text(f"  from {origin_line(candidate.origin)}")
        print_text(f"  {pluralize(len(candidate.files), 'file')}, {size:,} characters")
    for problem in candidate.problems:
        note(f"  left out: {problem}")
    rules = _accepted(name, new_concerns({}, candidate.files), anyway=anyway)
    if not confirmed(f"Install {name}?", NOTHING, yes=yes):
        note(f"{NOTHING}.")
        return Installed(skill=name, status="left", origin=candidate.origin)
    shelf.install(before, candidate, candidate.files, category=category, rules=rules)
    note(f"The skill {name} is installed: hermes-jobs skills show {name}")
    settle_needs(context, name, ask=not yes)
    return Installed(skill=name, status="installed", origin=candidate.origin, rules=rules)


def _updated(
    context: CliContext,
    skill: Skill,
    *,
    theirs: bool,
    anyway: bool,
    yes: bool,
    quiet: bool,
    newest: InstallCandidate | None = None,
) -> Installed:
    """Bring a skill up to date with the newest of its origin, which is fetched where it is not given."""
    from hermes_jobs.agent.skills.guard import new_concerns
    from hermes_jobs.agent.skills.installation import brought_up_to_date, installed_files

    assert skill.origin is not None
    candidate = newest or _newest(skill.origin)
    if candidate.origin.digest == skill.origin.digest:
        note(f"{skill.name} is up to date.")
        return Installed(skill=skill.name, status="current", origin=skill.origin)
    shelf = context.application.skills
    base = installed_files(shelf.states(skill.name))
    files, conflicts = brought_up_to_date(base, skill.files, candidate.files)
    _refuse_conflicts(skill.name, () if theirs else conflicts)
    if not quiet:
        _print_diff(skill.files, files)
    rules = _accepted(skill.name, new_concerns(skill.files, files), anyway=anyway)
    if not confirmed(f"Update {skill.name}?", UNCHANGED, yes=yes):
        note(f"{UNCHANGED}.")
        return Installed(skill=skill.name, status="left", origin=skill.origin)
    shelf.install(skill, candidate, files, rules=rules)
    note(f"The skill {skill.name} is up to date; to take it back: hermes-jobs skills undo {skill.name}")
    return Installed(skill=skill.name, status="updated", origin=candidate.origin, rules=rules)


def _newest(origin: SkillOrigin) -> InstallCandidate:
    """The skill as it is at its origin now. Raises `Rejected`."""
    from hermes_jobs.agent.skills.installation import candidates
    from hermes_jobs.agent.skills.sources import fetch

    with TemporaryDirectory() as folder:
        fetched = msgspec.structs.replace(fetch(origin.source, Path(folder)), path=origin.path)
        return candidates(fetched)[0]


def _refuse_conflicts(name: str, conflicts: Sequence[str]) -> None:
    from hermes_jobs.errors import Rejected

    if conflicts:
        raise Rejected(
            f"The same lines were changed here and there in {', '.join(conflicts)} of {name}.",
            kind="conflict",
            hint=f"`skills update {name} --theirs` takes theirs; `skills undo {name}` brings yours back.",
        )


def _print_diff(before: Files, after: Files) -> None:
    from hermes_jobs.interfaces.cli.turns.diff_format import coloured
    from hermes_jobs.text.diff import file_diff

    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        if any(each is not None and each.base64 for each in (old, new)):
            click.echo(f"{path}: a binary file has changed")
            continue
        texts = (each.content if each is not None else None for each in (old, new))
        for line in coloured(file_diff(path, *texts)):
            click.echo(line)


def _accepted(name: str, concerns: Sequence[Concern], *, anyway: bool) -> tuple[str, ...]:
    """Show what the guard found; the rules that count as accepted when it is installed. Raises `Rejected`."""
    from hermes_jobs.agent.skills.guard import verdict
    from hermes_jobs.errors import Rejected

    for each in concerns[:SHOWN]:
        note(f"  {each.severity}: {each.path}:{each.line}: {each.rule}: {each.excerpt}")
    if len(concerns) > SHOWN:
        note(f"  … and {len(concerns) - SHOWN} more")
    if verdict(concerns) == "dangerous" and not anyway:
        raise Rejected(
            f"The guard calls {name} dangerous. {NOTHING}.",
            kind="guard",
            hint="Look at these lines. --anyway installs it, and your decision is recorded.",
        )
    return tuple(dict.fromkeys(each.rule for each in concerns))


KEY = "terminal.grant"


def settle_needs(context: CliContext, name: str, *, ask: bool) -> None:
    """Ask for the secrets that a skill lacks, on a terminal and with `ask`; say what else is missing."""
    shelf = context.application.skills
    entry = shelf.find(name)
    if entry.text is None:
        return
    lacking = shelf.lacking(entry)
    if lacking.commands:
        note(f"{name} needs {Needs(commands=lacking.commands)}, not on the PATH of the agent's commands.")
    if entry.text.needs.packages:
        note(f"{name} needs {Needs(packages=entry.text.needs.packages)}: see its SKILL.md.")
    granted = list(context.settings.terminal.grant)
    for variable in lacking.variables:
        if variable in known_secrets():
            note(f"{name} wants {variable}, which is hermes-jobs' own: commands never get it.")
        elif not is_secret_variable(variable):
            note(f"{name} needs {variable}: hermes-jobs config set terminal.environment.{variable} VALUE")
        elif ask and sys.stdin.isatty():
            if _asked(context, variable):
                granted.append(variable)
                _grant(context, granted)
        else:
            names = ", ".join([*granted, variable])
            note(
                f"{name} needs {variable}: `hermes-jobs config set {variable}` asks for it, and `hermes-jobs "
                f"config set {KEY} '[{names}]'` lets commands have it."
            )


def _asked(context: CliContext, variable: str) -> bool:
    """Ask for a secret and whether commands may have it; whether they may."""
    if context.settings.secrets.get(variable) is None:
        typed = ask_secret(f"{variable} (not shown; Enter to leave it out)", required=False)
        if not typed:
            return False
        set_secret(find_home(context.environ), variable, typed)
        note(f"{variable} is in .env (mode 600).")
    return click.confirm(
        f"May the agent's commands read {variable}? What they print of it is hidden from the model.",
        default=False,
        err=True,
    )


def _grant(context: CliContext, names: list[str]) -> None:
    set_value(find_home(context.environ), KEY, f"[{', '.join(dict.fromkeys(names))}]")
    note(f"{KEY} is [{', '.join(dict.fromkeys(names))}].")
