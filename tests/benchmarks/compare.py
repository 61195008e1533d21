"""Two commits in the same minutes: `make bench-compare REV=…`, `tests.benchmarks.compare REV [ROUNDS]`.

The page of each is made by turns, by its own code in an environment of its own. A figure is compared by its
ratio to its baseline, the median of the rounds: below 1 this checkout is quicker than REV.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from tests.benchmarks.lines import Line

ROUNDS = 3
ROOT = Path(__file__).parents[2]

Ratios = dict[str, list[float]]


def main(revision: str, rounds: str = str(ROUNDS)) -> None:
    """Print a line for each of the page's figures that both commits have."""
    then: Ratios = defaultdict(list)
    now: Ratios = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "then"
        _git("worktree", "add", "--detach", str(folder), revision)
        try:
            _set_up(folder)
            for number in range(int(rounds)):
                print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
                _measure(folder, folder / ".venv/bin/python", then)
                _measure(ROOT, Path(sys.executable), now)
        finally:
            _git("worktree", "remove", "--force", str(folder))
    show(then, now)


def show(then: Ratios, now: Ratios) -> None:
    """The medians of both, and how they stand to each other."""
    print(f"{'times the baseline':<46}{'then':>9}{'now':>9}{'now/then':>10}")
    for name in [each for each in now if each in then]:
        before, after = median(then[name]), median(now[name])
        print(f"{name:<46}{before:>9.2f}{after:>9.2f}{after / before:>10.2f}")


def _set_up(folder: Path) -> None:
    """The commit's own set-up. Raises `SystemExit` where it cannot print a page."""
    if not (folder / "tests/benchmarks/page.py").exists():
        raise SystemExit("That commit has no page: name a later one.")
    subprocess.run(["make", "--silent", "setup"], cwd=folder, check=True)


def _measure(folder: Path, python: Path, ratios: Ratios) -> None:
    """Add what one page says."""
    command = [str(python), "-m", "tests.benchmarks.page", "--json"]
    ran = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    for text in ran.stdout.splitlines():
        line = Line(**json.loads(text))
        ratios[line.name].append(line.ratio)


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
