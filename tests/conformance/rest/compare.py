"""Differences of two answers, named as `docs/differences.md` names them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

PREFIX = "rest/"
ABSENT = "(absent)"


class RestDifference(NamedTuple):
    """`where` is `rest/request aspect`.

    The aspect is `status`, a header, `<status> message`, or the path of a member of the body. It begins with `added`
    if only the engine has the header or the member.
    """

    where: str
    theirs: Any
    ours: Any


def differences(name: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[RestDifference]:
    """Return the differences of two answers as documents."""
    if theirs["status"] != ours["status"]:  # then everything else differs too
        return [RestDifference(f"{PREFIX}{name} status", theirs["status"], ours["status"])]
    rows: list[tuple[str, Any, Any]] = []
    for header in sorted({*theirs["headers"], *ours["headers"]}):
        rows += [(header, theirs["headers"].get(header, ABSENT), ours["headers"].get(header, ABSENT))]
    rows += _of_documents("body", theirs["body"], ours["body"])
    return [
        RestDifference(f"{PREFIX}{name} {_aspect(path, one, ours['status'])}", one, other)
        for path, one, other in rows
        if one != other
    ]


def _aspect(path: str, theirs: Any, status: int) -> str:
    if theirs == ABSENT:
        return f"added {path}"
    return f"{status} message" if path == "body.message" else path


def _of_documents(path: str, theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    if theirs == ours:
        return
    if _is_rows(theirs) and _is_rows(ours):
        theirs, ours = _by_key(theirs), _by_key(ours)
        if any(_class(row) for row in theirs.values()):  # our own classes, and short names, come on top
            ours = {key: row for key, row in ours.items() if key in theirs}
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted({*theirs, *ours}):
            yield from _of_documents(f"{path}.{key}", theirs.get(key, ABSENT), ours.get(key, ABSENT))
        return
    if _are_names(theirs, ours) and (
        (_are_classes(theirs) and _are_classes(ours)) or sorted(theirs) == sorted(ours)  # Java's order of hashes
    ):
        return
    both_told = path.endswith(".errors") and bool(theirs) and bool(ours)
    yield f"{path} text" if both_told else path, theirs, ours


def _is_rows(body: Any) -> bool:
    return isinstance(body, list) and all(isinstance(row, dict) for row in body)


def _by_key(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {_key(row) or str(number): row for number, row in enumerate(rows)}


def _key(row: Mapping[str, Any]) -> str | None:
    if "definition" in row and "value" in row:  # a row of a validation
        return str((row["definition"] or row["value"])["name"])
    if _class(row):
        return f"{_class(row)} {row['type']}"
    if "partition" in row:  # a row of offsets
        return "-".join(str(row["partition"][name]) for name in sorted(row["partition"], reverse=True))
    if isinstance(row.get("id"), dict):  # a task
        return f"task-{row['id']['task']}"
    return row.get("name")


def _class(row: Mapping[str, Any]) -> str | None:
    """Return the class of a plugin, which a client may name otherwise."""
    return (row.get("class") or row.get("className")) if "type" in row else None


def _are_names(theirs: Any, ours: Any) -> bool:
    both = (theirs, ours)
    return all(isinstance(one, list) and one and all(isinstance(name, str) for name in one) for one in both)


def _are_classes(names: list[str]) -> bool:
    """Return whether these are class names, which depend on what is installed."""
    return all(name.count(".") > 2 and " " not in name for name in names)
