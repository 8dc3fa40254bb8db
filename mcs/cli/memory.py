"""How the C library keeps memory of a process that runs for months.

Left to itself glibc takes large buffers from its heap once one of them was freed, and a heap gives nothing back from
below its top. Each connection with TLS has a buffer of 256 KiB: connections that come and go leave holes, and the
process grows although it holds no more than before.
"""

import ctypes
from contextlib import suppress

_M_MMAP_THRESHOLD = -3
"""A parameter of mallopt(3)."""

LARGE = 128 * 1024
"""Bytes from which a buffer has memory of its own: what glibc begins with."""


def give_back_large_buffers() -> None:
    """From now on return the memory of each large buffer when it is freed; nothing where the C library is another."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE)
