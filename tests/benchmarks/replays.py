"""How fast recorded calls are asked again: `python -m tests.benchmarks replays`.

One worker (this process), a scripted server that answers at once, a log on SQLite. The baseline of the same
run is the bare model call: our client against the same server, one after the other.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.replays import replayed_turn
from hermes_jobs.features.replay.rules.replay import Replay, stream_of
from hermes_jobs.kernel.streams.decision import append
from hermes_jobs.runtime.inline_worker import InlineWorker
from tests.benchmarks.turns import _submit, bare_calls, installation_of, model_server

CALLS = 1_000
ROUNDS = 9
SCRIPT = {
    "rules": [
        {
            "contains": "many rounds",
            "actions": [
                *(
                    {
                        "do": "answer",
                        "tool_calls": [{"name": "read_file", "arguments": {"path": f"{at}.txt"}}],
                    }
                    for at in range(ROUNDS)
                ),
                {"do": "answer", "text": "Done."},
            ],
        }
    ],
    "default": {"do": "answer", "text": "Hello."},
}


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder, model_server(Path(folder), SCRIPT) as base_url:
        application = installation_of(Path(folder) / "home", base_url)
        bare = median(bare_calls(application))
        with InlineWorker(application) as worker:
            turn = recorded(application, worker)
            seconds = asked_again(application, worker, turn)
        application.close()
    print(f"{'bare model calls a minute, one at a time':<52}{60 / bare:>10,.0f}")
    print(f"{f'recorded calls asked again a minute ({CALLS} of them)':<52}{60 * CALLS / seconds:>10,.0f}")
    print(f"{'a recorded call beside a bare one':<52}{seconds / CALLS / bare:>9.2f}x")


def recorded(application: Application, worker: InlineWorker) -> e.ReplayedTurn:
    """A turn of `ROUNDS` + 1 model calls."""
    engine = worker.engine
    stream, turn = _submit(engine, "many rounds")
    worker.work(lambda: turn in engine.sessions.load(stream).ended)
    return replayed_turn(engine.sessions, turn, stream, application.log.read(stream))


def asked_again(application: Application, worker: InlineWorker, turn: e.ReplayedTurn) -> float:
    """Seconds in which the calls of the turn are asked until it is `CALLS`."""
    planned = e.ReplayPlanned(
        replay=application.ids.name("p"),
        turns=(turn,),
        variants=(e.Variant(name="same"),),
        samples=CALLS // len(turn.calls),
    )
    stream = stream_of(planned.replay)
    begun = time.perf_counter()
    worker.engine.change(append(stream, planned), "benchmark")

    def is_done() -> bool:
        replay = worker.engine.state(stream)
        assert isinstance(replay, Replay)
        return replay.is_done

    worker.work(is_done, stream=stream)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
