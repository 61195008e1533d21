"""What a check of `doctor` found, and a hint."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.interfaces.cli.exit_codes import FAILED


class DoctorFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The finding of one check, and a hint. `code` is the exit code of a failure."""

    check: str
    status: Literal["ok", "warn", "fail"]
    message: str
    hint: str = ""
    code: int = FAILED


def ok(check: str, message: str) -> DoctorFinding:
    """A finding without a problem."""
    return DoctorFinding(check=check, status="ok", message=message)


def warn(check: str, message: str, hint: str = "") -> DoctorFinding:
    """A finding about a missing or weaker part."""
    return DoctorFinding(check=check, status="warn", message=message, hint=hint)


def fail(check: str, message: str, hint: str = "", *, code: int = FAILED) -> DoctorFinding:
    """A finding that makes `doctor` fail, with that exit code."""
    return DoctorFinding(check=check, status="fail", message=message, hint=hint, code=code)
