"""Checks for clouds, stores of secrets and containers: whether a command only reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile

from hermes_jobs.system.regular_file import beginning
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.outside_code import is_own_program
from hermes_jobs.tools.command_rules.unlisted import names_other_machine
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, pattern, words
from hermes_jobs.tools.wrappers import composed


def controls_service(invocation: Invocation, context: CommandContext) -> bool:
    """Whether a client of clouds, clusters or stores of secrets does more than read."""
    name, operands = invocation.name, invocation.operands
    if name not in words("services", "controllers") or invocation.has("--help", "--version"):
        return False
    if is_own_program(invocation, context):
        return False  # it has only the same name
    if name == "ansible-playbook":
        return not invocation.has("--check", "--syntax-check", "--list-tasks", "--list-hosts", "-C")
    if not operands:
        return False
    if name in words("services", "password_stores"):
        return operands[0] not in words("services", "password_stores_look")
    if any(f"{name}{word}" in words("services", "stays_here") for word in invocation.arguments):
        return False
    return _reveals(invocation) or operands[0] in _acting(name) or not _works_here_or_looks(invocation)


def _acting(name: str) -> Sequence[str]:
    """The first words with which a client does more than they say: `rclone copy` also copies to a server."""
    first: str = load("services")["acts"].get(name, "")
    return first.split()


def _works_here_or_looks(invocation: Invocation) -> bool:
    name, operands = invocation.name, invocation.operands
    if (name, operands[0]) == ("gh", "api"):
        methods = values(invocation, "X", "--method")
        sends = invocation.has("-f", "-F", "--field", "--input")
        return not sends and all(method.upper() == "GET" for method in methods)
    here = load("services")["works_here"].get(name, "").split()
    if ":".join(operands[:2]) in here:
        return True
    if operands[0] in here:
        return not any(names_other_machine(word) or word in ("new", "delete") for word in operands[1:])
    return (name, *operands[:2]) in _TO_THE_FOLDER or _looks(_verbs(invocation))


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
    """Whether the first verb that says what is done only looks; without one, what is named may be shown."""
    for verb in verbs:
        if verb in words("services", "looking") or pattern("services", "looking_verbs").match(verb):
            return True
        if pattern("services", "changing_verbs").match(verb):
            return False
    return not words("services", "looking_things").isdisjoint(verbs)


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
        text = beginning(path, _MAX_COMPOSE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return len(text) <= _MAX_COMPOSE and pattern("services", "beyond_the_folder").search(text) is None


_MAX_COMPOSE = 100_000

CHECKS = (controls_service, changes_containers, works_on_own_containers)
