"""Answers in a file: each once, whole, between two lines that name it; never over what is not ours."""

from __future__ import annotations

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_jobs.features.deliveries.channel import DeliveryError
from hermes_jobs.features.deliveries.channels.file import FileChannel
from hermes_jobs.kernel.engine.ports import StepInterrupted
from tests.features.deliveries.letters import NOON, asked_for
from tests.manual_clock import ManualClock
from tests.tools.support import Switch

RECORD = """\
---- dt1x0x0 · 2026-11-21 12:00:00 UTC · schedule:h1 ----

Good morning.

---- end of dt1x0x0 ----

"""


@pytest.fixture
def courier(tmp_path: Path) -> FileChannel:
    (tmp_path / "home").mkdir()
    return FileChannel(home=tmp_path / "home", environ={"HOME": str(tmp_path)}, clock=ManualClock(NOON))


def deliver(courier: FileChannel, address: str, text: str = "Good morning.", **more: object) -> Path:
    letter = asked_for(f"file:{address}", text, **more)  # type: ignore[arg-type]
    return Path(courier.deliver(letter, address, Switch()).receipt)


def refusal(courier: FileChannel, address: str, **more: object) -> DeliveryError:
    with pytest.raises(DeliveryError) as refused:
        deliver(courier, address, **more)  # type: ignore[arg-type]
    return refused.value


def test_an_answer_is_a_record_that_names_it(courier: FileChannel, tmp_path: Path) -> None:
    path = deliver(courier, str(tmp_path / "a.md"))
    assert path.read_text() == RECORD
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_same_delivery_twice_is_written_once(courier: FileChannel, tmp_path: Path) -> None:
    for _ in range(2):
        deliver(courier, str(tmp_path / "a.md"))
        deliver(courier, str(tmp_path / "a.md"), name="dt2x0x0")
    content = (tmp_path / "a.md").read_text()
    assert content == RECORD + RECORD.replace("dt1", "dt2")


def test_a_record_that_was_cut_short_is_written_again(courier: FileChannel, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(RECORD[:70])
    deliver(courier, str(path))
    assert path.read_text() == RECORD[:70] + "\n" + RECORD


def test_existing_lines_of_the_file_stay(courier: FileChannel, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("My notes, without a line end")
    deliver(courier, str(path))
    assert path.read_text() == "My notes, without a line end\n" + RECORD


def test_a_failed_turn_says_so(courier: FileChannel, tmp_path: Path) -> None:
    path = deliver(courier, str(tmp_path / "a.md"), ok=False, source="cli\n----")
    assert path.read_text().splitlines()[0].endswith("UTC · cli ---- · failed ----")


def test_paths_count_from_the_session_s_folder_and_the_user_s_home(
    courier: FileChannel, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    assert deliver(courier, "a.md", workdir=str(tmp_path / "work")) == tmp_path / "work" / "a.md"
    assert deliver(courier, "~/b.md", workdir=str(tmp_path / "work")) == tmp_path / "b.md"
    assert deliver(courier, "c.md") == tmp_path / "c.md"


def test_a_missing_folder_may_come_to_be(courier: FileChannel, tmp_path: Path) -> None:
    refused = refusal(courier, str(tmp_path / "none" / "a.md"))
    assert "No such file or directory" in refused.message
    assert not refused.lasting


def test_a_folder_is_no_file(courier: FileChannel, tmp_path: Path) -> None:
    assert "Is a directory" in refusal(courier, str(tmp_path)).message


def test_a_pipe_is_no_file_to_append_to(courier: FileChannel, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(courier, str(tmp_path / "pipe")).lasting


@pytest.mark.parametrize("address", ["home/config.yaml", "home/new.md", "link/.env", "linked.md"])
def test_the_home_of_hermes_jobs_is_never_written(courier: FileChannel, tmp_path: Path, address: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "home")
    (tmp_path / "linked.md").symlink_to(tmp_path / "home" / "SOUL.md")
    refused = refusal(courier, str(tmp_path / address))
    assert refused.lasting
    assert list((tmp_path / "home").iterdir()) == []


def test_many_deliveries_at_once_are_appended_one_by_one(courier: FileChannel, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    names = [f"dt{number}x0x0" for number in range(12)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: deliver(courier, str(path), "x" * 5_000, name=name), names * 2))
    content = path.read_text()
    assert sorted(content.count(f"---- end of {name} ----\n") for name in names) == [1] * len(names)
    assert len(content) == sum(len(RECORD) - len("Good morning.") + 5_000 for _ in names) + sum(
        2 * (len(name) - len("dt1x0x0")) for name in names
    )


def test_a_file_that_another_program_holds_is_given_up_when_the_worker_leaves(
    courier: FileChannel, tmp_path: Path
) -> None:
    path, leaving = tmp_path / "a.md", Switch()
    leaving.fire("shutdown")
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StepInterrupted):
            courier.deliver(asked_for(f"file:{path}"), str(path), leaving)
    assert path.read_text() == ""
