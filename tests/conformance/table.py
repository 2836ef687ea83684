"""The table that is printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from tests.conformance.case import Case
from tests.conformance.compare import Difference
from tests.conformance.documented import Documented, undocumented
from tests.conformance.seen import DELIVERED, RUNNING, Seen

MOST = 200  # characters of a value that are shown


def lines(case: Case, theirs: Seen, found: Sequence[Difference], rows: Sequence[Documented]) -> Iterator[str]:
    """One configuration, and below it what differs and is not documented."""
    fates = [theirs.fate(offset) for offset in range(len(case.inputs))]
    delivered = len(theirs.output) or fates.count(DELIVERED)
    unknown = set(undocumented([one.where for one in found], rows))
    special = [one.where for one in found if one.where not in unknown and not generally(one.where, rows)]
    skipped = max(0, len(fates) - delivered)
    if unknown:
        verdict = f"differs in {len(unknown)}"
    elif special:
        verdict = f"differs as documented in {len(special)}"
    else:
        verdict = "equal" if theirs.end.state == RUNNING else f"equal: both {theirs.end.state}"
    yield f"{case.name:<36} {len(fates):>3} in {delivered:>4} delivered {skipped:>4} not   {verdict}"
    for one in found:
        if one.where in unknown:
            yield f"    {one.where}\n      theirs {shown(one.theirs)}\n      ours   {shown(one.ours)}"


def generally(where: str, rows: Sequence[Documented]) -> bool:
    """Whether all configurations differ there, by design."""
    return any(fnmatchcase(where, name) for row in rows for name in row.patterns if name.startswith("*/*"))


def shown(value: object) -> str:
    """The value, cut to what fits."""
    text = repr(value)
    return text if len(text) <= MOST else f"{text[:MOST]}…"
