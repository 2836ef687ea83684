"""Memory that a chunk has freed is there for the next one."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CHUNKS = """
import resource, sys

import orjson
from engine.tasks.memory import keep_freed

if sys.argv[1] == "kept":
    keep_freed()

def chunk() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    rows = [orjson.dumps("x" * 700) for _ in range(5000)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

for _ in range(5):
    chunk()
print(sum(chunk() for _ in range(20)))
"""


def page_faults(how: str) -> int:
    """Of twenty chunks of 3.5 MB each."""
    done = subprocess.run([sys.executable, "-c", CHUNKS, how], capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library is told")
def test_the_next_chunk_needs_no_pages_from_the_system() -> None:
    assert page_faults("given back") > 10_000
    assert page_faults("kept") < 1_000
