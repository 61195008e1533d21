"""A turn late in a long session beside one early in it: `python -m tests.benchmarks long_sessions`.

The baseline is the bare model call with the same history: what any client has to render, encode and send.
Times are of this process's CPU, all threads together: the scripted server reads long histories slowly.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.events import Opening, TurnSubmitted
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.runtime.inline_worker import InlineWorker
from tests.benchmarks.turns import installation_of, model_server

SIZES = (10, 2_000)
MEASURED = 15  # turns


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with model_server(folder) as base_url:
            application = installation_of(folder / "home", base_url)
            with InlineWorker(application) as worker:
                overheads = [measure(application, worker, size) for size in SIZES]
            application.close()
    print(f"the later overhead is {overheads[-1] / overheads[0]:.2f} times the earlier")


def measure(application: Application, worker: InlineWorker, size: int) -> float:
    """The overhead of a turn after so many, in milliseconds of CPU time."""
    session = worker.engine.ids.name("s")
    for number in range(size):
        turn(worker, session, number)
    # A call and a turn take turns: the machine's moods reach both.
    times = [(call(application, worker, session), turn(worker, session, n)) for n in range(MEASURED)]
    bare = median(alone for alone, _ in times) * 1000
    whole = median(within for _, within in times) * 1000
    print(f"after {size:>5,} turns: a turn {whole:>6.1f} ms of CPU time, its bare model call {bare:>6.1f} ms")
    return whole - bare


def turn(worker: InlineWorker, session: str, number: int) -> float:
    """One text turn in the session; seconds of CPU time."""
    name = worker.engine.ids.name("t")
    stream = stream_of(session)
    begun = time.process_time()
    worker.engine.submit(
        TurnSubmitted(
            turn=name, session=session, text=f"hello {number}", source="bench", opening=Opening(workdir="/")
        )
    )
    worker.work(partial(has_ended, worker, stream, name), stream=stream)
    return time.process_time() - begun


def has_ended(worker: InlineWorker, stream: str, name: str) -> bool:
    """Whether the turn is over."""
    return name in worker.engine.sessions.load(stream).ended


def call(application: Application, worker: InlineWorker, session: str) -> float:
    """The model called with the session's history, by the client alone; seconds of CPU time."""
    state = worker.engine.sessions.load(stream_of(session))
    started = state.started
    assert started is not None
    request = ModelRequest(model=started.model, system_prompt=started.system_prompt, messages=state.messages)
    begun = time.process_time()
    application.model.reply(request, CancelToken(), lambda text: None)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
