"""Checks on clouds, stores of secrets, databases and containers: does a command only look."""

from __future__ import annotations

import re

from hermes_jobs.agent.tools.command_rules.context import CommandContext
from hermes_jobs.agent.tools.command_rules.written_paths import values
from hermes_jobs.agent.tools.invocations import Invocation, without_version
from hermes_jobs.agent.tools.tables import words
from hermes_jobs.agent.tools.words import UNKNOWN

_LOOKING_PREFIX = re.compile(r"(?:list|describe|get|show|head|view|batch-get|lookup)(?:-|$)")
_REVEALS = re.compile(
    r"secret|password|credential|access-token|print-access|session-token|login|auth.token|kubeconfig"
)


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
    if not asks_who and any(_REVEALS.search(each) for each in operands):
        return True
    if name == "gh" and operands[0] == "api":
        methods = values(invocation, "X", "--method")
        sends = invocation.has("-f", "-F", "--field", "--input")
        return sends or any(each.upper() != "GET" for each in methods)
    if (name, operands[0]) in (("rclone", "copy"), ("gh", "alias")):
        return True
    looking = words("services", "looking")
    return not any(each in looking or _LOOKING_PREFIX.match(each) for each in operands[:4])


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

_READS_SQL = re.compile(
    r"\s*(?:select|show|explain|describe|desc|pragma|with|values|table|use|\\[a-z+]+|\.(?:tables|schema|mode|headers?"
    r"|indexes|databases|dump|width|help|quit|exit|stats|timer|nullvalue|separator|fullschema|show|echo)\b|--|$)",
    re.IGNORECASE,
)
_ACTS_SQL = re.compile(
    r"\b(?:drop|delete|truncate|update|alter|grant|revoke|copy|attach|vacuum|reindex|shutdown|kill|load_file|into\s+"
    r"(?:out|dump)file|pg_read_\w+|pg_ls_\w+|lo_export|lo_import|load_extension|writefile|readfile|edit|dropDatabase"
    r"|deleteMany|deleteOne|remove|xp_cmdshell|pg_terminate_backend|pg_sleep|setval|set\s+password)\b"
    r"|\\(?:!|copy|o|g|w)|^\s*\.(?:shell|system|output|once|import|load|open|read|backup|restore|save|clone|excel|log)"
    r"|\bprogram\b",
    re.IGNORECASE | re.MULTILINE,
)
_LOCAL_ACTS_SQL = re.compile(
    r"\s*(?:create|insert|begin|commit|replace|alter\s+table\s+\w+\s+add|update)\b", re.I
)
_RESETS = re.compile(
    r"(?:db:(?:drop|reset|purge|wipe|rollback)\S*|migrate:(?:fresh|reset|refresh|rollback)|flush|sqlflush|reset_db"
    r"|downgrade|clean|drop-all|ecto\.(?:drop|reset)|flushdb|flushall|nuke|uninstall|deploy\S*|publish\S*|release\S*"
    r"|upload\S*|destroy\S*)$"
)


def resets_database(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a task of a project drops, resets, deploys or the like."""
    tasks = set(invocation.operands[:4])
    if without_version(invocation.name) in words("services", "cleaners"):
        tasks.discard("clean")
    return any(_RESETS.match(each) for each in tasks)


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
    if local:  # a file of the project: what only adds is everyday work
        return bool(
            re.sub(r"\bupdate\b", "", statement, flags=re.I)
            and _ACTS_SQL.search(re.sub(r"\b(?:update|alter)\b", "", statement, flags=re.IGNORECASE))
        )
    parts = [each for each in re.split(r"[;\n]", statement) if each.strip()]
    return bool(_ACTS_SQL.search(statement)) or not all(
        _READS_SQL.match(each)
        or re.match(r"\s*db\.\w+\.(?:find|count\w*|aggregate|stats|distinct)", each)
        or re.match(
            r"\s*(?:from|where|join|group|order|limit|and|or|on|left|right|inner|having|union|\)|\w+,)",
            each,
            re.I,
        )
        for each in parts
    )


CHECKS = (controls_service, changes_containers, resets_database, changes_redis, changes_sql)
