"""Every error of the system, named by what the caller should do about it.

HermesJobsError
├── Rejected        tell the user: what was wrong and what to do
│   ├── OutOfBudget     a budget does not pay for it; what can wait waits until its period ends
│   └── Misconfigured   a setting is wrong; nothing was recorded
├── Conflict        the stream has moved on: load again, decide again
├── StepLost        the step is another's (or gone): stop quietly, book the outcome as discarded
├── KeyTaken        the first one's result is the answer
├── OverBudget      (`kernel.streams.accounts`) an account would exceed its limit: ask for less, wait, or end
├── LogUnavailable  the log cannot be reached or written: try later, nothing was acknowledged
└── Corrupt         stored data is not what was written: wake someone
    └── NewerSchema     written by a newer hermes-jobs: leave it to a newer process
"""

from __future__ import annotations

COMMAND = "hermes-jobs "  # with which a command line of ours begins


class HermesJobsError(Exception):
    """Root of everything that this project raises on purpose."""


class Rejected(HermesJobsError):
    """The request was refused; `message` says why, `hint` what to do, `kind` is for programs.

    `tool_hint` is the hint for a model, which works with tools; null: the same, unless that names a command.
    """

    def __init__(
        self, message: str, *, kind: str = "rejected", hint: str = "", tool_hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.tool_hint = tool_hint

    @property
    def for_model(self) -> str:
        """What a model is told of it."""
        hint = self.tool_hint
        if hint is None:
            hint = "" if COMMAND in self.hint else self.hint
        return f"{self.message} {hint}".rstrip()


class OutOfBudget(Rejected):
    """A budget does not pay for a call; `until`: when its period ends (seconds since the epoch), None where
    it has none."""

    def __init__(self, message: str, *, kind: str, hint: str, until: float | None) -> None:
        super().__init__(message, kind=kind, hint=hint)
        self.until = until


class Misconfigured(Rejected):
    """A setting is unknown, has the wrong type, or cannot be read."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, kind="configuration", hint=hint)


class Conflict(HermesJobsError):
    """The stream is not at the version that the decision was made against."""


class StepLost(HermesJobsError):
    """The step's row no longer carries the owner and fence that were expected."""


class KeyTaken(HermesJobsError):
    """A key of the append exists already; `stream` and `position` say where its first use stands."""

    def __init__(self, scope: str, key: str, stream: str, position: int, digest: str) -> None:
        super().__init__(f"{scope} key {key!r} was used before")
        self.scope = scope
        self.key = key
        self.stream = stream
        self.position = position
        self.digest = digest


class LogUnavailable(HermesJobsError):
    """The log's database cannot be reached, opened or written."""


class Corrupt(HermesJobsError):
    """Stored data contradicts itself."""


class NewerSchema(Corrupt):
    """Stored data was written by a newer version of hermes-jobs than this one."""
