"""Memory that is freed and asked for again is the same memory, with its pages in place."""

import resource
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from ablations.allocation import keep_freed_memory
if "keep" in sys.argv:
    assert keep_freed_memory()
size = 48 * 2**20
for _ in range(30):
    b"x" * size
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's own switch")
def test_pages_are_not_fetched_again() -> None:
    def faults(*arguments: str) -> int:
        command = [sys.executable, "-c", FAULTS, *arguments]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    spared = faults() - faults("keep")
    assert spared > 20 * 48 * 2**20 // resource.getpagesize() // 2  # at the least half of 20 times 48 MiB, in pages
