"""Runs a coroutine from a step's thread, with a timeout and a cancel token."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from hermes_jobs.kernel.engine.ports import Cancel, StepInterrupted

T = TypeVar("T")


def waited_for(work: Coroutine[Any, Any, T], cancel: Cancel, seconds: float) -> T:
    """The result of the coroutine, run on its own loop.

    Raises `StepInterrupted` at once when `cancel` fires, `TimeoutError` after `seconds`.
    """
    return asyncio.run(_within(work, cancel, seconds))


async def _within(work: Coroutine[Any, Any, T], cancel: Cancel, seconds: float) -> T:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)

    def stop() -> None:
        with suppress(RuntimeError):  # the loop has just stopped
            loop.call_soon_threadsafe(task.cancel)

    forget = cancel.on_cancel(stop)
    try:
        async with asyncio.timeout(seconds):
            return await task
    except asyncio.CancelledError as cancelled:
        raise StepInterrupted from cancelled
    finally:
        forget()
