"""A PgBouncer of the test's own, in transaction mode: https://www.pgbouncer.org/config.html."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import make_url

from tests.services import POSTGRES_URL, missing, postgres_schema
from tests.tools.support import wait_until

HOST = "127.0.0.1"
POOL = 2  # server connections: fewer than the log's threads ask for, so that each statement may get another

CONFIGURATION = """\
[databases]
log = host={server} port={server_port} dbname={database} user={user}{password} \
connect_query='SET search_path TO {schema}'

[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 100
"""


@contextmanager
def pgbouncer_url() -> Iterator[str]:
    """The URL of an empty log behind a pool of two connections, each of which serves everybody in turn."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None:
        missing("PgBouncer")
    with (
        postgres_schema() as url,
        TemporaryDirectory() as folder,  # a test's own folder is for its owner alone
        _running(program, Path(folder), url.rpartition("%3D")[2]) as port,
    ):
        yield f"postgresql+psycopg://log@{HOST}:{port}/log"


@contextmanager
def _running(program: str, folder: Path, schema: str) -> Iterator[int]:
    server = make_url(POSTGRES_URL)
    port = _free_port()
    file = folder / "pgbouncer.ini"
    file.write_text(
        CONFIGURATION.format(
            server=server.host or HOST,
            server_port=server.port or 5432,
            database=server.database,
            user=server.username,
            password=f" password='{server.password}'" if server.password else "",
            schema=schema,
            host=HOST,
            port=port,
            pool=POOL,
        )
    )
    said = folder / "said"
    with said.open("wb") as output:
        command = [program, *_as_somebody(folder, file), str(file)]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        wait_until(lambda: process.poll() is not None or _answers(port), "PgBouncer's answer")
        assert process.poll() is None, said.read_text()
        yield port
    finally:
        process.kill()
        process.wait()


def _as_somebody(folder: Path, file: Path) -> list[str]:
    """It refuses to run as root."""
    if os.geteuid() != 0:
        return []
    shutil.chown(folder, "nobody")
    shutil.chown(file, "nobody")
    return ["-u", "nobody"]


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
