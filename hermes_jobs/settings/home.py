"""The home folder: its location, its files, and its creation."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hermes_jobs.errors import Misconfigured

HOME_VARIABLE = "HERMES_JOBS_HOME"


class Paths(Struct, frozen=True):
    """The files and folders of one home."""

    home: Path

    @property
    def config(self) -> Path:
        return self.home / "config.yaml"

    @property
    def env_file(self) -> Path:
        return self.home / ".env"

    @property
    def soul(self) -> Path:
        return self.home / "SOUL.md"

    @property
    def instructions(self) -> Path:
        return self.home / "AGENTS.md"

    @property
    def events_db(self) -> Path:
        return self.home / "events.db"

    @property
    def memories(self) -> Path:
        return self.home / "memories"

    @property
    def skills(self) -> Path:
        return self.home / "skills"

    @property
    def commands(self) -> Path:
        return self.home / "commands"

    @property
    def agents(self) -> Path:
        return self.home / "agents"

    @property
    def plugins(self) -> Path:
        return self.home / "plugins"

    @property
    def views(self) -> Path:
        return self.home / "views"

    @property
    def changed(self) -> Path:
        """What conditions have seen of files."""
        return self.home / "changed"

    @property
    def results(self) -> Path:
        return self.home / "results"

    @property
    def attachments(self) -> Path:
        """The bytes of attachments; beside the log where that is a file elsewhere."""
        return self.home / "attachments"

    @property
    def snapshots(self) -> Path:
        return self.home / "snapshots"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def mcp_logins(self) -> Path:
        """Tokens of MCP servers."""
        return self.home / "mcp" / "logins"

    @property
    def mcp_resources(self) -> Path:
        """The folder with the lists of the MCP servers' resources and prompts."""
        return self.run / "mcp-resources"

    @property
    def processes(self) -> Path:
        """What runs in the background of this home, on this host."""
        return self.run / "processes"

    @property
    def last_notice(self) -> Path:
        """The moment up to which a user at a terminal was notified of events."""
        return self.run / "told"

    @property
    def chat_history(self) -> Path:
        return self.home / "chat_history"

    @property
    def forgotten(self) -> Path:
        """How far this home's own files follow what the log has forgotten."""
        return self.run / "forgotten"

    @property
    def forgetting(self) -> Path:
        """There from before texts are removed until nothing of them is left in this home."""
        return self.run / "forgetting"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that a process may need."""
        return (self.memories, self.skills, self.plugins, self.views, self.results, self.logs, self.run)


def find_home(environ: Mapping[str, str]) -> Path:
    """Return the home in the environment as an absolute path; it need not exist.

    Raises `Misconfigured` if it depends on a missing folder: the user's home, or the current folder.
    """
    named = environ.get(HOME_VARIABLE, "").strip() or "~/.hermes-jobs"
    try:
        if named == "~" or named.startswith("~/"):
            return (Path(environ.get("HOME") or Path.home()) / named[2:]).resolve()
        return Path(named).resolve()
    except RuntimeError as error:
        raise _nowhere("HOME is not set, and the system knows no home folder of this user") from error
    except FileNotFoundError as error:
        raise _nowhere("the folder that you are in has been deleted") from error


def ensure_home(paths: Paths) -> None:
    """Create the missing folders of the home, readable by their owner only.

    Raises `Misconfigured` if that fails or the home is not writable.
    """
    try:
        for folder in (paths.home, *paths.folders):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise _unwritable(paths.home, f"{error.filename} is a file, not a folder") from error
    except OSError as error:
        raise _unwritable(paths.home, f"{error.strerror} ({error.filename})") from error
    if not os.access(paths.home, os.W_OK | os.X_OK):
        is_read_only = os.statvfs(paths.home).f_flag & os.ST_RDONLY
        raise _unwritable(paths.home, "its disk is read-only" if is_read_only else "permission denied")


def _nowhere(reason: str) -> Misconfigured:
    return Misconfigured(
        f"The home cannot be found: {reason}.", hint=f"Set {HOME_VARIABLE} to an absolute path."
    )


def _unwritable(home: Path, reason: str) -> Misconfigured:
    return Misconfigured(
        f"The home {home} cannot be written: {reason}.",
        hint=f"Set {HOME_VARIABLE} to a folder that you may write, or correct its permissions.",
    )
