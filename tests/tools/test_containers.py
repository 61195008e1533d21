"""Attacks on keys and on lasting files by commands in containers of a real engine.

They need an engine that `docker info` reaches, and an image on it with bash and Python: `TEST_IMAGE`, else
the image of the settings. Where there is none they skip, and `test_docker` has a stand-in.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.tools.docker import DockerOptions
from tests.tables import slow_sample

from .keys_support import KEYS, Person, Recorder
from .test_unconfined_code import ALL, attacked

OPTIONS = DockerOptions(image=os.environ.get("TEST_IMAGE", DockerOptions().image))


@cache
def has_image() -> bool:
    """Whether an engine answers that has the image."""
    try:
        asked = subprocess.run(
            ["docker", "image", "inspect", OPTIONS.image], capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("not has_image()", reason="no engine of containers has the image"),
]


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Callable[..., Person]]:
    made: list[Person] = []

    def make(port: int = 0, options: DockerOptions = OPTIONS, **more: Any) -> Person:
        made.append(Person(tmp_path.resolve(), port, docker=options, **more))
        return made[-1]

    yield make
    for person in made:
        person.close()


LOOT = """#!/bin/bash
# What an attacker's program does where no network leads out: it keeps what it can read in the folder.
cat FILES /etc/shadow /proc/1/environ >> "FOLDER/loot" 2>/dev/null
exit 0
"""


@pytest.mark.parametrize("name", slow_sample(ALL, 7))
def test_no_key_is_read_in_a_container(people: Callable[..., Person], recorder: Recorder, name: str) -> None:
    """Given a folder of an attacker, no key arrives or is found, unattended or answered once."""
    person = people(recorder.port, replace(OPTIONS, network=True))
    files = " ".join(f'"{person.folder / name}"' for name in KEYS)
    person.steal = LOOT.replace("FILES", files).replace("FOLDER", str(person.work))
    command = attacked(person, recorder, name)
    person.run(command, attended=False)
    person.run(command, approved=True)
    assert recorder.keys == []
    found = [path for path in person.work.rglob("*") if path.is_file() and b"NEEDLE-" in path.read_bytes()]
    assert found == []


ESCAPES = (
    "mount --bind / /mnt",
    "mount -t proc p /mnt",
    "mkdir /tmp/c; mount -t cgroup -o memory c /tmp/c",
    "mknod /tmp/disk b 254 0 && head -c 512 /tmp/disk",
    "unshare -Urm true",
    "nsenter -t 1 -m true",
    "chroot /proc/1/root true",
    "echo x > /proc/sys/kernel/core_pattern",
    "echo b > /proc/sysrq-trigger",
    "echo x > /etc/passwd",
    "touch /x",
    "touch /usr/bin/x",
    "test -S /var/run/docker.sock",
    "ls /proc/*/root/$OUTSIDE",
    "ls $OUTSIDE",
    "cat /dev/mem | head -c 1 | grep -q .",
    "chown 1234 a.txt",
)


def test_nothing_leads_out_of_a_container(people: Callable[..., Person]) -> None:
    person = people()
    person.write("a.txt", "a")
    outside = person.folder / ".ssh"
    worked = [each for each in ESCAPES if _runs(person, each.replace("$OUTSIDE", str(outside)))]
    assert worked == []


def _runs(person: Person, command: str) -> bool:
    """Whether a script of the folder ends with success: then no rule on text has refused it."""
    person.write("escape.sh", command)
    return person.run("bash escape.sh").ok


LASTING = (
    "echo evil > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
    "git init -q new; echo evil > new/.git/hooks/pre-commit; git -C new config core.fsmonitor evil",
    "mv .git .g; mkdir -p .g/hooks; echo evil > .g/hooks/pre-push; mv .g .git",
    "(setsid sh -c '(echo evil > .git/hooks/post-merge; echo evil > .envrc) &' &)",
    "mkdir .idea; echo evil > .idea/x; mkdir .vscode; echo evil > .vscode/tasks.json",
)


@pytest.mark.parametrize("script", LASTING)
def test_nothing_that_runs_by_itself_later_is_left_by_a_container(
    people: Callable[..., Person], script: str
) -> None:
    person = people()
    person.repository()
    person.write("build.sh", script)
    person.run("bash build.sh")
    places = [person.work / name for name in (".git", "new/.git", ".idea", ".vscode", ".envrc")]
    left = [path for place in places for path in (place, *place.rglob("*")) if path.is_file()]
    assert [path for path in left if b"evil" in path.read_bytes()] == []
