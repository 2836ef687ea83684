"""Paths to members of a JSON document, such as `$.source.offset` or `$['US Gross'][0]`.

Only child steps exist: no wildcards, filters or recursion. So a path names at most one value.
"""

from __future__ import annotations

import re

import msgspec

MAX_LENGTH, MAX_STEPS = 500, 20
_STEP = re.compile(
    r"""\.(?P<plain>[^\s.\[\]'"]+)|\[(?P<index>\d{1,6})\]|\[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
)
_PLAIN_NAME = re.compile(r"""[^\s.\[\]'"]+""")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode

Step = str | int  # the name of a member, or the index of an element
Steps = tuple[Step, ...]


class BadPathError(ValueError):
    """The text is not a path. The message is one sentence."""


def parse_path(path: str) -> Steps:
    """Return the steps of a path; `$` alone has none. Raises BadPathError."""
    if not path.startswith("$"):
        raise BadPathError(f"{path!r} must start with '$', as in '$.source.offset'")
    if len(path) > MAX_LENGTH:
        raise BadPathError(f"the path is longer than {MAX_LENGTH} characters")
    steps: list[Step] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise BadPathError(f"{path!r} has no step at character {at + 1}; write '.name', '[0]' or \"['a name']\"")
        steps.append(_step(match))
        at = match.end()
    if len(steps) > MAX_STEPS:
        raise BadPathError(f"{path!r} has more than {MAX_STEPS} steps")
    return tuple(steps)


def format_path(steps: Steps) -> str:
    """Return the text of a path. `parse_path` reads it back."""
    return "$" + "".join(_written(step) for step in steps)


class JsonDocument:
    """A JSON text whose members are found by their steps, each level decoded at most once.

    A member keeps its bytes as they were written, so an original record in an envelope stays byte-identical.
    Not thread-safe.
    """

    def __init__(self, data: bytes) -> None:
        self._found: dict[Steps, bytes | None] = {(): data}
        self._levels: dict[Steps, dict[str, msgspec.Raw] | list[msgspec.Raw] | None] = {}

    def find(self, steps: Steps) -> bytes | None:
        """Return the JSON text of a member, or None if the document has no such member or is no JSON."""
        if steps not in self._found:
            self._found[steps] = self._child(steps[:-1], steps[-1])
        return self._found[steps]

    @property
    def is_json(self) -> bool:
        """Return whether the text is a JSON object or list. Members deeper down may still be broken."""
        return self._level(()) is not None

    def _child(self, parent: Steps, step: Step) -> bytes | None:
        level = self._level(parent)
        try:
            return bytes(level[step]).strip()  # type: ignore[index] # a step of the wrong type is no member
        except (KeyError, IndexError, TypeError):
            return None

    def _level(self, steps: Steps) -> dict[str, msgspec.Raw] | list[msgspec.Raw] | None:
        if steps not in self._levels:
            self._levels[steps] = _decode_level(self.find(steps))
        return self._levels[steps]


def _decode_level(data: bytes | None) -> dict[str, msgspec.Raw] | list[msgspec.Raw] | None:
    try:
        return None if data is None else _elements(data) if data.lstrip()[:1] == b"[" else _members(data)
    except (ValueError, RecursionError):
        return None


def _step(match: re.Match[str]) -> Step:
    if match["index"]:
        return int(match["index"])
    if match["plain"]:
        return match["plain"]
    return re.sub(r"\\(.)", r"\1", match["quoted"][1:-1], flags=re.DOTALL)


def _written(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _PLAIN_NAME.fullmatch(step):
        return f".{step}"
    escaped = step.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"
