"""What a person edits in a file of the memory, alone or while the agent writes: nobody's words are lost,
nothing comes back, nothing stands there twice."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.memory_files import SyncedMemory
from hermes_jobs.features.memory.rules.memory import entries_of, text_of
from tests.examples import examples
from tests.memory.homes import remembering, write
from tests.tables import sampled

TEA, GRAZ, MAKE = "Likes tea", "Lives in Graz", "Builds with make, tests with pytest"
BASE = (TEA, GRAZ, MAKE)

Edit = Callable[[tuple[str, ...]], Sequence[str]]

EDITS: dict[str, Edit] = {
    "removes the first": lambda there: there[1:],
    "removes one in the middle": lambda there: [*there[:1], *there[2:]],
    "removes the last": lambda there: there[:-1],
    "removes all but one": lambda there: there[1:2],
    "removes all": lambda there: (),
    "adds one at the start": lambda there: ["By hand", *there],
    "adds one in the middle": lambda there: [*there[:1], "By hand", *there[1:]],
    "adds one at the end": lambda there: [*there, "By hand"],
    "extends one": lambda there: [f"{there[0]}, never with milk", *there[1:]],
    "writes one anew": lambda there: ["Prefers coffee these days", *there[1:]],
    "removes one and adds another": lambda there: [*there[1:], "A wholly different matter"],
    "puts them into another order": lambda there: there[::-1],
    "joins two": lambda there: [f"{there[0]}. {there[1]}", *there[2:]],
    "splits one": lambda there: [*there[:-1], "Builds with make", "Tests with pytest"],
}


def in_place(file: Path, text: str) -> None:
    file.write_text(text)


def by_renaming(file: Path, text: str) -> None:
    draft = file.with_name("MEMORY.md.swp")
    draft.write_text(text)
    draft.replace(file)


def keeping_a_backup(file: Path, text: str) -> None:
    file.rename(file.with_name("MEMORY.md~"))
    file.write_text(text)


def with_crlf(file: Path, text: str) -> None:
    file.write_bytes(text.replace("\n", "\r\n").encode())


def without_a_final_newline(file: Path, text: str) -> None:
    file.write_text(text.removesuffix("\n"))


SAVES = [in_place, by_renaming, keeping_a_backup, with_crlf, without_a_final_newline]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def home(folder: Path) -> Iterator[SyncedMemory]:
    with remembering(folder, "") as home:
        for entry in BASE:
            write(home, entry)
        yield home


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "memories" / "MEMORY.md"


def merged(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> set[str]:
    """What three ways of one list come to: what either side added, less what either side took out."""
    return {entry for entry in {*ours, *theirs} if (entry in ours and entry in theirs) or entry not in base}


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("edit", sampled(EDITS.values(), 3, in_ci=3), ids=EDITS)
def test_without_other_writers_the_file_stays_as_saved(
    home: SyncedMemory, file: Path, edit: Edit, save: Callable[[Path, str], None]
):
    theirs = tuple(edit(entries_of(file.read_text())))
    save(file, text_of(theirs))
    assert home.sync().memory == theirs
    assert entries_of(file.read_text()) == theirs
    assert home.sync().memory == theirs


def agent_adds(home: SyncedMemory) -> None:
    write(home, "The release is on Friday")


def agent_replaces(home: SyncedMemory) -> None:
    write(home, "Moved to Vienna in May", action="replace", old_text=GRAZ)


def agent_extends_the_first(home: SyncedMemory) -> None:
    write(home, f"{TEA}, green", action="replace", old_text=TEA)


def agent_removes(home: SyncedMemory) -> None:
    write(home, None, action="remove", old_text=MAKE)


AGENT = [agent_adds, agent_replaces, agent_extends_the_first, agent_removes]


@pytest.mark.parametrize("save", SAVES[:3])
@pytest.mark.parametrize("agent", AGENT)
@pytest.mark.parametrize("edit", sampled(EDITS.values(), 4, in_ci=3), ids=EDITS)
def test_a_file_opened_before_an_agents_write_and_saved_after_keeps_both_changes(
    home: SyncedMemory,
    file: Path,
    edit: Edit,
    agent: Callable[[SyncedMemory], None],
    save: Callable[[Path, str], None],
):
    opened = entries_of(file.read_text())
    agent(home)
    ours, theirs = home.sync().memory, tuple(edit(opened))
    save(file, text_of(theirs))
    after = home.sync().memory
    assert set(after) == merged(BASE, ours, theirs)
    assert len(after) == len(set(after))
    assert entries_of(file.read_text()) == after == home.sync().memory


@pytest.mark.parametrize("agent", AGENT)
@pytest.mark.parametrize("edit", sampled(EDITS.values(), 3, in_ci=3), ids=EDITS)
def test_a_file_opened_after_the_agent_wrote_reads_as_the_person_left_it(
    home: SyncedMemory, file: Path, edit: Edit, agent: Callable[[SyncedMemory], None]
):
    agent(home)
    theirs = tuple(edit(entries_of(file.read_text())))
    in_place(file, text_of(theirs))
    assert home.sync().memory == theirs


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_agents_addition_after_the_save_keeps_the_edit(home: SyncedMemory, file: Path, edit: Edit):
    theirs = tuple(edit(entries_of(file.read_text())))
    in_place(file, text_of(theirs))
    agent_adds(home)
    assert set(home.sync().memory) == {*theirs, "The release is on Friday"}


def test_a_file_that_is_deleted_is_written_again(home: SyncedMemory, file: Path):
    file.unlink()
    assert home.sync().memory == BASE
    assert entries_of(file.read_text()) == BASE


def test_a_second_save_of_an_editor_is_based_on_its_first(home: SyncedMemory, file: Path):
    file.read_text()
    agent_adds(home)
    by_renaming(file, text_of([*BASE, "By hand"]))
    home.sync()
    by_renaming(file, text_of(BASE))
    assert home.sync().memory == (*BASE, "The release is on Friday")


@pytest.mark.parametrize("save", SAVES[:2])
def test_a_save_already_in_the_log_is_the_base_of_the_next(
    home: SyncedMemory, file: Path, save: Callable[[Path, str], None]
):
    """Given an editor that made the change which the agent has just made, and then the agent adds an entry,
    when an entry is removed in that editor, then it is removed."""
    save(file, text_of([GRAZ, TEA, MAKE]))
    home.sync()
    agent_adds(home)
    opened = entries_of(file.read_text())
    write(home, None, action="remove", old_text=TEA)
    here = tuple(each for each in opened if each != TEA)
    save(file, text_of(here))
    write(home, "Deploys from main")
    save(file, text_of(here[:-1]))
    assert home.sync().memory == (*here[:-1], "Deploys from main")


def test_a_file_saved_before_the_newest_write_is_merged_by_its_earlier_content(
    home: SyncedMemory, file: Path
):
    theirs = text_of([*BASE[1:], "By hand"])
    draft = file.with_name("draft")
    draft.write_text(theirs)
    at = file.stat().st_mtime_ns + 1
    agent_adds(home)
    file.read_text()
    os.utime(draft, ns=(at, at))
    draft.replace(file)
    assert home.sync().memory == (*BASE[1:], "The release is on Friday", "By hand")


def test_a_conflict_is_recorded_once_with_both_forms(home: SyncedMemory, file: Path):
    file.read_text()
    agent_extends_the_first(home)
    in_place(file, text_of([f"{TEA} at four", GRAZ, MAKE]))
    home.sync()
    home.sync()
    conflicts = [each.event for each in home.writes() if isinstance(each.event, e.MemoryConflicted)]
    assert [(each.old, each.ours, each.theirs) for each in conflicts] == [
        (TEA, f"{TEA}, green", f"{TEA} at four")
    ]


def test_an_entry_that_both_removed_or_changed_alike_is_no_conflict(home: SyncedMemory, file: Path):
    file.read_text()
    agent_removes(home)
    agent_extends_the_first(home)
    in_place(file, text_of([f"{TEA}, green", GRAZ]))
    assert home.sync().memory == (f"{TEA}, green", GRAZ)
    assert not any(isinstance(each.event, e.MemoryConflicted) for each in home.writes())


def test_a_copied_home_continues_independently(home: SyncedMemory, file: Path, folder: Path, tmp_path: Path):
    shutil.copytree(folder, tmp_path / "copy")
    agent_adds(home)
    with remembering(tmp_path / "copy", "") as copy:
        assert copy.sync().memory == BASE
        copied = tmp_path / "copy" / "memories" / "MEMORY.md"
        in_place(copied, text_of(BASE[1:]))
        assert copy.sync().memory == BASE[1:]


def test_a_home_with_a_restored_log_keeps_entries_of_the_file(
    home: SyncedMemory, folder: Path, file: Path, tmp_path: Path
):
    shutil.copytree(folder, tmp_path / "copy")
    agent_adds(home)
    shutil.copy2(file, tmp_path / "copy" / "memories" / "MEMORY.md")
    shutil.copytree(folder / "run" / "shown", tmp_path / "copy" / "run" / "shown", dirs_exist_ok=True)
    with remembering(tmp_path / "copy", "") as copy:
        assert copy.sync().memory == (*BASE, "The release is on Friday")


class PersonAndWriters(RuleBasedStateMachine):
    """A person with an editor, and two processes that write to the same home."""

    def __init__(self) -> None:
        super().__init__()
        self._opened = ExitStack()
        folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory()))
        self.writers = [self._opened.enter_context(remembering(folder, "")) for _ in range(2)]
        self.file = folder / "memories" / "MEMORY.md"
        self.numbers = iter(range(10_000))
        self.wanted: set[str] = set()
        self.base: tuple[str, ...] | None = None
        self.buffer: tuple[str, ...] = ()
        for entry in ("zero", "one", "two"):
            write(self.writers[0], self._new(entry))

    def teardown(self) -> None:
        self._opened.close()

    def _new(self, entry: str) -> str:
        fresh = f"{entry} {next(self.numbers)}."
        self.wanted.add(fresh)
        return fresh

    @rule(writer=st.integers(0, 1))
    def the_agent_adds(self, writer: int) -> None:
        write(self.writers[writer], self._new("noted by the agent as"))

    @precondition(lambda self: self.wanted)
    @rule(writer=st.integers(0, 1), data=st.data(), remove=st.booleans())
    def the_agent_changes(self, writer: int, data: st.DataObject, remove: bool) -> None:
        old = data.draw(st.sampled_from(sorted(self.wanted)))
        self.wanted.discard(old)
        if remove:
            write(self.writers[writer], None, action="remove", old_text=old)
        else:
            write(self.writers[writer], self._new(f"{old} and"), action="replace", old_text=old)

    @rule()
    def the_person_opens_the_file(self) -> None:
        self.base = self.buffer = entries_of(self.file.read_text() if self.file.exists() else "")

    @precondition(lambda self: self.base is not None)
    @rule(
        data=st.data(),
        kind=st.sampled_from(["add", "change", "remove", "reverse"]),
        save=st.sampled_from(SAVES[:2]),
    )
    def the_person_edits_and_saves(
        self, data: st.DataObject, kind: str, save: Callable[[Path, str], None]
    ) -> None:
        assert self.base is not None
        theirs = list(self.buffer)
        at = data.draw(st.integers(0, max(len(theirs) - 1, 0)))
        if kind == "add" or not theirs:
            theirs.insert(at, f"by hand {next(self.numbers)}.")
        elif kind == "change":
            theirs[at] = f"{theirs[at]} by hand {next(self.numbers)}."
        elif kind == "remove":
            del theirs[at]
        else:
            theirs.reverse()
        if tuple(theirs) == self.buffer:
            return
        ours = self.writers[0].sync().memory
        save(self.file, text_of(theirs))
        self.wanted = merged(self.base, ours, theirs)
        self.base = self.buffer = tuple(theirs)
        self.writers[1].sync()

    @invariant()
    def nothing_is_lost_or_comes_back_or_stands_there_twice(self) -> None:
        there = self.writers[0].sync().memory
        assert sorted(there) == sorted(self.wanted)


TestPersonAndWriters = PersonAndWriters.TestCase
TestPersonAndWriters.settings = settings(
    max_examples=examples(25),
    stateful_step_count=12,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytest.mark.slow(TestPersonAndWriters)
