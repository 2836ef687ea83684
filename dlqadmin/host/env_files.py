"""Files with variables of the environment."""

from __future__ import annotations

import re
from pathlib import Path

LINE = re.compile(r"^([A-Z_][A-Z0-9_]*)=(.*)$")


def parse(text: str) -> dict[str, str]:
    """Parse NAME=value lines. A value may be in single or double quotes."""
    found = (LINE.match(line.strip()) for line in text.splitlines())
    return {match[1]: match[2].strip("'\"") for match in found if match}


def load(path: Path) -> dict[str, str]:
    """Return the variables of a file; none if it does not exist."""
    return parse(path.read_text()) if path.exists() else {}
