"""Named claims of one walk through a screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def claim(words: str) -> Iterator[None]:
    """Name the claim that the block proves: a failure in it says which one it is."""
    try:
        yield
    except Exception as problem:
        problem.add_note(f"The claim that failed: {words}")
        raise
