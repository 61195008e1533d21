"""Servers of a person that listen on Unix sockets at places of no table: commands reach only their own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path

import pytest

from hermes_jobs.tools.environment import filtered_environment
from hermes_jobs.tools.processes import run
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.sandbox_plan import NAMESPACE

from .support import Switch, wait_until
from .test_background import Shop
from .test_sandbox import LAYERS, USUAL, Person

pytestmark = pytest.mark.skipif(NAMESPACE not in LAYERS, reason="with Landlock there are no Unix sockets")

PLACES = (
    "project/t.sock", "project/.overmind.sock", "project/sub/my-agent.sock", ".tmux.sock",
    ".local/state/watchman/root-state/sock", ".local/share/wezterm/sock", ".ansible/cp/a1b2",
    ".cache/app.sock", ".vscode-server/a.sock", "a folder/ä b",
)  # fmt: skip
DATABASES = (
    "project/.s.PGSQL.5432", "data/mysqld.sock", "data/mysql.sock", "redis-server.sock", "mongodb-27017.sock",
    "project/memcached.sock",
)  # fmt: skip
REACH = """\
import socket, sys
for name in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(name)
    except OSError:
        continue
    print("reached", name)
"""
SERVER = """\
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(8)
if sys.argv[2:]:
    os.rename(sys.argv[1], sys.argv[2])
open("ready", "w").close()
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def person() -> Iterator[Person]:
    """One whose home has a short name: a path of a socket has at most a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="h") as folder:
        one = Person(Path(folder).resolve())
        (one.work / "reach.py").write_text(REACH)
        yield one


@contextmanager
def listening(*paths: Path) -> Iterator[None]:
    """Listeners of this process, which is in no sandbox."""
    with ExitStack() as closing:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            listener = closing.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(path))
            listener.listen(8)
        yield


@contextmanager
def serving(folder: Path, *names: str, under: tuple[str, ...] = ()) -> Iterator[None]:
    """A server of the person, which starts in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [*under, sys.executable, "-c", SERVER, *names]
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout
        assert server.stdin
        if not server.stdout.readline():
            pytest.skip("not allowed here")
        yield
        server.stdin.close()


def reached(
    person: Person,
    *paths: Path,
    reach: SandboxReach = USUAL,
    walls: Sandbox | None = None,
    before: str = "",
    **environ: str,
) -> list[str]:
    """Those that a command in the sandbox connects to."""
    env = filtered_environment({**os.environ, "HOME": str(person.folder), **environ})
    walls = walls or Sandbox(paths=person.paths, mode="on")
    made = walls.enclose(str(person.work), reach, env, scratch="s1")
    names = " ".join(f"'{path}'" for path in paths)
    done = run(
        f"{before}{sys.executable} reach.py {names}",
        cwd=str(person.work),
        env=made.environment,
        timeout=60,
        cancel=Switch(),
        sandbox=made.plan,
    )
    return [line.partition(" ")[2] for line in done.output.splitlines() if line.startswith("reached ")]


def outside(person: Person) -> Sandbox:
    """The control: without walls."""
    return Sandbox(paths=person.paths, mode="off")


@pytest.mark.parametrize("approved", [False, True])
def test_no_command_reaches_a_server_of_the_person(person: Person, approved: bool) -> None:
    paths = [person.folder / place for place in PLACES]
    with listening(*paths):
        assert reached(person, *paths, walls=outside(person)) == [str(path) for path in paths]
        assert reached(person, *paths, reach=SandboxReach(approved=approved)) == []


def test_moving_a_socket_or_its_folder_does_not_help(person: Person) -> None:
    with listening(person.work / "sub" / "t.sock"):
        moved = [person.work / "other" / "t.sock", person.work / "x", person.work / "sub" / "t.sock"]
        assert reached(person, *moved, before="mv sub other; mv */t.sock x; rm -f */t.sock; ") == []


@pytest.mark.parametrize(
    ("folder", "name"),
    [("project", "t.sock"), ("other/deep", "t.sock"), ("other/deep", "../t.sock"), (".", "./t.sock")],
)
def test_a_relative_name_counts_from_the_folder_of_the_server(person: Person, folder: str, name: str) -> None:
    """As of `tmux -S t.sock`: the kernel lists it as it was given."""
    path = (person.folder / folder / name).resolve()
    with serving(person.folder / folder, name):
        assert reached(person, path, walls=outside(person)) == [str(path)]
        assert reached(person, path) == []


def test_a_server_that_left_its_folder_is_looked_for_where_the_person_is(person: Person) -> None:
    with chdir(person.work), listening(Path("t.sock")), chdir("/"):
        assert reached(person, person.work / "t.sock", walls=outside(person))
        assert reached(person, person.work / "t.sock") == []


@pytest.mark.parametrize("absolute", [False, True])
def test_a_socket_that_was_renamed_is_hidden(person: Person, absolute: bool) -> None:
    """As ssh does for open connections: it listens on a name with a random suffix and links the usual one."""
    folder = person.folder / ".ansible" / "cp"
    before, after = ((str(folder / name) if absolute else name) for name in ("a1b2.x7Gf", "a1b2"))
    with serving(folder, before, after):
        assert reached(person, folder / "a1b2", walls=outside(person))
        assert reached(person, folder / "a1b2") == []


def test_a_server_with_mounts_of_its_own_that_is_in_no_sandbox_of_ours_is_hidden(person: Person) -> None:
    """As programs of flatpak and services of systemd."""
    if not shutil.which("unshare"):
        pytest.skip("not installed here")
    path = person.folder / ".app.sock"
    with serving(person.folder, str(path), under=("unshare", "-rm")):
        assert reached(person, path, walls=outside(person))
        assert reached(person, path) == []


def test_databases_stay_reachable(person: Person) -> None:
    paths = [person.folder / place for place in DATABASES]
    with listening(*paths):
        assert reached(person, *paths) == [str(path) for path in paths]


def test_what_the_settings_or_an_approval_name_is_reached(person: Person) -> None:
    tmux, other = person.folder / ".tmux.sock", person.folder / ".run" / "x.sock"
    with listening(tmux, other):
        shown = Sandbox(paths=person.paths, mode="on", visible=("~/.run",))
        assert reached(person, tmux, other, walls=shown) == [str(other)]
        service = SandboxReach(visible=("$TMUX",))
        assert reached(person, tmux, other, reach=service, TMUX=f"{tmux},12,0") == [str(tmux)]
        approved = SandboxReach(visible=("~/.tmux.sock",), approved=True)
        assert reached(person, tmux, other, reach=approved) == [str(tmux)]


@pytest.fixture
def shop() -> Iterator[Shop]:
    with tempfile.TemporaryDirectory(prefix="h") as folder:
        made = Shop(Path(folder).resolve())
        (made.work / "server.py").write_text(SERVER)
        (made.work / "reach.py").write_text(REACH)
        yield made
        made.known.kill_where(lambda _record: True, wait=True)
        wait_until(lambda: not made.living(), "the end of everything")


@pytest.mark.parametrize("name", ["app.sock", "my-agent.sock", "FOLDER/app.sock"])
def test_a_background_process_of_the_agent_stays_reachable(shop: Shop, name: str) -> None:
    """Also beside a server of the person with the same relative name."""
    name = name.replace("FOLDER", str(shop.work))
    with serving(shop.work.parent / "other", Path(name).name):
        shop.start(f"{sys.executable} server.py {name}")
        wait_until((shop.work / "ready").exists, "the server")
        asked = f"{sys.executable} reach.py {name} ../other/{Path(name).name}"
        assert shop.ask("terminal", command=asked).content.splitlines() == [f"reached {name}"]


def test_a_container_has_nothing_in_their_place(person: Person) -> None:
    with listening(person.work / "t.sock", person.work / ".s.PGSQL.5432"):
        walls = Sandbox(paths=person.paths, mode="on")
        assert walls.in_container(str(person.work), USUAL, {}).hidden == [str(person.work / "t.sock")]
