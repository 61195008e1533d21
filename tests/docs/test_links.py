"""What the documentation names is there: files, headings, keys, modules."""

from __future__ import annotations

import re
from pathlib import Path

from hermes_jobs.runtime.queues import QUEUES
from hermes_jobs.settings import known_keys
from hermes_jobs.settings.removed_keys import REMOVED
from tests.docs.pages import ROOT, Page, pages
from tests.tables import each_row

PAGES = pages()
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
SECTIONS = {key.partition(".")[0] for key in known_keys() if "." in key}
KEY = re.compile(r"(?P<name>[a-z_]+(\.[a-z_0-9]+)+)(:\s.*)?")
OURS = re.compile(r"(hermes_jobs|workers|schedules|tests|docs)/[\w./-]*")
VARIABLE = re.compile(r"HERMES_JOBS_([A-Z_0-9]+?__[A-Z_0-9]+)\b")


@each_row(PAGES)
def test_every_link_leads_somewhere(page: Page) -> None:
    for target in page.targets:
        if ELSEWHERE.match(target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.path.parent / path).resolve() if path else page.path
        assert file.exists(), f"{page.name} links to {target}, which is not there"
        if anchor:
            assert anchor in Page.read(file).anchors, f"{page.name} links to {target}: no such heading"


@each_row(PAGES)
def test_every_key_that_is_named_exists(page: Page) -> None:
    known = (*known_keys(), *(REMOVED if page.name == "CHANGELOG.md" else ()))
    named = {match["name"] for span in page.code_spans if (match := KEY.fullmatch(span))}
    for name in sorted(named.difference(QUEUES)):
        if name.partition(".")[0] in SECTIONS and not is_a_module(name) and not name.endswith(".py"):
            assert any(f"{key}.".startswith(f"{name}.") for key in known), f"{page.name}: {name} is not a key"
    for variable in VARIABLE.findall(page.text):
        assert variable.replace("__", ".").lower() in known, f"{page.name} names HERMES_JOBS_{variable}"


def is_a_module(name: str) -> bool:
    """Whether it names one of ours, by its dots or by its path."""
    path = ROOT / name.removesuffix(".py").replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


@each_row(PAGES)
def test_every_file_of_ours_that_is_named_exists(page: Page) -> None:
    for span in page.code_spans:
        if OURS.fullmatch(span):
            assert (ROOT / span).exists(), f"{page.name} names {span}, which is not there"


def test_every_page_is_reached_from_the_readme_or_the_index_that_it_names() -> None:
    index = ROOT / "docs" / "README.md"
    assert index in linked(ROOT / "README.md")
    found = linked(ROOT / "README.md") | linked(index)
    for page in PAGES:
        if page.path.parent == ROOT / "docs":
            assert page.path in found, f"nobody who reads {index.name} finds {page.name}"


def linked(file: Path) -> set[Path]:
    """The files that a page leads to."""
    targets = Page.read(file).targets
    return {(file.parent / target.partition("#")[0]).resolve() for target in targets}


def test_decision_records_have_numbers_of_their_own() -> None:
    numbers: dict[int, str] = {}
    for record in sorted((ROOT / "docs" / "adr").glob("*.md")):
        number = int(record.name[:4])
        assert number not in numbers, f"{record.name} and {numbers[number]} have the same number"
        assert record.read_text().startswith(f"# {number}. "), (
            f"{record.name} has another number in its heading"
        )
        numbers[number] = record.name
