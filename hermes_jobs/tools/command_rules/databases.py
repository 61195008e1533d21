"""Checks for databases: whether a client or a task of a project only reads."""

from __future__ import annotations

import re
from itertools import pairwise

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import pattern, words


def resets_database(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a task of a project drops, resets, deploys or the like."""
    tasks = set(invocation.operands[:4])
    if without_version(invocation.name) in words("services", "cleaners"):
        tasks.discard("clean")
    if invocation.name == "dotnet" or invocation.operands[:1] == ("publish",):
        tasks.discard("publish")  # into a folder, or a package
    return any(pattern("services", "resetting_tasks").match(task) for task in tasks)


def works_on_production(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a tool of migrations or models is told to work on what is called production."""
    if not any(map(_MIGRATES.search, (invocation.name, *invocation.arguments))):
        return False
    return any(map(_PRODUCTION.search, invocation.words))


_MIGRATES = re.compile(r"migrat|^(?:upgrade|deploy|run|build|seed|plan|apply|push|up|snapshot)$|db:")
_PRODUCTION = re.compile(r"(?:^|[=:/_.-])(?:prod|production|live)(?:$|[:/_.-])", re.IGNORECASE)


def changes_redis(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a command of Redis does more than read."""
    rest = list(invocation.arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in words("services", "redis_valued"):
            del rest[:1]
        elif option in ("--eval", "--pipe", "--rdb", "--functions-rdb", "-x"):
            return True
    if not rest:
        return invocation.piped or bool(invocation.input)
    if rest[0].lower() == "config":
        return [word.lower() for word in rest[1:2]] != ["get"]
    return rest[0].lower() not in words("services", "redis_reads")


def changes_sql(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a database's client changes or deletes data; a local file may be added to."""
    local = invocation.name in ("sqlite3", "duckdb")
    reads_input = any(redirect.operator == "<" for redirect in invocation.redirects)
    if (reads_input or invocation.has("-f", "--file")) and not local:
        return True
    statements = values(
        invocation,
        "ceqQ",
        "--command",
        "--execute",
        "--eval",
        "--query",
        "-cmd",
        "--javascript.execute-string",
    )
    pairs = pairwise(invocation.arguments)
    statements += [following for option, following in pairs if option in ("-cmd", "-execute")]
    if local:
        statements += invocation.operands[1:]
    elif invocation.name in words("services", "states"):
        statements += [operand for operand in invocation.operands if " " in operand]
    if invocation.input:
        statements.append(invocation.input)
    if not statements and invocation.piped:
        statements.append(invocation.echoed or UNKNOWN)
    return any(_acts(statement, local=local) for statement in statements)


def _acts(statement: str, *, local: bool) -> bool:
    if UNKNOWN in statement and not statement.replace(UNKNOWN, "").strip():
        return True
    acting, reading = pattern("services", "acting_sql"), pattern("services", "reading_sql")
    if local:  # changes of rows, added columns and files of the project are usual
        return acting.search(pattern("services", "usual_in_files").sub("", statement)) is not None
    if not re.match(r"\s*db\.", statement):
        statement = re.sub(r"'[^'\\]*'", "''", statement)
    parts = [part for part in re.split(r"[;\n]", statement) if part.strip()]
    return acting.search(statement) is not None or not all(map(reading.match, parts))


CHECKS = (resets_database, works_on_production, changes_redis, changes_sql)
