"""Checks on clouds, stores of secrets, databases and containers: does a command only look."""

from __future__ import annotations

import re

from hermes_jobs.agent.tools.command_rules.context import CommandContext
from hermes_jobs.agent.tools.command_rules.written_paths import values
from hermes_jobs.agent.tools.invocations import Invocation, without_version
from hermes_jobs.agent.tools.shell_words import UNKNOWN
from hermes_jobs.agent.tools.tables import pattern, words


def controls_service(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a program that rules clouds, clusters or stores of secrets is to do more than look."""
    name, operands = invocation.name, invocation.operands
    if name not in words("services", "controllers") or invocation.has("--help", "--version"):
        return False
    if name == "ansible-playbook":
        return not invocation.has("--check", "--syntax-check", "--list-tasks", "--list-hosts", "-C")
    if not operands:
        return False
    if name in words("services", "password_stores"):
        return operands[0] not in words("services", "password_stores_look")
    asks_who = operands[:2] in (("auth", "status"), ("auth", "list"))
    if not asks_who and any(pattern("services", "revealing_words").search(each) for each in operands):
        return True
    if name == "gh" and operands[0] == "api":
        methods = values(invocation, "X", "--method")
        sends = invocation.has("-f", "-F", "--field", "--input")
        return sends or any(each.upper() != "GET" for each in methods)
    if (name, operands[0]) in (("rclone", "copy"), ("gh", "alias")):
        return True
    looking = words("services", "looking")
    return not any(
        each in looking or pattern("services", "looking_verbs").match(each) for each in operands[:4]
    )


def changes_containers(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether it changes containers or a cluster, or shows a cluster's secrets."""
    operands = list(invocation.operands)
    while operands and operands[0] in words("services", "container_groups"):
        operands.pop(0)
    if not operands:
        return False
    if "--raw" in invocation.arguments:
        return True
    if operands[0] in ("get", "describe") and any(re.match("secrets?(?:/|$)", each) for each in operands[1:]):
        return True
    looks = (["rollout", "status"], ["rollout", "history"], ["auth", "can-i"])
    return operands[0] not in words("services", "containers_look") and operands[:2] not in looks


# --- databases ------------------------------------------------------------------------------------


def resets_database(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a task of a project drops, resets, deploys or the like."""
    tasks = set(invocation.operands[:4])
    if without_version(invocation.name) in words("services", "cleaners"):
        tasks.discard("clean")
    return any(pattern("services", "resetting_tasks").match(each) for each in tasks)


def changes_redis(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a command of Redis does more than read."""
    rest = list(invocation.arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-h", "-p", "-n", "-a", "-u", "-s", "--user", "--pass", "-r", "-i") and rest:
            rest.pop(0)
        elif option in ("--eval", "--pipe", "--rdb", "--functions-rdb", "-x"):
            return True
    if not rest:
        return invocation.piped or bool(invocation.input)
    if rest[0].lower() == "config":
        return [each.lower() for each in rest[1:2]] != ["get"]
    return rest[0].lower() not in words("services", "redis_reads")


def changes_sql(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a database's client changes or deletes data; a local file may be added to."""
    local = invocation.name in ("sqlite3", "duckdb")
    fed = any(each.operator == "<" for each in invocation.redirects)
    if (fed or invocation.has("-f", "--file")) and not local:
        return True
    statements = values(invocation, "ceq", "--command", "--execute", "--eval", "--query", "-cmd")
    if local:
        statements += invocation.operands[1:]
    if invocation.input:
        statements.append(invocation.input)
    if not statements and invocation.piped:
        return True
    return any(_acts(each, local=local) for each in statements)


def _acts(statement: str, *, local: bool) -> bool:
    if UNKNOWN in statement and not statement.replace(UNKNOWN, "").strip():
        return True
    acting, reading = pattern("services", "acting_sql"), pattern("services", "reading_sql")
    if local:  # in a file of the project, what changes rows or adds columns is everyday work
        return acting.search(re.sub(r"\b(?:update|alter)\b", "", statement, flags=re.IGNORECASE)) is not None
    parts = [each for each in re.split(r"[;\n]", statement) if each.strip()]
    return acting.search(statement) is not None or not all(map(reading.match, parts))


CHECKS = (controls_service, changes_containers, resets_database, changes_redis, changes_sql)
