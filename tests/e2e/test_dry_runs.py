"""A dry run writes nothing: neither the log, nor a file of the home or of the working folder.

Only what is derived may change: the views, which every reader brings up to date, and `run/`.
"""

from __future__ import annotations

from tests.home import Home
from tests.model_server import ModelServer

DERIVED = ("views", "run")
DRY_RUNS = (
    "redact tea --dry-run",
    "redact coffee --dry-run",
    "redact --regex te. --dry-run",
    "memory forget 1 --dry-run",
)
READS = ("models list", "queues")


def contents(home: Home) -> dict[str, bytes]:
    """The files of the home and the working folder, apart from those of the log and what is derived."""
    files = (path for root in (home.path, home.work) for path in root.rglob("*") if path.is_file())
    return {
        str(path): path.read_bytes()
        for path in files
        if not path.name.startswith("events.db") and not {*path.parts}.intersection(DERIVED)
    }


def num_events(home: Home) -> int:
    with home.open_log() as log:
        return len(log.tail(limit=10_000))


def test_dry_runs_and_lists_change_neither_log_nor_files_beside_a_pending_hand_edit(
    home: Home, model_server: ModelServer
) -> None:
    sent = home.send("I like tea.")
    assert home.run("memory", "add", "Likes tea").code == 0
    (home.path / "memories" / "MEMORY.md").write_text("Likes coffee\n")
    (home.work / "servers.json").write_text('{"mcpServers": {"a": {"command": "true"}}}')
    before, num_before = contents(home), num_events(home)
    for command in (*DRY_RUNS, *READS):
        ran = home.run(*command.format(**sent).split())
        assert "No such command" not in ran.err, ran
        assert (contents(home), num_events(home)) == (before, num_before), command
