"""The documentation as its readers get it: links, anchors, code, and the parts that are generated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
GENERATED = re.compile(r"(?P<begin><!-- generated: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Page:
    """One Markdown file, and all of its text."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> Page:
        """The file as it is."""
        return cls(path, path.read_text())

    @property
    def name(self) -> str:
        """Its path in the project."""
        return str(self.path.relative_to(ROOT))

    @property
    def by_hand(self) -> Page:
        """The page without what is generated."""
        return Page(self.path, self.with_parts(lambda _name: ""))

    @cached_property
    def _tokens(self) -> list[Token]:
        return PARSER.parse(self.text)

    def _inline(self) -> Iterator[Token]:
        for token in self._tokens:
            yield from token.children or ()

    @property
    def targets(self) -> list[str]:
        """Where its links and pictures lead."""
        found = (token.attrs.get("href") or token.attrs.get("src") for token in self._inline())
        return [str(target) for target in found if target]

    @cached_property
    def anchors(self) -> frozenset[str]:
        """What a link may name behind `#`, as GitHub makes it of headings."""
        seen: Counter[str] = Counter()
        anchors = []
        for at, token in enumerate(self._tokens):
            if token.type != "heading_open":
                continue
            heading = "".join(child.content for child in self._tokens[at + 1].children or ())
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            anchors.append(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
        return frozenset(anchors)

    @property
    def code_spans(self) -> list[str]:
        """Code within sentences, each on one line."""
        return [" ".join(token.content.split()) for token in self._inline() if token.type == "code_inline"]

    @property
    def code_blocks(self) -> list[str]:
        """Code on lines of its own."""
        return [token.content for token in self._tokens if token.type in {"fence", "code_block"}]

    @property
    def generated(self) -> list[str]:
        """The names of its generated parts."""
        return [part["name"] for part in GENERATED.finditer(self.text)]

    def with_parts(self, make: Callable[[str], str]) -> str:
        """Its text with each generated part made again."""
        return GENERATED.sub(lambda part: f"{part['begin']}{make(part['name'])}\n{part['end']}", self.text)


def pages() -> list[Page]:
    """Everything that is written for people, in a fixed order."""
    return [
        *(Page.read(ROOT / name) for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
        *(Page.read(path) for path in sorted((ROOT / "docs").rglob("*.md"))),
    ]
