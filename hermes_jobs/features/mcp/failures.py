"""The SDK's errors as failures of a call, with messages for people and the model."""

from __future__ import annotations

import httpx2
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from hermes_jobs.features.mcp.calls import NotAccepted
from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.features.mcp.malformed import validation_message
from hermes_jobs.features.mcp.messages import Failure
from hermes_jobs.features.mcp.pipes import MAX_LINE, UNREADABLE

BROKEN: tuple[tuple[str, Failure, str], ...] = (
    ("SSE stream ended", "lost", "its answer broke off"),
    ("SSE stream failed", "too_large", f"it sent more than {MAX_LINE >> 20} MiB in one message"),
    (UNREADABLE, "bad_result", "its answer is not JSON in UTF-8, or nested too deep, or no JSON-RPC message"),
    ("Failed to parse", "bad_result", "its answer is no JSON-RPC message"),
    ("Unexpected content type", "bad_result", "its answer is neither JSON nor a stream of events"),
    (
        "server answered a request with 202",
        "bad_result",
        "it accepted the request and said that no answer follows",
    ),
    ("Connection closed", "lost", "the connection was lost"),
)
"""Beginnings of the messages that the SDK and `pipes` make of unusable answers. The server may have acted."""
FAILURES = (
    TimeoutError,
    NotAccepted,
    MCPError,
    RuntimeError,
    ValidationError,
    OSError,
    httpx2.HTTPError,
)
"""The errors of a call."""


def describe_failure(error: BaseException) -> tuple[Failure, str]:
    """The kind and message of a failure."""
    text = error_text(error)
    if isinstance(error, MCPError):
        for beginning, kind, reason in BROKEN:
            if text.startswith(beginning):
                return kind, reason
    return "refused", text


def first_cause(error: BaseException) -> BaseException:
    """The error itself, if it is the only one in nested groups of errors."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def error_text(error: BaseException) -> str:
    """The message of an error, without control characters of the server."""
    if isinstance(error, MCPError):
        return clean(str(error.error.message)[:1_000])
    if isinstance(error, ValidationError):
        return f"its answer is wrong: {validation_message(error)}"
    return (str(error) or type(error).__name__)[:1_000]
