"""A process that sends texts to one session, as many command lines would: `texter SESSION POLICY TEXT…`.

Prints a line for each: the exit code, the text, and the turn's id where it was accepted.
"""

from __future__ import annotations

import contextlib
import io
import sys

from hermes_jobs.interfaces.cli import run


def main() -> None:
    session, policy, *texts = sys.argv[1:]
    for text in texts:
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(out):
            code = run(["send", "--no-wait", "-q", "-s", session, "--if-busy", policy, text])
        out.seek(0)
        sys.stdout.write(f"{code} {text} {out.read()}".rstrip() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
