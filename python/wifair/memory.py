"""How much memory the results of a study may take."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

# Assumed where the operating system does not say how much there is.
ASSUMED_BYTES = 8 * 2**30
# The limits of a container: of control groups of version 2, then 1.
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def most_bytes() -> int:
    """Half of the memory that this process may have: of the machine's, its container's or its own limit."""
    limits = [_physical_bytes()]
    for name in _GROUPS:
        with suppress(OSError, ValueError):  # it is not there, or says "max"
            limits.append(int(Path(name).read_text(encoding="utf-8")))
    if sys.platform != "win32":
        import resource

        limits += [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    return min(limits) // 2


def _physical_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return ASSUMED_BYTES
