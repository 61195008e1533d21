"""Checks for clouds, stores of secrets, databases and containers: whether a command only reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, pairwise, takewhile

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.path_policy import is_inside
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, pattern, words
from hermes_jobs.tools.wrappers import composed


def controls_service(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a client of clouds, clusters or stores of secrets does more than read."""
    name, operands = invocation.name, invocation.operands
    if name not in words("services", "controllers") or invocation.has("--help", "--version"):
        return False
    if name == "ansible-playbook":
        return not invocation.has("--check", "--syntax-check", "--list-tasks", "--list-hosts", "-C")
    if not operands:
        return False
    if name in words("services", "password_stores"):
        return operands[0] not in words("services", "password_stores_look")
    if _reveals(invocation) or (name, operands[0]) in (("rclone", "copy"), ("gh", "alias")):
        return True
    if (name, operands[0]) == ("gh", "api"):
        methods = values(invocation, "X", "--method")
        sends = invocation.has("-f", "-F", "--field", "--input")
        return sends or any(method.upper() != "GET" for method in methods)
    if operands[0] in load("services")["works_here"].get(name, "").split():
        return any("://" in operand or operand in ("new", "delete") for operand in operands[1:])
    return (name, *operands[:2]) not in _TO_THE_FOLDER and not _looks(_verbs(invocation))


_TO_THE_FOLDER = (("gh", "pr", "checkout"), ("gh", "repo", "clone"))


def _verbs(invocation: Invocation) -> Sequence[str]:
    """The words up to the first option, without options that stand before them and their values."""
    rest = list(dropwhile(_is_option, invocation.arguments))
    if len(rest) < len(invocation.arguments) and len(rest) > 1 and not _is_option(rest[1]):
        rest = rest[1:]  # perhaps a value, perhaps the first of several verbs
    return list(takewhile(lambda word: not _is_option(word), rest))[:4] or invocation.operands[:4]


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _looks(verbs: Sequence[str]) -> bool:
    """Whether the first of the verbs that says what is done only looks."""
    looking = words("services", "looking")
    for verb in verbs:
        if verb in looking or pattern("services", "looking_verbs").match(verb):
            return True
        if pattern("services", "changing_verbs").match(verb):
            return False
    return False


def _reveals(invocation: Invocation) -> bool:
    """Whether it prints a secret, not only the current login."""
    asks_who = invocation.operands[:2] in (("auth", "status"), ("auth", "list"))
    words_of_it = invocation.arguments[2:] if asks_who else invocation.arguments
    return any(pattern("services", "revealing_words").search(word) for word in words_of_it)


def changes_containers(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether it changes containers or a cluster, or shows a cluster's secrets."""
    operands = _without_general_options(invocation.arguments)
    if not operands:
        return False
    if "--raw" in invocation.arguments:
        return True
    if operands[0] in ("get", "describe") and any(
        re.match("secrets?(?:/|$)", operand) for operand in operands[1:]
    ):
        return True
    if operands[0] == "config":
        return (
            invocation.name not in ("docker", "docker-compose", "podman")
            and operands[1:2] not in _CONFIG_LOOKS
        )
    if operands[0] in ("apply", "create", "replace", "delete", "patch", "label", "annotate", "scale") and any(
        argument.startswith("--dry-run") and not argument.endswith("=none")
        for argument in invocation.arguments
    ):
        return any("://" in word for word in operands)
    looks = (
        ["rollout", "status"], ["rollout", "history"], ["auth", "can-i"], ["dependency", "list"],
        ["dependency", "build"], ["repo", "list"], ["compose", "config"], ["plugin", "list"],
    )  # fmt: skip
    return operands[0] not in words("services", "containers_look") and operands[:2] not in looks


_CONFIG_LOOKS: tuple[list[str], ...] = (
    ["view"],
    ["get-contexts"],
    ["current-context"],
    ["get-clusters"],
    ["get-users"],
    [],
)


def _without_general_options(arguments: Sequence[str]) -> list[str]:
    """The operands behind the options and groups that stand before the verb."""
    rest = list(arguments)
    while rest and (rest[0].startswith("-") or rest[0] in words("services", "container_groups")):
        if rest.pop(0) in words("services", "container_options"):
            del rest[:1]
    return [word for word in rest if not word.startswith("-")]


_BEYOND_BUILDING = ("--push", "--allow", "--ssh", "--secret", "--output", "-o", "--cache-to", "--builder")


def builds_image(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it only builds an image from a folder of the session."""
    operands = [
        operand for operand in invocation.operands if operand not in ("buildx", "compose", "image", "builder")
    ]
    if operands[:1] != ["build"] or invocation.has(*_BEYOND_BUILDING) or UNKNOWN in "".join(operands):
        return False
    roots = context.paths.real_roots(context.workdir)
    path_arguments = [word for word in context.path_words(invocation) if word.startswith(("/", "."))]
    paths = [path for argument in path_arguments if (path := invocation.path(argument))]
    inside = all(any(is_inside(context.real(path), root) for root in roots) for path in paths)
    return inside and not any("://" in operand or operand.startswith("git@") for operand in operands)


def works_on_own_containers(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it builds an image from a folder of the session, or runs containers of the project."""
    return builds_image(invocation, context) or _composes(invocation, context)


def _composes(invocation: Invocation, context: CommandContext) -> bool:
    """Whether `docker compose` starts or stops the project's containers, which see nothing else of
    this machine, or runs a program in one."""
    arguments = invocation.arguments
    if invocation.name == "docker-compose":
        arguments = ("compose", *arguments)
    if arguments[:1] != ("compose",) or invocation.has(*_BEYOND_COMPOSING):
        return False
    operands = _without_general_options(arguments)
    verb = next(iter(operands), "")
    if verb not in words("services", "composing") or (verb in ("exec", "run") and not composed(arguments)):
        return False
    roots = context.paths.real_roots(context.workdir)
    named = values(invocation, "f", "--file") if verb not in ("exec", "run") else []
    files = [invocation.path(name) for name in (*named, *words("services", "compose_files"))]
    return not any("://" in name or name == "-" for name in named) and all(
        path is not None and any(is_inside(context.real(path), root) for root in roots) and _is_confined(path)
        for path in files
    )


_BEYOND_COMPOSING = (
    "--project-directory",
    "--volume",
    "--privileged",
    "--entrypoint",
    "--env-file",
    "-v",
    "--volumes",
    "--rmi",
    "-H",
)


def _is_confined(path: str) -> bool:
    """Whether a file of containers, if there is one, gives them nothing of this machine but its folder."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            text = file.read(_MAX_COMPOSE + 1)
    except OSError:
        return True
    return len(text) <= _MAX_COMPOSE and pattern("services", "beyond_the_folder").search(text) is None


_MAX_COMPOSE = 100_000

# --- databases ------------------------------------------------------------------------------------


def resets_database(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a task of a project drops, resets, deploys or the like."""
    tasks = set(invocation.operands[:4])
    if without_version(invocation.name) in words("services", "cleaners"):
        tasks.discard("clean")
    if invocation.name == "dotnet" or invocation.operands[:1] == ("publish",):
        tasks.discard("publish")  # into a folder, or a package
    return any(pattern("services", "resetting_tasks").match(task) for task in tasks)


def changes_redis(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a command of Redis does more than read."""
    rest = list(invocation.arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if (
            option
            in (
                "-h",
                "-p",
                "-n",
                "-a",
                "-u",
                "-s",
                "--user",
                "--pass",
                "-r",
                "-i",
                "--pattern",
                "--type",
                "--count",
            )
            and rest
        ):
            rest.pop(0)
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
    statements = values(invocation, "ceqQ", "--command", "--execute", "--eval", "--query")
    statements += [following for word, following in pairwise(invocation.arguments) if word == "-cmd"]
    if local:
        statements += invocation.operands[1:]
    if invocation.input:
        statements.append(invocation.input)
    if not statements and invocation.piped:
        statements.append(invocation.echoed or UNKNOWN)
    return any(_acts(statement, local=local) for statement in statements)


_USUAL_IN_FILES = re.compile(
    r"\b(?:update\b(?=[^;]{0,500}\bwhere\b)|alter\b)"
    r"|\breadfile\s*\(\s*(?P<q>[\"'])(?![/~]|[^\"'\n]{0,200}\.\.)[^\"'\n]{0,200}(?P=q)\s*\)"
    r"|^\s*\.(?:import|read|once|output|open|backup|save)\s+(?:--?\w+\s+){0,4}(?![/~]|\S{0,200}\.\.)[\w./-]{1,200}(?=\s|$)"
    r"|\bcopy\b(?=[^;]{0,500}\b(?:to|from)\s{1,9}'(?![/~]|[^']*(?:\.\.|://))[^']*'[^;']*(?:;|$))",
    re.IGNORECASE | re.MULTILINE,
)


def _acts(statement: str, *, local: bool) -> bool:
    if UNKNOWN in statement and not statement.replace(UNKNOWN, "").strip():
        return True
    acting, reading = pattern("services", "acting_sql"), pattern("services", "reading_sql")
    if local:  # changes of rows, added columns and files of the project are usual
        return acting.search(_USUAL_IN_FILES.sub("", statement)) is not None
    if not re.match(r"\s*db\.", statement):
        statement = re.sub(r"'[^'\\]*'", "''", statement)
    parts = [part for part in re.split(r"[;\n]", statement) if part.strip()]
    return acting.search(statement) is not None or not all(map(reading.match, parts))


CHECKS = (
    controls_service,
    changes_containers,
    works_on_own_containers,
    resets_database,
    changes_redis,
    changes_sql,
)
