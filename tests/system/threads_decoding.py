"""Many threads that decode into each type for the first time at the same moment."""

from __future__ import annotations

import sys
from threading import Barrier, Thread

import msgspec

from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.system.struct_types import described
from tests.eventlog.stored import EXAMPLES

THREADS = 16


def main() -> None:
    """Decode all examples without a codec; the process ends with 0 if it survives."""
    sys.setswitchinterval(1e-6)
    codec = Codec()
    stored = [(type(event), codec.encode(event).data) for event in EXAMPLES]
    barrier = Barrier(THREADS)

    def decode() -> None:
        for kind, data in stored:
            barrier.wait()
            msgspec.json.decode(data, type=described(kind))

    threads = [Thread(target=decode) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
