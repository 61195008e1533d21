"""Where a process of the command line begins, also as `python -m hermes_jobs`."""

import os
import sys

HERE = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir))  # noqa: PTH118, PTH120
if __name__ == "__main__" and not sys.flags.safe_path and os.path.realpath(sys.path[0]) != HERE:
    # `-m` put the current folder there: a project of others, whose `click.py` must not become ours.
    del sys.path[0]

import signal  # noqa: E402
from typing import NoReturn  # noqa: E402


def main() -> NoReturn:
    """Run the command line. A Ctrl-C before it is loaded, or after it has closed, just ends the process."""
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from hermes_jobs.interfaces import cli

    signal.signal(signal.SIGINT, interrupts)
    try:
        cli.main()
    except KeyboardInterrupt:
        sys.exit(130)  # it came while the command was closing
    finally:
        if interrupts is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
