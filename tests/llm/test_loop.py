from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from hermes_jobs.llm.loop import THREAD, LoopThread


async def thread_name() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_many_threads_share_one_loop() -> None:
    loop = LoopThread()
    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(lambda _: loop.submit(thread_name()).result(), range(50)))
    loop.close()
    assert names == {THREAD}


def test_a_cancelled_future_cancels_its_task() -> None:
    loop = LoopThread()
    started, cancelled = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    future = loop.submit(wait())
    assert started.wait(10)
    future.cancel()
    assert cancelled.wait(10)
    loop.close()


def test_closing_cancels_running_calls() -> None:
    loop = LoopThread()
    future = loop.submit(asyncio.Event().wait())
    loop.close()
    loop.close()
    with pytest.raises(CancelledError):
        future.result()


def test_a_closed_loop_takes_no_more_work() -> None:
    loop = LoopThread()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.submit(thread_name())
