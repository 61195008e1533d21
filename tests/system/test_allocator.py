"""How many arenas glibc's allocator makes for many threads."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

MANY_THREADS = """
import ctypes, sys, threading
from workers.worker import limit_arenas

if sys.argv[1] == "limited":
    limit_arenas(2)
begun, libc = threading.Barrier(9), ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p

def hold():
    libc.malloc(50_000)
    begun.wait()

for _ in range(8):
    threading.Thread(target=hold).start()
begun.wait()
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no arenas")
def test_threads_share_as_many_arenas_as_they_may(tmp_path: Path) -> None:
    def num_arenas(how: str) -> int:
        report = tmp_path / how
        subprocess.run([sys.executable, "-c", MANY_THREADS, how, str(report)], check=True)
        return report.read_text().count("<heap ")

    assert num_arenas("limited") == 2
    assert num_arenas("free") > 2
