"""Pictures of 5 MB through two workers: `python -m tests.benchmarks.attachments [NUMBER]`.

What the workers hold after a fifth of them and at the end, what the log grows by, and whether a backup that
is restored elsewhere has them all.
"""

from __future__ import annotations

import os
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image

from hermes_jobs.features.attachments.api import File
from hermes_jobs.kernel.events import Opening, TurnSubmitted
from hermes_jobs.runtime.broker_address import find_server
from tests.benchmarks.many_turns import crew_on
from tests.benchmarks.turns import model_server
from tests.faults.crew import Crew
from tests.home import Home
from tests.soak.vitals import MB

NUMBER = 200
SIDE = 1_310  # pixels; noise in three colours, as PNG, is 5 MB


def main(number: int = NUMBER) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, model_server(Path(name)) as base_url:
        folder = Path(name) / "crew"
        with crew_on(folder, find_server(), base_url, 2) as crew:
            show_some(crew, folder, 0, number // 5)
            show_some(crew, folder, number // 5, number)
            stored = len(list(crew.application.blobs.digests()))
        restored = restored_in(Path(name), Home(folder, {}))
        print(f"contents stored {stored}, after backup and restore {restored}")


def show_some(crew: Crew, folder: Path, first: int, until: int) -> None:
    """Send them, one a session; then what the workers and the log hold."""
    engine, name = crew.application.engine("bench"), crew.application.ids.name
    for _ in range(first, until):
        attached = crew.application.intake.attach([File("noise.png", noise())])
        engine.submit(
            TurnSubmitted(
                turn=name("t"),
                session=name("s"),
                text="hello",
                source="test",
                attended=False,
                opening=Opening(workdir=str(folder / "work")),
                attachments=attached,
            )
        )
        crew.finish()
    held = [worker.memory_full_info().pss // MB for worker in crew.processes()]
    log = sum(file.stat().st_size for file in (folder / "home").glob("events.db*"))
    print(f"after {until} pictures: workers {held} MB, log {log / MB:.1f} MB")


def noise() -> bytes:
    """A picture that no other one resembles."""
    target = BytesIO()
    Image.frombytes("RGB", (SIDE, SIDE), os.urandom(SIDE * SIDE * 3)).save(target, "PNG")
    return target.getvalue()


def restored_in(folder: Path, home: Home) -> int:
    """How many contents a home has that was restored from a backup of that one."""
    archive, there = folder / "backup.zip", Home(folder / "there", {})
    made = home.run("backup", str(archive))
    assert made.code == 0, made.err
    back = there.run("restore", str(archive), "--yes")
    assert back.code == 0, back.err
    print(f"backup {archive.stat().st_size / MB:.0f} MB")
    return sum(file.is_file() for file in (there.path / "attachments").rglob("*"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
