"""Flower with defaults for this application, closed to other machines.

Flower's own variables `FLOWER_<OPTION>` override these defaults. The password is FLOWER_BASIC_AUTH
(`name:password`), from the environment or the home's `.env`.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings import Settings

logger = logging.getLogger(__name__)

PASSWORD = "FLOWER_BASIC_AUTH"
DEFAULT_PORT = 5555
DEFAULT_ADDRESS = "127.0.0.1"
DEFAULTS: Mapping[str, object] = {
    "inspect_timeout": 5000.0,  # within Flower's default second a busy worker does not answer
    "tasks_columns": "name,uuid,state,received,started,runtime,worker,exception,result,kwargs,args",
    "max_tasks": 20_000,
    "purge_offline_workers": 600,  # a restarted worker has another name
}


def run(
    application: Application,
    broker_url: str,
    *,
    address: str,
    port: int,
    password: str | None,
    hosts: Sequence[str] = (),
) -> NoReturn:
    """Serve Flower until a stop signal, and end the process. Call it from the main thread.

    `hosts` are further names under which it is reached, such as a proxy's.

    Raises `Misconfigured` for a port that is taken.
    """
    from flower.command import apply_env_options, extract_settings, setup_logging
    from flower.options import default_options
    from flower.urls import settings

    from workers.app import make_app
    from workers.flower_hosts import GuardedFlower, Hosts
    from workers.flower_queues import add_page, templates

    for name, value in DEFAULTS.items():
        setattr(default_options, name, value)
    apply_env_options()
    default_options.address, default_options.port = address, port
    default_options.basic_auth = [password] if password else []
    if password is None:
        default_options.read_only = True  # without a password Flower refuses every operation anyway
    extract_settings()
    setup_logging()
    app = make_app(broker_url, prefix=f"{application.log.log_id}.")
    extended = {**settings, "template_loader": templates(application)}
    flower = GuardedFlower(Hosts(address, hosts), capp=app, options=default_options, **extended)
    add_page(flower, application, default_options.url_prefix)
    _end_lost_tasks(flower, application)
    try:
        flower.start_http_server()
    except OSError as error:
        if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            raise
        raise Misconfigured(
            f"Flower cannot have port {port}: {error.strerror}.", hint="Choose another port."
        ) from error
    _serve_until_signal(flower)


def require_password(address: str, password: str | None) -> None:
    """Raise `Misconfigured` for an address that other machines reach without a password."""
    if password is None and not _is_loopback(address):
        raise Misconfigured(
            f"Flower at {address} would be open to other machines.",
            hint=f"Set {PASSWORD}=name:password in the environment or in .env.",
        )


def password_of(settings: Settings, environ: Mapping[str, str]) -> str | None:
    """Flower's `name:password`, from the environment or `.env`; None if unset."""
    from hermes_jobs.settings.sources import read_env_file

    variables = {**read_env_file(settings.paths.env_file), **environ}
    return variables.get(PASSWORD, "").strip() or None


def _end_lost_tasks(flower: Any, application: Application) -> None:
    """Have Flower look periodically for tasks of workers that are gone."""
    from tornado.ioloop import PeriodicCallback

    from workers.lost_tasks import CHECK_SECONDS, LostTasks

    async def registered() -> frozenset[str]:
        workers = await flower.io_loop.run_in_executor(None, application.log.workers)
        return frozenset(worker.id for worker in workers)

    lost = LostTasks(flower.events.state, registered)
    PeriodicCallback(lost.check, CHECK_SECONDS * 1000).start()


def _serve_until_signal(flower: Any) -> NoReturn:
    def leave(_number: int, _frame: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    try:
        flower.start()
    except (KeyboardInterrupt, SystemExit):
        logger.info("Flower stops")
    flower.stop()
    logging.shutdown()
    # A normal exit would wait up to `inspect_timeout` for threads that query workers.
    os._exit(0)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
