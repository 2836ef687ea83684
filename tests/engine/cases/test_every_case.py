"""The cases that Kafka's own tests assert: the test that ports a case names it in its docstring."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOM = Path(__file__).parent
PORTED = [*ROOM.parent.rglob("test_*.py"), *(ROOM.parents[1] / "broker").glob("test_*.py")]
CASES = {
    "C": "1-3 5-7 9-10 13-19 24-32 35-37 39-46 48 50 52-55 57-58 60 63 65 68 71-72",  # KIP-298
    "E": "1 4 7 9 11-12 16-20 22-24 27-28 30-31 33 35-38 42-43 45-51 57-61 65-72 75-81 83-85 88-91 94-95",  # KIP-618
    "M": "1 3 6 11-12 14-17 19 21 23-25",  # KIP-656
    "T": "2 4-6 8-12 14-19 24-26 31-33 35-52 55-56 58-61 63 65-67 69-73 76-83 85 87-88 90-91 94-96 98-102 105-106"
    " 109-112",  # KIP-691
    "S": "1-2 5-7 10 12 14 16 18-26 28-30 32 34-36 40-43 45-46 49-52 54-55 57-69 71 73-74 76-81",  # KIP-1033
}


def numbered(ranges: str) -> Iterator[int]:
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def named(letter: str, *paths: Path) -> set[tuple[str, str]]:
    """Return (case, test in Kafka) as these files name them."""
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    return set(re.findall(rf"\b({letter}-\d+),\s+(\w+#\w+)", text))


@pytest.mark.parametrize("letter", CASES)
def test_every_case_is_ported_or_says_why_not(letter: str) -> None:
    ported, others = named(letter, *PORTED), named(letter, ROOM / "not_ported.md")
    assert sorted(case for case, _ in ported | others) == sorted(f"{letter}-{at:02}" for at in numbered(CASES[letter]))
    assert {case for case, _ in ported}.isdisjoint(case for case, _ in others)
