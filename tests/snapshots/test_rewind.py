"""Whatever tools and others write: a rewind gives back exactly what was there, or touches nothing."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.features.snapshots.file_writer import FileWriter
from hermes_jobs.features.snapshots.rewind import REFUSED, Judged, Rewind
from hermes_jobs.features.snapshots.store import SnapshotLimits, SnapshotStore
from hermes_jobs.features.snapshots.turn_files import TurnFiles, files_of, last_rewind
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.files import Files
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.toolbox import Toolbox
from tests.tools.support import Switch, context_in

NOW = "2026-11-23T12:00:00+00:00"


class Desk:
    """A folder with file tools that keep what they replace, and the events that they wrote."""

    def __init__(self, folder: Path, limits: SnapshotLimits | None = None) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        home = folder / "home"
        home.mkdir()
        self.store = SnapshotStore(home / "snapshots", limits or SnapshotLimits())
        files = Files(PathPolicy(home=str(home), user_home=str(folder)), snapshots=self.store)
        self.tools = Toolbox(files.tools, enabled=("files",))
        self.rewind = Rewind(self.store, FileWriter(self.store))
        self.events: list[RecordedEvent] = []
        self.calls = 0

    def add(self, event: e.Event) -> None:
        at = len(self.events) + 1
        meta = EventMeta(worker="w")
        self.events.append(
            RecordedEvent(
                position=at,
                stream="session-s1",
                version=at,
                type=type(event).__name__,
                event=event,
                meta=meta,
                schema=1,
                recorded_at=NOW,
                hash="",
            )
        )

    def ask(self, name: str, turn: str = "t1", **arguments: str) -> str:
        """Run a call of the turn as the engine does; its answer."""
        self.calls += 1
        call = f"{turn}-{self.calls}-0"
        context = replace(context_in(self.work), turn=turn, call=call)
        written = json.dumps(arguments)
        self.add(
            e.ToolStarted(
                turn=turn, step=call, call=call, name=name, arguments=written, attempt=1, effect="write"
            )
        )
        outcome = self.tools.run(ToolCall("x", name, written), context, None, Switch())
        for fact in outcome.events:
            self.add(fact)
        self.add(e.ToolFinished(turn=turn, call=call, ok=outcome.ok, content=outcome.content))
        return outcome.content

    def files(self, turn: str = "t1") -> TurnFiles:
        return files_of(self.events, turn, self.store)

    def judge(self, turn: str = "t1") -> list[Judged]:
        return [self.rewind.judge(each) for each in self.files(turn).net_changes]

    def back(self, turn: str = "t1", *, undo: bool = False, force: bool = False) -> bool:
        """Rewind as the command does; whether it was not refused."""
        known = self.files(turn)
        changes = last_rewind(known) if undo else known.net_changes
        if not changes:
            return False
        judged = [self.rewind.judge(each) for each in changes]
        if any(each.judgement in REFUSED for each in judged) and not force:
            return False
        done = self.rewind.restore([each for each in judged if each.judgement != "not_kept"])
        assert not done.failed
        if done.changes:
            self.add(e.FilesRestored(turn=turn, by="user", files=done.changes, undo=undo))
        return True

    def content(self, name: str) -> bytes | None:
        path = self.work / name
        return path.read_bytes() if path.exists() else None

    def snapshot(self) -> dict[str, tuple[bytes, int] | None]:
        """Every file and folder with its content and mode."""
        found: dict[str, tuple[bytes, int] | None] = {}
        for path in sorted(self.work.rglob("*")):
            name = str(path.relative_to(self.work))
            found[name] = None if path.is_dir() else (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


NAMES = ("a.txt", "b.txt", "new/deep/c.txt")
TEXTS = st.sampled_from(["", "one\n", "two\n", "one\ntwo\n", "ä", "x" * 300])
BY_TOOL = st.tuples(st.just("tool"), st.sampled_from(NAMES), TEXTS)
BY_OTHERS = st.tuples(st.sampled_from(["other", "delete"]), st.sampled_from(NAMES), TEXTS)


@given(
    st.dictionaries(st.sampled_from(NAMES[:2]), TEXTS),
    st.lists(st.one_of(BY_TOOL, BY_TOOL, BY_OTHERS), max_size=8),
)
def test_a_rewind_restores_everything_or_nothing(start, acts):
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder).resolve())
        for name, text in start.items():
            (desk.work / name).write_text(text)
            (desk.work / name).chmod(0o640)
        before: dict[str, bytes | None] = {}
        last: dict[str, bytes] = {}
        for who, name, text in acts:
            path = desk.work / name
            if who == "tool":
                before.setdefault(name, desk.content(name))
                desk.ask("write_file", path=name, content=text)
                last[name] = text.encode()
            elif who == "other":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            else:
                path.unlink(missing_ok=True)
        if not last:
            assert desk.files().files == ()
            return
        here = {name: desk.content(name) for name in last}
        everything = desk.snapshot()
        clean = all(here[name] in (last[name], before[name]) for name in last)
        assert desk.back() == clean
        if not clean:
            assert desk.snapshot() == everything
            assert desk.back(force=True)
        assert {name: desk.content(name) for name in last} == before
        assert {name: desk.content(name) for name in NAMES if name not in last} == {
            name: (everything.get(name) or (None,))[0] for name in NAMES if name not in last
        }
        nothing = all(here[name] == before[name] == last[name] for name in last)
        assert desk.back(undo=True) != nothing
        put = {name: last[name] if here[name] == before[name] else here[name] for name in last}
        assert {name: desk.content(name) for name in last} == put


def test_a_created_file_goes_with_its_folders_and_comes_back_with_its_mode(desk):
    desk.ask("write_file", path="new/deep/a.sh", content="echo\n")
    (desk.work / "new/deep/a.sh").chmod(0o755)
    assert desk.back()
    assert desk.snapshot() == {}
    assert desk.back(undo=True)
    assert desk.snapshot()["new/deep/a.sh"] == (b"echo\n", 0o755)


def test_rewinds_are_undone_one_by_one_and_empty_ones_do_not_count(desk):
    (desk.work / "a").write_text("old\n")
    desk.ask("write_file", path="a", content="new\n")
    (desk.work / "a").write_text("mine\n")
    assert desk.back(force=True)
    assert desk.back()
    assert len(desk.files().restored) == 1
    assert desk.back(undo=True)
    assert desk.content("a") == b"mine\n"
    assert not desk.back(undo=True), "all is taken back"
    assert desk.content("a") == b"mine\n"
    assert desk.back(force=True)
    assert desk.content("a") == b"old\n"
    assert desk.back(undo=True)
    assert desk.content("a") == b"mine\n"


def test_a_rewind_that_was_killed_before_it_was_recorded_is_completed_by_the_next(desk):
    (desk.work / "a").write_text("old\n")
    desk.ask("write_file", path="a", content="new\n")
    desk.ask("write_file", path="b", content="b\n")
    desk.rewind.restore(desk.judge()[:1])
    assert desk.back()
    assert desk.snapshot() == {"a": (b"old\n", 0o644)}
    assert desk.back(undo=True)
    assert (desk.content("a"), desk.content("b")) == (b"new\n", b"b\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_left_to_its_owner(desk):
    (desk.work / "a").write_text("old\n")
    (desk.work / "a").chmod(0o444)
    assert "a is read-only: it cannot be written." in desk.ask("write_file", path="a", content="new\n")
    assert desk.content("a") == b"old\n"
    (desk.work / "a").chmod(0o644)
    desk.ask("write_file", path="a", content="new\n")
    (desk.work / "a").chmod(0o444)
    assert [(each.judgement, each.reason) for each in desk.judge()] == [
        ("not_writable", "it is read-only now")
    ]
    assert not desk.back(force=False)
    assert desk.content("a") == b"new\n"


def test_mode_bits_are_restored_unless_changed_since(desk):
    for name in ("a", "b"):
        (desk.work / name).write_bytes(b"old\n")
        (desk.work / name).chmod(0o750)
        desk.ask("patch_file", path=name, old_string="old", new_string="new")
    (desk.work / "b").chmod(0o600)
    assert desk.back()
    assert desk.snapshot() == {"a": (b"old\n", 0o750), "b": (b"old\n", 0o600)}


def test_bytes_that_are_no_text_come_back(desk):
    (desk.work / "a.bin").write_bytes(bytes(range(256)))
    desk.ask("write_file", path="a.bin", content="text\n")
    assert [each.event.diff for each in desk.events if isinstance(each.event, e.FileWritten)] == [
        "(not text, or too large to compare: 256 bytes, then 5 bytes)"
    ]
    assert desk.back()
    assert (desk.work / "a.bin").read_bytes() == bytes(range(256))


def test_too_large_files_are_not_kept_and_others_are_unaffected(tmp_path):
    desk = Desk(tmp_path.resolve(), SnapshotLimits(file_bytes=1_000))
    (desk.work / "big").write_bytes(b"x" * 80_000)
    (desk.work / "small").write_bytes(b"old")
    desk.ask("write_file", path="big", content="1\n")
    desk.ask("write_file", path="small", content="2\n")
    assert [(each.judgement, each.reason) for each in desk.judge()] == [
        ("not_kept", "what it was is not kept: 80 kB"),
        ("restore", ""),
    ]
    assert not desk.back()
    assert (desk.work / "small").read_bytes() == b"2\n"
    assert desk.back(force=True)
    assert [(desk.work / name).read_bytes() for name in ("big", "small")] == [b"1\n", b"old"]


def test_nothing_is_kept_where_that_is_switched_off(tmp_path):
    desk = Desk(tmp_path.resolve(), SnapshotLimits(seconds=0))
    (desk.work / "a").write_bytes(b"old")
    desk.ask("write_file", path="a", content="new")
    assert not desk.store.folder.exists()
    assert [each.reason for each in desk.judge()] == ["what it was is not kept: switched off"]


def test_a_link_in_the_place_of_the_file_is_refused_also_by_force(desk):
    desk.ask("write_file", path="a", content="new")
    (desk.work / "a").unlink()
    (desk.work / "b").write_text("precious")
    (desk.work / "a").symlink_to("b")
    assert [(each.judgement, each.reason) for each in desk.judge()] == [
        ("not_a_file", "it is a symbolic link now")
    ]


def test_a_link_to_a_file_is_written_through_and_back(desk):
    (desk.work / "real").write_text("old")
    (desk.work / "link").symlink_to("real")
    desk.ask("write_file", path="link", content="new")
    assert desk.back()
    assert (desk.work / "link").is_symlink()
    assert (desk.work / "real").read_text() == "old"


def test_a_later_turn_that_wrote_the_file_is_named(desk):
    desk.ask("write_file", path="a", content="1")
    desk.ask("write_file", turn="t2", path="a", content="2")
    assert [each.reason for each in desk.judge()] == ["turn t2 has written it since: take that back first"]
    assert desk.back("t2")
    assert desk.back()
    assert desk.snapshot() == {}


def test_a_turn_continued_after_a_rewind_can_be_rewound_again(desk):
    (desk.work / "a").write_text("0")
    desk.ask("write_file", path="a", content="1")
    assert desk.back()
    desk.ask("write_file", path="a", content="2")
    assert desk.back()
    assert (desk.work / "a").read_text() == "0"


# --- killed between ----------------------------------------------------------------------------


class Killed(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("at", ["keep", "plan", "replace", "after"])
def test_a_write_that_was_killed_at_any_point_is_last_rewind(desk, monkeypatch, at, existed):
    path = desk.work / "a"
    if existed:
        path.write_text("old")
    desk.ask("write_file", path="other", content="x")

    def dies(*_arguments, **_more):
        raise Killed

    if at == "keep":
        monkeypatch.setattr(SnapshotStore, "store_content", dies)
    elif at == "plan":
        monkeypatch.setattr(SnapshotStore, "plan", dies)
    elif at == "replace":
        real = os.replace
        monkeypatch.setattr(os, "replace", lambda *a, **more: dies() if more else real(*a))
    else:
        monkeypatch.setattr(SnapshotStore, "prune_if_due", dies)
    with pytest.raises(Killed):
        desk.ask("write_file", path="a", content="new")
    monkeypatch.undo()
    desk.add(e.ToolInterrupted(turn="t1", call="t1-2-0", reason="unknown_outcome"))
    assert path.exists() == (existed or at == "after")
    lost = at in ("keep", "plan")
    assert desk.files().lost == (("t1-2-0",) if lost else ())
    assert desk.back()
    assert (path.read_text() if path.exists() else None) == ("old" if existed else None)
    assert not (desk.work / "other").exists()


# --- the store ---------------------------------------------------------------------------------


def test_contents_are_for_the_owner_alone(desk):
    desk.ask("write_file", path="a", content="secret")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in desk.store.folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert stat.S_IMODE(desk.store.folder.stat().st_mode) == 0o700


def test_the_old_goes_and_then_the_oldest_until_the_rest_fits(tmp_path):
    store = SnapshotStore(tmp_path / "snapshots", SnapshotLimits(total_bytes=2_500, seconds=100))
    states = [store.store_content(os.urandom(1_000), 0o600) for _ in range(4)]
    for age, state in zip((200, 30, 20, 10), states, strict=True):
        at = 1_000_000 - age
        os.utime(store._place(state.digest), (at, at))
    assert store.prune(1_000_000) == 2
    assert [store.load(each.digest) is not None for each in states] == [False, False, True, True]


def test_a_damaged_content_is_not_given_out(tmp_path):
    store = SnapshotStore(tmp_path / "snapshots")
    state = store.store_content(b"content", 0o600)
    store._place(state.digest).write_bytes(b"damaged")
    assert store.load(state.digest) is None
