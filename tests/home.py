"""A home of its own and the command line run in it, as processes, the way people run it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.tools.sandbox import layer
from hermes_jobs.tools.sandbox_plan import NONE
from tests.processes import ROOT, Process, spawn, start
from tests.tools.support import wait_until

KEY = "sk-nobody-may-ever-see-this-0123456789"
PATIENCE = 90.0  # seconds after which a process that should have ended fails its test


@dataclass(frozen=True)
class Ran:
    """How one command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output, which has to be one JSON value."""
        return json.loads(self.out)


class Running:
    """A process under way, what it says kept in files. It ends with the `with` at the latest."""

    def __init__(self, process: Process, out: IO[bytes], err: IO[bytes]) -> None:
        self.process = process
        self._out = out
        self._err = err

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_error: object) -> None:
        with self._out, self._err:
            self.process.kill()
            self.process.wait()

    @property
    def out(self) -> str:
        """What it has written to standard output so far."""
        return _text(self._out)

    @property
    def err(self) -> str:
        """What it has written to standard error so far."""
        return _text(self._err)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; SIGINT is Ctrl-C."""
        self.process.send_signal(number)

    def wait_for(self, text: str) -> None:
        """Until its standard error says that."""
        wait_until(lambda: text in self.err or self.process.poll() is not None, f"{text!r}")
        assert text in self.err, f"it ended and said {self.err!r}"

    def end(self) -> Ran:
        """Wait for its end."""
        code = self.process.wait(PATIENCE)
        return Ran(code, self.out, self.err)


def _text(file: IO[bytes]) -> str:
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()


def is_confined() -> bool:
    """Whether this machine has a sandbox for commands."""
    return layer().name != NONE


class Home:
    """One home; `environ` is all that its processes know of the world."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.path = folder / "home"
        self.work = folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),  # launchers of the tests' own are started like the command line
            "HERMES_JOBS_HOME": str(self.path),
            **({} if is_confined() else {"HERMES_JOBS_TERMINAL__ALLOW": '["*"]'}),  # code of the folder asks
            **environ,
        }

    def run(self, *arguments: str, stdin: str | None = None, **environ: str) -> Ran:
        """Run one command line to its end; without `stdin` nothing is piped in."""
        with self.start(*arguments, stdin=stdin, **environ) as running:
            return running.end()

    def run_in_new_interpreter(self, *arguments: str) -> Ran:
        """Run one command line where nothing has been imported."""
        with self._begin(spawn, ["hermes_jobs", *arguments], None, {}) as running:
            return running.end()

    def start(self, *arguments: str, stdin: str | None = None, **environ: str) -> Running:
        """Begin one command line."""
        return self.launch("hermes_jobs", *arguments, stdin=stdin, **environ)

    def launch(self, module: str, *arguments: str, stdin: str | None = None, **environ: str) -> Running:
        """Begin one Python module of this installation, or of the tests."""
        return self._begin(start, [module, *arguments], stdin, environ)

    def _begin(
        self,
        begin: Callable[..., Process],
        arguments: list[str],
        stdin: str | None,
        environ: Mapping[str, str],
    ) -> Running:
        environ = {**self.environ, **environ}
        with ExitStack() as stack:
            out, err = (stack.enter_context(TemporaryFile(buffering=0)) for _ in range(2))
            reader, writer = os.pipe() if stdin is not None else (os.open(os.devnull, os.O_RDONLY), None)
            try:
                process = begin(arguments, (reader, out, err), environ=environ, folder=self.work)
            finally:
                os.close(reader)
            running = stack.enter_context(Running(process, out, err))
            if writer is not None:
                with open(writer, "wb") as file:  # noqa: PTH123
                    file.write((stdin or "").encode())
            stack.pop_all()
            return running

    def send(self, *arguments: str, **environ: str) -> Any:
        """`send --json`, which has to complete its turn; the result object."""
        ran = self.run("send", "--json", *arguments, **environ)
        assert ran.code == 0, ran
        return ran.json

    def turn(self, turn: str) -> Any:
        """`turns show --json`."""
        ran = self.run("turns", "show", turn, "--json")
        assert ran.code == 0, ran
        return ran.json

    @property
    def log_url(self) -> str:
        """Where its log is."""
        return self.environ.get("HERMES_JOBS_LOG_URL") or sqlite_url(self.path / "events.db")

    @contextmanager
    def open_log(self) -> Iterator[SqlEventLog]:
        """Its log, open."""
        log = open_log(self.log_url)
        try:
            yield log
        finally:
            log.close()

    def files_holding(self, text: str) -> list[Path]:
        """The files of the home that hold a text."""
        files = (path for path in self.path.rglob("*") if path.is_file())
        return [path for path in files if text.encode() in path.read_bytes()]


def endpoint(base_url: str) -> dict[str, str]:
    """The environment that names a model's endpoint."""
    return {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": KEY, "HERMES_JOBS_MODEL": "scripted"}
