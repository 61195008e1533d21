"""Asking something of the network from a step's thread: for so long at most, and not beyond a cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from hermes_jobs.engine.ports import Cancel, StepInterrupted

T = TypeVar("T")


def waited_for(work: Coroutine[Any, Any, T], cancel: Cancel, seconds: float) -> T:
    """What the coroutine returns, run on a loop of its own.

    Raises `StepInterrupted` at once when `cancel` fires, `TimeoutError` after so many seconds.
    """
    return asyncio.run(_within(work, cancel, seconds))


async def _within(work: Coroutine[Any, Any, T], cancel: Cancel, seconds: float) -> T:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)

    def stop() -> None:
        with suppress(RuntimeError):  # the loop has ended in this moment
            loop.call_soon_threadsafe(task.cancel)

    forget = cancel.on_cancel(stop)
    try:
        async with asyncio.timeout(seconds):
            return await task
    except asyncio.CancelledError as cancelled:
        raise StepInterrupted from cancelled
    finally:
        forget()
