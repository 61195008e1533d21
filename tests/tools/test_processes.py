"""Commands under their supervisor: what they print, how they end, and that nothing of them stays."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_jobs.tools.environment import filtered_environment, without_own_venv
from hermes_jobs.tools.processes import Completed, run

from .support import Switch, processes_with, wait_until

ROOT = Path(__file__).parents[2]
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers")


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """A text in the environment of every process that the test starts."""
    return f"MARK_{tmp_path.name}_{os.getpid()}"


@pytest.fixture
def command(tmp_path: Path, mark: str):
    def start(text: str, *, timeout: float = 60, cancel: Switch | None = None, **more) -> Completed:
        env = {"PATH": os.environ["PATH"], "MARK": mark}
        return run(text, cwd=str(tmp_path), env=env, timeout=timeout, cancel=cancel or Switch(), **more)

    return start


# --- output --------------------------------------------------------------------------------------


def test_output_and_exit_code_come_back(command):
    assert command("echo hello; exit 3") == Completed(exit_code=3, output="hello\n")


def test_both_streams_come_in_the_order_in_which_they_were_written(command):
    assert command("echo 1; echo 2 >&2; echo 3; echo 4 >&2").output == "1\n2\n3\n4\n"


def test_it_runs_in_the_folder_with_the_environment_given(command, tmp_path):
    assert command("pwd; echo $MARK").output.splitlines()[0] == str(tmp_path)


def test_reading_input_finds_its_end(command):
    assert command("cat; read line; echo $?").output == "1\n"


def test_there_is_no_terminal(command):
    assert command("tty; : < /dev/tty").output.startswith("not a tty\n")


def test_five_megabytes_come_back_whole(command):
    completed = command("head -c 5000000 /dev/zero | tr '\\0' a; echo; echo end")
    assert completed.output == "a" * 5_000_000 + "\nend\n"
    assert completed.cut == 0


def test_a_flood_is_bounded_and_says_how_much_was_cut(command):
    completed = command("yes", timeout=1, max_bytes=80_000)
    assert completed.timed_out
    assert completed.exit_code is None
    assert completed.cut > 0
    assert len(completed.output) < 21_000
    assert f"{completed.cut:,} bytes of output were left out" in completed.output


def test_of_long_output_head_and_tail_are_kept(command):
    completed = command("seq 1 100000", max_bytes=8_000)
    assert completed.output.startswith("1\n2\n3\n")
    assert completed.output.endswith("99999\n100000\n")
    assert 2_000 < len(completed.output) < 2_200


def test_bytes_that_are_no_utf_8_are_replaced(command):
    assert command(r"printf 'a\377\376b\303'").output == "a��b�"


def test_escape_sequences_are_stripped(command):
    assert command(r"printf '\033[1;31mred\033[0m \033]0;title\007x\r\ny\000z'").output == "red x\nyz"


def test_a_character_cut_in_two_is_left_out(command):
    completed = command("python3 -c \"print('ä' * 50_000)\" 2>/dev/null", max_bytes=8_001)
    assert set(completed.output.partition("\n")[0]) == {"ä"}
    assert "�" not in completed.output


@pytest.mark.parametrize("text", ["echo a\0b", "echo " + "x" * 200_000])
def test_a_command_that_no_process_can_be_given_is_a_value_error(command, text):
    with pytest.raises(ValueError, match="under 100,000 bytes"):
        command(text)


def test_a_folder_that_does_not_exist_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        run("true", cwd=str(tmp_path / "gone"), env={}, timeout=5, cancel=Switch())


# --- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["kill -9 0", "kill -9 -$$", "kill -9 $$"])
def test_a_command_that_kills_itself_or_its_group_ends_with_that_signal(command, text):
    assert command(text).exit_code == 137


def test_a_timeout_ends_a_command_with_its_output_so_far(command, mark):
    completed = command("echo begun; sleep 1000; echo never", timeout=1)
    assert completed == Completed(exit_code=None, output="begun\n", timed_out=True)
    assert processes_with(mark) == []


@pytest.mark.parametrize(
    "text",
    [
        "trap '' TERM INT HUP; while :; do sleep 1000; done",
        "kill -STOP $$",
        "setsid sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' & setsid setsid sleep 1000 & wait",
        "f() { sleep 0.01; f & }; f; sleep 1000",
    ],
    ids=["ignores TERM", "is stopped", "has left its session", "forks and ends in a chain"],
)
@linux
def test_nothing_survives_a_timeout_of_a_command_that(command, mark, text):
    assert command(text, timeout=1).timed_out
    assert processes_with(mark) == []


@pytest.mark.parametrize(
    "text",
    [
        "sleep 1000 &",
        "setsid sleep 1000 &",
        "(setsid sh -c 'sleep 1000 & sleep 1000' &)",
        "nohup sleep 1000 &",
    ],
)
@linux
def test_background_processes_of_a_command_end_with_it(command, mark, text):
    assert command(f"{text}\necho done") == Completed(exit_code=0, output="done\n")
    assert processes_with(mark) == []


def test_a_process_that_ends_right_after_the_command_may_finish(command, tmp_path):
    assert command("echo text > >(sleep 0.05; cat > late)").exit_code == 0
    assert (tmp_path / "late").read_text() == "text\n"


def test_cancelling_kills_at_once(command, mark, tmp_path):
    switch = Switch()
    results: list[Completed] = []
    thread = threading.Thread(
        target=lambda: results.append(command("echo begun; touch ready; sleep 1000", cancel=switch))
    )
    thread.start()
    wait_until((tmp_path / "ready").exists, "the command to begin")
    switch.fire()
    thread.join(20)
    assert results == [Completed(exit_code=None, output="begun\n", interrupted=True)]
    assert processes_with(mark) == []


def test_a_call_that_was_cancelled_before_is_interrupted(command):
    switch = Switch()
    switch.fire()
    assert command("sleep 1000", cancel=switch).interrupted


@linux
def test_a_command_that_kills_its_supervisor_does_not_outlive_it(command, mark):
    completed = command("sleep 1000 & kill -9 $PPID; sleep 1000")
    assert completed.lost
    assert completed.exit_code is None
    wait_until(lambda: processes_with(mark) == [], "the command's group to be gone")


@linux
def test_killing_the_worker_leaves_no_process_behind(mark, tmp_path):
    program = """
import sys
from hermes_jobs.tools.processes import run
from tests.tools.support import Switch
folder, text, mark, path = sys.argv[1:]
run(text, cwd=folder, env={"MARK": mark, "PATH": path}, timeout=1000, cancel=Switch())
"""
    stubborn = "sh -c 'trap \"\" TERM; sleep 1000; sleep 1000'"
    text = f"touch ready; sleep 1000 & setsid sleep 1000 & setsid {stubborn} & sleep 1000"
    arguments = [sys.executable, "-c", program, str(tmp_path), text, mark, os.environ["PATH"]]
    worker = subprocess.Popen(arguments, cwd=ROOT)
    try:
        wait_until(lambda: (tmp_path / "ready").exists() or worker.poll() is not None, "the command to begin")
        assert worker.poll() is None
        wait_until(lambda: len(processes_with(mark)) >= 6, "all of its processes to run")
    finally:
        worker.kill()
        worker.wait()
    wait_until(lambda: processes_with(mark) == [], "every process to be gone")


def test_many_commands_at_once_do_not_meet(command):
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda n: command(f"echo {n}").output, range(8)))
    assert outputs == [f"{n}\n" for n in range(8)]


def open_files() -> set[str]:
    return {each.name for each in Path("/dev/fd").iterdir()}


def test_no_file_descriptor_is_left_open(command):
    command("true")
    before = open_files()
    for _ in range(3):
        command("echo x; exit 1")
    assert open_files() == before


# --- the environment -----------------------------------------------------------------------------

ENVIRON = {
    "PATH": os.environ["PATH"],
    "LANG": "C.UTF-8",
    "GIT_AUTHOR_NAME": "Ann",
    "SSH_AUTH_SOCK": "/run/agent",
    "OPENAI_API_KEY": "hidden-0",
    "OPENAI_BASE_URL": "hidden-1",
    "HERMES_JOBS_HOME": "hidden-2",
    "HERMES_JOBS_LOG__URL": "hidden-3",
    "GITHUB_TOKEN": "hidden-4",
    "AWS_SECRET_ACCESS_KEY": "hidden-5",
    "db_password": "hidden-6",
    "MYSQL_PWD": "hidden-7",
    "GOOGLE_APPLICATION_CREDENTIALS": "hidden-8",
    "NPM_CONFIG__AUTH": "hidden-9",
    "DATABASE_URL": "postgresql://ann:hidden-a@db/x",
    "INNOCENT": "prefix known-secret-value suffix",
}


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("{own}/bin:/usr/bin:{own}/bin/", "/usr/bin"),
        ("{link}/bin:{theirs}/bin:/usr/bin", "{theirs}/bin:/usr/bin"),
        ("/usr/bin::{own}/lib", "/usr/bin::{own}/lib"),
        ("{own}/bin", None),
    ],
)
def test_the_venv_of_hermes_jobs_is_not_that_of_commands(tmp_path, path, kept):
    own, theirs, link = tmp_path / "own", tmp_path / "theirs", tmp_path / "link"
    (own / "bin").mkdir(parents=True)
    link.symlink_to(own)
    places = {"own": own, "theirs": theirs, "link": link}
    environ = {"PATH": path.format(**places), "VIRTUAL_ENV": str(link), "VIRTUAL_ENV_PROMPT": "own"}
    left = {} if kept is None else {"PATH": kept.format(**places)}
    assert without_own_venv(environ, str(own)) == left
    assert without_own_venv({**environ, "VIRTUAL_ENV": str(theirs)}, str(own)) == {
        **left,
        "VIRTUAL_ENV": str(theirs),
        "VIRTUAL_ENV_PROMPT": "own",
    }
    assert without_own_venv(environ, "") == environ


def test_a_command_finds_no_python_of_the_venv_that_runs_it(tmp_path):
    """The tests themselves run in a virtual environment, as people who install hermes-jobs do."""
    bin_folder = str(Path(sys.prefix) / "bin")
    path = os.pathsep.join([bin_folder, *os.environ["PATH"].split(os.pathsep)])
    env = filtered_environment({**os.environ, "PATH": path, "VIRTUAL_ENV": sys.prefix})
    output = run(
        "type -a python3; echo ${VIRTUAL_ENV-none}", cwd=str(tmp_path), env=env, timeout=30, cancel=Switch()
    )
    if sys.prefix != sys.base_prefix:
        assert f"{bin_folder}/" not in output.output
        assert output.output.endswith("none\n")


def test_no_secret_is_visible_to_a_command(tmp_path):
    env = filtered_environment(ENVIRON, ["known-secret-value", ""])
    output = run("env", cwd=str(tmp_path), env=env, timeout=30, cancel=Switch()).output
    assert "hidden" not in output
    assert "known-secret-value" not in output
    assert "LANG=C.UTF-8\n" in output
    assert "GIT_AUTHOR_NAME=Ann\n" in output
    assert "SSH_AUTH_SOCK=/run/agent\n" in output
