"""What a process takes from its machine, and whether it takes ever more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import psutil

MB = 2**20
WARM = 0.25  # of the time: what is taken until then is warming up


class Vitals(msgspec.Struct, frozen=True):
    """Proportional set size in bytes, threads, file handles."""

    pss: int
    threads: int
    handles: int


class Record:
    """The vitals of processes that live through the whole of it, by name, from look to look."""

    def __init__(self, processes: Mapping[str, psutil.Process]) -> None:
        self._processes = processes
        self._looks: dict[str, list[Vitals]] = {name: [] for name in processes}

    def look(self) -> None:
        """Look at each once more. Raises `psutil.NoSuchProcess` where one has ended."""
        for name, process in self._processes.items():
            self._looks[name].append(vitals_of(process))

    def grown(self) -> list[str]:
        """What grew between the middle and the end, beyond what comes and goes: a line for each."""
        return [line for name, looks in self._looks.items() for line in _grown(name, looks)]

    def table(self) -> str:
        """A line a process: when it was warm, in the middle, at the end."""
        return "\n".join(
            f"{name:<10} PSS {_row(each.pss // MB for each in when)} MB,"
            f" threads {_row(each.threads for each in when)}, handles {_row(each.handles for each in when)}"
            for name, looks in self._looks.items()
            for when in [(_at(looks, WARM), _at(looks, 0.6), looks[-1])]
        )


def vitals_of(process: psutil.Process) -> Vitals:
    """As of now."""
    with process.oneshot():
        memory = process.memory_full_info()
        return Vitals(pss=memory.pss, threads=process.num_threads(), handles=process.num_fds())


def of_home(home: Path, word: str) -> list[psutil.Process]:
    """The processes of that home which run `hermes-jobs WORD`."""
    found = []
    for process in psutil.process_iter():
        try:
            if word in process.cmdline()[2:5] and process.environ().get("HERMES_JOBS_HOME") == str(home):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def _at(looks: Sequence[Vitals], share: float) -> Vitals:
    return looks[int((len(looks) - 1) * share)]


def _grown(name: str, looks: Sequence[Vitals]) -> list[str]:
    """Peaks of the second half beside peaks of the first, warm half, with a tenth and a little to spare."""
    warm = looks[int(len(looks) * WARM) :]
    first, second = warm[: len(warm) // 2], warm[len(warm) // 2 :]
    found = []
    for what, spare in (("pss", 8 * MB), ("threads", 4), ("handles", 16)):
        before, after = (max(getattr(each, what) for each in half) for half in (first, second))
        if after > before * 1.1 + spare:
            found.append(f"{name}: {what} grew from {before:,} to {after:,}")
    return found


def _row(values: Iterable[int]) -> str:
    return " · ".join(map(str, values))
