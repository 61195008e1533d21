"""`hermes-jobs skills`: the agent's skills, their authors, and writes that wait for approval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from hermes_jobs.features.skills.cli.install import install_skill, update_skills
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_skill
from hermes_jobs.interfaces.cli.options import Json, example, id_argument, limit_option
from hermes_jobs.interfaces.cli.output import note, print_heading, print_text
from hermes_jobs.interfaces.cli.param_types import IntParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.table import print_table

if TYPE_CHECKING:
    from hermes_jobs.features.skills.cli.format import SkillDetails

SkillName = Annotated[str, id_argument(complete_skill, "NAME")]
version_option = click.option(
    "--version",
    "number",
    type=IntParam(min=1),
    metavar="N",
    help="Which proposal, if several wait.",
)


@group(epilog=example("hermes-jobs skills list", "hermes-jobs skills show code-review"))
def skills() -> None:
    """List and show skills, see who wrote them and take writes back, decide on what waits for you.

    Skills are files in the home, skills/NAME/SKILL.md, which you may edit; folders that you add there are
    used.
    """


@skills.command("list", epilog=example("hermes-jobs skills list --json"))
@limit_option("skills, by name", default=None)
def list_skills(context: CliContext, limit: int | None, as_json: Json) -> None:
    """List skills, their use, and writes that wait for approval."""
    from hermes_jobs.features.skills.cli import format as rows

    chosen_skills, problems = rows.skill_rows(context.application)
    chosen_skills = chosen_skills[:limit]
    rows.SKILLS.print_list(chosen_skills, as_json=as_json)
    for problem in problems:
        note(f"Not used: {problem}")
    for row in () if as_json else chosen_skills:
        if row.rules:
            rules = ", ".join(f"“{rule}”" for rule in row.rules)
            note(f"{row.name} matches rules of the scan ({rules}): hermes-jobs skills show {row.name}")
        if row.provisional.startswith("harmful"):
            note(f"{row.name} made answers worse: hermes-jobs skills why {row.name}")
        if row.proposals:
            note(f"Waits for approval: hermes-jobs skills show {row.name}, then approve or deny it.")


@skills.command("show", epilog=example("hermes-jobs skills show code-review"))
@limit_option("files, and proposals", default=None)
def show_skill(context: CliContext, name: SkillName, limit: int | None, as_json: Json) -> None:
    """Show a skill: its files, use and proposed changes."""
    from msgspec.structs import replace

    from hermes_jobs.features.skills.cli import format as rows

    details = rows.skill_details(context.application, name)
    details = replace(details, files=details.files[:limit], proposals=details.proposals[:limit])
    rows.SKILL.print_one(details, as_json=as_json, details=lambda: _print_texts(details))


def _print_texts(details: SkillDetails) -> None:
    """Print a skill's text, and its proposals."""
    if details.content:
        click.echo()
        print_text(details.content.rstrip("\n"))
    for proposal in details.proposals:
        click.echo()
        print_heading(f"Proposed as version {proposal.version}: {proposal.action} {proposal.path}")
        for rule in proposal.rules:
            print_text(f"  {rule}")
        print_text(proposal.text())


@skills.command("why", epilog=example("hermes-jobs skills why code-review"))
@limit_option("writes, the newest", default=None)
def why(context: CliContext, name: SkillName, limit: int | None, as_json: Json) -> None:
    """Show a skill's origin, use and verification.

    It lists each write with its review or turn, its model and your message; how turns ended that used the
    skill; whether answers are better or worse with it; and how to undo it.
    """
    from hermes_jobs.features.skills.cli.why import print_why, skill_why

    details = skill_why(context.application, name, limit)
    print_result(lambda: details, lambda: print_why(details), as_json=as_json)


@skills.command("log", epilog=example("hermes-jobs skills log code-review -n 5"))
@limit_option("entries, the newest first")
def show_log(context: CliContext, name: SkillName, limit: int, as_json: Json) -> None:
    """List a skill's writes: author, time and turn."""
    from hermes_jobs.features.skills.cli import format as rows

    writes = rows.skill_writes(context.application, name)[::-1][:limit]
    rows.SKILL_WRITES.print_list(writes, as_json=as_json)


@skills.command(
    "undo",
    epilog=example(
        "hermes-jobs skills log code-review",
        "hermes-jobs skills undo code-review",
        "hermes-jobs skills undo code-review --to 3",
    ),
)
@click.option("--to", type=IntParam(min=0), metavar="VERSION", help="Restore this version.")
def undo(context: CliContext, name: SkillName, to: int | None, as_json: Json) -> None:
    """Undo a skill's last write, or its deletion.

    Each further undo reverts the write before. --to restores any version of `skills log`, also one that was
    undone.
    """
    from hermes_jobs.features.skills import api

    _print_outcome(context, name, api.undo(context.application, name, to), as_json=as_json)


@skills.command("scan", epilog=example("hermes-jobs skills scan ~/Downloads/pdf-tools"))
@click.argument("path", type=click.Path(path_type=Path))
def scan(path: Path, as_json: Json) -> int:
    """Check a skill's folder or a file with the guard.

    The exit code is 1 if it is dangerous.
    """
    from hermes_jobs.features.skills.guard import examine

    result = examine(path)

    def print_text() -> None:
        cells = [
            (concern.severity, concern.path, str(concern.line), concern.rule, concern.excerpt)
            for concern in result.concerns
        ]
        if cells:
            headers = ("SEVERITY", "FILE", "LINE", "RULE", "TEXT")
            print_table(headers, cells, ranks=("RULE",), figures=("LINE",))
        note(f"Verdict: {result.verdict}")

    print_result(lambda: result, print_text, as_json=as_json)
    return 1 if result.verdict == "dangerous" else 0


@skills.command("approve", epilog=example("hermes-jobs skills approve code-review"))
@version_option
@click.option("--anyway", is_flag=True, help="Approve the newest write that the guard refused as dangerous.")
def approve(context: CliContext, name: SkillName, number: int | None, anyway: bool, as_json: Json) -> None:
    """Approve a write that the guard held back.

    `skills show` prints it. --anyway approves the newest write that the guard refused as dangerous; the
    findings are printed, and recorded with your approval.
    """
    if anyway and number is not None:
        raise click.UsageError("--anyway is for a refused write, which has no --version.")
    skills = context.application.skills
    changed = skills.allow(name) if anyway else skills.approve(name, number)
    _print_outcome(context, name, f"approved, {changed.answer}", as_json=as_json)


@skills.command("deny", epilog=example("hermes-jobs skills deny code-review"))
@version_option
def deny(context: CliContext, name: SkillName, number: int | None, as_json: Json) -> None:
    """Reject a write that the guard held back."""
    changed = context.application.skills.deny(name, number)
    _print_outcome(context, name, changed.answer, as_json=as_json)


skills.add_command(install_skill)
skills.add_command(update_skills)


def _print_outcome(context: CliContext, name: str, text: str, *, as_json: bool) -> None:
    """Print the change, or the newest entry of the log for scripts."""
    from hermes_jobs.features.skills.cli import format as rows

    rows.SKILL_WRITES.print_outcome(
        lambda: rows.skill_writes(context.application, name)[-1], f"Skill {name}: {text}.", as_json=as_json
    )
