"""Several processes and hosts at once: every write stands, and nobody's words are lost."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from tests.examples import examples
from tests.skills.hosts import Host


def test_processes_that_write_one_skill_at_once_lose_nothing(log, tmp_path):
    folder = tmp_path / "one"
    Host(log, folder).create("tidy")
    hosts = [Host(log, folder) for _ in range(4)]

    def write(number: int) -> None:
        for each in range(3):
            hosts[number].ask(
                "write_file", "tidy", path=f"assets/{number}-{each}", content=f"{number} {each}"
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(hosts[0].home.sync()["tidy"].files) == 13
    assert len(hosts[0].facts("tidy")) == 13
    assert hosts[0].agrees()


ACTS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(
            [
                "create",
                "patch",
                "file",
                "remove",
                "delete",
                "undo",
                "append",
                "append file",
                "unlink",
                "rmtree",
            ]
        ),
        st.sampled_from(["a", "b"]),
    ),
    max_size=14,
)


@settings(max_examples=examples(25))
@given(ACTS)
def test_no_words_are_lost_between_agent_and_people_on_two_hosts(acts):
    with TemporaryDirectory() as folder:
        log = open_log(sqlite_url(Path(folder) / "events.db"))
        try:
            hosts = [Host(log, Path(folder) / name) for name in ("one", "two")]
            written = [_act(hosts[at], act, name, f"line {n}") for n, (at, act, name) in enumerate(acts)]
            for host in (*hosts, *hosts):
                host.home.sync()
            assert hosts[0].files() == hosts[1].files()
            assert all(host.agrees() for host in hosts)
            everything = [str(recorded.event) for recorded in log.tail()]
            for line in filter(None, written):
                assert any(line in event for event in everything), f"{line} is lost"
        finally:
            log.close()


def _act(host: Host, act: str, name: str, line: str) -> str:
    """One act; the line that a person wrote with it."""
    file = host.root / name / ("assets/f" if "file" in act else "SKILL.md")
    if act.startswith("append"):
        if not file.is_file():
            return ""
        file.write_text(f"{file.read_text()}{line}.\n")
        return f"{line}."
    if act in {"unlink", "rmtree"}:
        host.home.sync()  # what a person wrote and deleted before anybody looked was theirs to delete
        (host.root / name / "assets/f").unlink(missing_ok=True)
        if act == "rmtree":
            shutil.rmtree(host.root / name, ignore_errors=True)
        return ""
    with suppress(Rejected):
        match act:
            case "create":
                host.create(name, "Do it.\nAgain.")
            case "patch":
                host.ask("patch", name, old_string="Do it.", new_string=f"Do it.\nBy the agent: {line}")
            case "file":
                host.ask("write_file", name, path="assets/f", content=f"a\nb\n{line}\n")
            case "remove":
                host.ask("remove_file", name, path="assets/f")
            case "delete":
                host.ask("delete", name)
            case _:
                host.shelf.undo(name)
    return ""
