"""A message broker of the test's own, that can be killed: it keeps nothing, and comes back empty."""

from __future__ import annotations

import random
import socket
import subprocess
from pathlib import Path
from signal import SIGSTOP

from redis import Redis
from redis.exceptions import RedisError

from hermes_jobs.runtime.queues import ALL_QUEUES
from tests.tools.support import wait_until

HOST = "127.0.0.1"


class RedisServer:
    """The server from `program`, on a free port that stays the same through its restarts.

    `arguments` are further words of its command line.
    """

    def __init__(self, program: str, folder: Path, *arguments: str) -> None:
        self._program = program
        self._arguments = arguments
        self._folder = folder
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._client = Redis(HOST, self._port)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://{HOST}:{self._port}/0"

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {"port": str(self._port), "bind": HOST, "save": "", "dir": str(self._folder)}
        words = (word for name, value in options.items() for word in (f"--{name}", value))
        command = [self._program, *words, *self._arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(self._answers, "the broker's answer")
        except AssertionError:
            self.kill()
            raise

    def kill(self) -> None:
        """`kill -9`: all its messages are lost, all its connections cut."""
        self._client.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def limit(self, more: int | None) -> None:
        """Let it take so many bytes more than it has, and refuse what is beyond; None: any number."""
        most = 0 if more is None else self._client.info("memory")["used_memory"] + more
        self._client.config_set("maxmemory", most)

    def freeze(self) -> None:
        """Let it answer nothing, with all its connections open."""
        if self._process is not None:
            self._process.send_signal(SIGSTOP)

    def demote(self) -> None:
        """Make it a replica of a server that is not there: it answers, and takes nothing."""
        self._client.execute_command("REPLICAOF", HOST, "1")

    def promote(self) -> None:
        """Make it what it was."""
        self._client.execute_command("REPLICAOF", "NO", "ONE")

    def has_refused(self) -> bool:
        """Whether somebody tried to write while it was a replica."""
        return "errorstat_READONLY" in self._client.info("errorstats")

    def shuffle(self, prefix: str, rng: random.Random, doubled: set[bytes]) -> None:
        """Double each waiting message that was not doubled before, and put all into another order."""
        for queue in ALL_QUEUES:
            key = f"{prefix}{queue}"
            with self._client.pipeline() as pipeline:
                pipeline.lrange(key, 0, -1)
                pipeline.delete(key)
                messages, _ = pipeline.execute()
            fresh = [message for message in messages if message not in doubled]
            doubled.update(fresh)
            messages += fresh
            rng.shuffle(messages)
            if messages:
                self._client.rpush(key, *messages)

    def _answers(self) -> bool:
        try:
            return bool(self._client.ping())
        except RedisError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
