"""KIP-618, case by case: the tests stand in the files beside this one, and with those of a real broker."""

from __future__ import annotations

import re
from pathlib import Path

from tests.engine.cases.kip618 import CASES, NOT_PORTED

HERE = Path(__file__).parent
FILES = [*HERE.glob("test_kip618*.py"), *HERE.parents[1].glob("broker/test_*.py")]


def test_every_case_is_ported_or_says_why_not() -> None:
    text = "".join(path.read_text() for path in FILES)
    ported = {match[1]: match[2] for match in re.finditer(r"\b(E-\d\d), (\w+#\w+)", text)}
    assert ported.keys() | NOT_PORTED.keys() == CASES.keys()
    assert ported.keys() & NOT_PORTED.keys() == set()
    assert {name: CASES[name] for name in ported} == ported
