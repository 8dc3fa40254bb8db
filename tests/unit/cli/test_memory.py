"""A large buffer is given back to the system when it is freed, also after the first one was."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"

CHILD = f"""
import ctypes, sys
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "{FIELDS}".split()]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
if sys.argv[1] == "ours":
    from mcs.cli.memory import give_back_large_buffers
    give_back_large_buffers()
first = bytearray(512 * 1024)
del first
before = libc.mallinfo2().hblks
second = bytearray(256 * 1024)
print(libc.mallinfo2().hblks - before)
"""


def apart(whose: str) -> int:
    """How many of one large buffer have memory of their own, in a process that freed a larger one."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, whose], capture_output=True, text=True, check=True, timeout=60
    )
    return int(done.stdout)


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="glibc alone does this, and tells of it since 2.33",
)
def test_a_large_buffer_has_memory_of_its_own_also_after_one_was_freed() -> None:
    assert apart("glibc's own") == 0
    assert apart("ours") == 1
