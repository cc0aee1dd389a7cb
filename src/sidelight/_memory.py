"""Free memory, so that arrays that cannot fit are refused before they are allocated."""

import os
from pathlib import Path

# A container's own limit and use, in the second and the first form of control groups.
_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available() -> int | None:
    """Bytes of memory that are free, or that the system would free; None if it does not say."""
    found = [_of_machine(), *(_of_container(*names) for names in _LIMITS)]
    return min((size for size in found if size is not None), default=None)


def in_words(n_bytes: int) -> str:
    """A number of bytes as people write it."""
    for unit, size in (("TB", 10**12), ("GB", 10**9)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes / 10**6:.1f} MB"


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if "MemAvailable" in line) * 1024
    except (OSError, ValueError, StopIteration):
        pass
    try:  # other systems: all memory counts as free, so nothing is refused too early
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_container(limit: str, use: str) -> int | None:
    try:
        return max(0, int(Path(limit).read_text()) - int(Path(use).read_text()))
    except (OSError, ValueError):  # "max": no limit
        return None
