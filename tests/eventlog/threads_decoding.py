"""Many threads that meet each type of event for the first time at the same moment."""

from __future__ import annotations

import sys
from threading import Barrier, Thread

from hermes_jobs.kernel.log.codec import Codec
from tests.eventlog.stored import EXAMPLES

THREADS = 16


def main() -> None:
    """Decode all examples; the process ends with 0 where it lives."""
    sys.setswitchinterval(1e-6)
    writing, codec = Codec(), Codec()
    stored = [writing.encode(event) for event in EXAMPLES]
    barrier = Barrier(THREADS)

    def decode() -> None:
        for each in stored:
            barrier.wait()
            codec.decode(each.type, each.data, each.schema)

    threads = [Thread(target=decode) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
