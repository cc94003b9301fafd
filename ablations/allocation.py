"""How the C library hands out memory."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
GIBIBYTE = 1 << 30


def keep_freed_memory() -> bool:
    """Have malloc keep what is freed instead of giving it back to the system; says whether it could be told so.

    A translator's logits and their gradients are of megabytes, which glibc gives back and asks for again at each step,
    and the system clears every page of them. Other systems' C libraries are left as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return False
    told = [mallopt(option, GIBIBYTE) for option in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD)]
    return all(told)
