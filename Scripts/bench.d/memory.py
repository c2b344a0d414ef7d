#!/usr/bin/python3
"""Keeps the memory of a virtual machine its own while something is measured.

Where the host takes back what is free at once (the kernel's page reporting), each page that comes into use again costs
a trip to the host: the first gigabyte that is written takes seconds more than the second, in the kernel's name, whoever
writes it. Only whole blocks of 2 MiB are given back. So all free memory is taken into use once, and one page of each
block is held; the rest is free again.
"""

import ctypes, mmap, os

REPORTING = "/sys/module/page_reporting"
BLOCK = 2 << 20
PAGE = 4096
SPARED = 1536 << 20
"""What is left alone, for whatever wants memory meanwhile."""
MADV_COLD = 20
"""Of a part of a block: takes the block apart."""


def free():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemFree:"))


def hold():
    """What must live for as long as memory is to be kept; None where nobody takes it away."""
    size = (free() - SPARED) // BLOCK * BLOCK
    if not os.path.exists(REPORTING) or size <= 0:
        return None
    held = mmap.mmap(-1, size + BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    held.madvise(mmap.MADV_HUGEPAGE)
    held.madvise(mmap.MADV_DONTFORK)
    start = -ctypes.addressof(ctypes.c_char.from_buffer(held)) % BLOCK
    blocks = range(start, start + size, BLOCK)
    for block in blocks:
        held[block] = 1
    for block in blocks:
        held.madvise(MADV_COLD, block, PAGE)
        held.madvise(mmap.MADV_DONTNEED, block + PAGE, BLOCK - PAGE)
    return held


if __name__ == "__main__":
    print(f"{free() >> 20} MiB free; {'held' if hold() else 'nothing to hold'}; {free() >> 20} MiB free")
