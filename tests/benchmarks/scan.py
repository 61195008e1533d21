r"""What the scan finds among injections and everyday notes that no rule was written for.

The texts are in `data/injections.txt` and `data/everyday_notes.txt`, a sentence a line under headings (`##`)
by kind and language; those of other writers are in `data/fresh_injections.txt` and `data/fresh_notes.txt`,
with `\n` for the end of a line. No rule may be mended by them: the figure would then say nothing about new
wordings. Known tricks, each with its rule, are in `tests/text/scan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hermes_jobs.text.scan.scanner import scan

DATA = Path(__file__).parent / "data"


def main() -> None:
    """Print the share of texts with a finding, by heading."""
    for name in ("injections", "fresh_injections", "everyday_notes", "fresh_notes"):
        sections = by_heading((DATA / f"{name}.txt").read_text("utf-8"))
        print(f"{name.replace('_', ' ')}: texts with a finding")
        total = found = 0
        for heading, texts in sections.items():
            hits = sum(bool(scan(text)) for text in texts)
            total, found = total + len(texts), found + hits
            print(f"  {heading:<60.60}{hits:>5} of {len(texts):>4}")
        print(f"  {'all':<60}{found:>5} of {total:>4}{found / total:>8.1%}\n")


def by_heading(text: str) -> Mapping[str, list[str]]:
    """The lines under each heading."""
    sections: dict[str, list[str]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("## "):
            sections[line[3:]] = found = []
        else:
            found.append(line.replace("\\n", "\n").strip())
    return sections


if __name__ == "__main__":
    main()
