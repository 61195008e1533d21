"""Where a process of the command line begins, also as `python -m hermes_jobs`."""

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line. A Ctrl-C before it is loaded, or after it has closed, just ends the process."""
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from hermes_jobs import cli

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
