"""An incident report in Markdown.

Everything except this code's own words and numbers goes through `span` or `block`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from dlqadmin.deadletters.groups.documents import FingerprintDocument
from dlqadmin.replays.jobs.documents import ReplaySummary
from dlqadmin.reports.documents import GroupReport, ReplayedExample, ReplayReport
from dlqadmin.reports.markdown import block, span, table
from dlqadmin.rest.text import counted

Report = GroupReport | ReplayReport
WORDS = {"failed_again": "failed again"}
NOT_FOUND = "The search took too long."
NO_VALUES = (
    "Keys, values and their common values are left out, because they require the role operator and the "
    "right payload reader."
)


def markdown(report: Report) -> str:
    """Return the report as a Markdown page."""
    sections = _group(report) if isinstance(report, GroupReport) else _replay(report)
    return "\n\n".join([*_head(report), *sections, *_foot(report)]) + "\n"


def _head(report: Report) -> Iterator[str]:
    name = f"group {report.id}" if isinstance(report, GroupReport) else report.id
    yield f"# Incident report: {name}"
    yield span(report.title)
    where = f"{span(report.environment)}, cluster {span(report.cluster)}"
    yield f"Written {_time(report.written_at)} by {span(report.written_by)}; {where}. All times are UTC."


def _foot(report: Report) -> Iterator[str]:
    if not report.values:
        yield NO_VALUES
    if report.left_out:
        yield f"Left out, because the search took too long: {', '.join(report.left_out)}."


def _group(report: GroupReport) -> Iterator[str]:
    yield "## What failed"
    yield _list(
        [
            f"exception {span(report.exception_class)} in stage {span(report.stage)}",
            f"message {span(report.message)}",
            f"connectors: {_spans(report.connectors)}",
            f"dead letter topics: {_spans(report.topics)}",
            f"first seen {_time(report.first_seen)}, last seen {_time(report.last_seen)}",
            f"{report.events} failures from {_time(report.start)} to {_time(report.to)}",
            f"{_lower_bound(report.keys, exact=report.keys_exact)} keys affected",
            f"state {span(report.state)}, owner {span(report.owner) if report.owner else 'nobody'}",
            *(f"{n} {kind}, so not to be replayed" for kind, n in sorted(report.decided.items())),
        ]
    )
    yield "## When"
    width = _duration_text(report.chart.bucket_ms)
    points = [(_time(row.at), str(row.count)) for row in report.chart.points]
    yield table((f"{width} from", "failures"), points) if points else "No failures in this time range."
    yield "## Why these are one group"
    yield _list(_why(row) for row in report.why)
    yield from _common(report)
    yield from _timeline(report)
    yield "## Replays"
    yield "\n\n".join(_one_replay(row) for row in report.replays) or _none(report, "replays", "No replay was run.")
    yield from _examples(report)


def _replay(report: ReplayReport) -> Iterator[str]:
    yield "## Sent records"
    started, target = report.started_at, report.target_topic
    yield _list(
        [
            f"status {span(report.status)}",
            f"to {span(target)}" if target else "to the origin topic of each record",
            f"planned by {_user_name(report.created_by)}, {_time(report.created_at)}",
            f"run by {_user_name(report.started_by)}, {_time(started)}" if started else "never run",
            f"reason {span(report.reason)}",
            *(
                [f"approved by {_user_name(report.approved_by)}, {_time(report.approved_at)}"]
                if report.approved_at
                else []
            ),
            *([f"trouble {span(report.trouble)}"] if report.trouble else []),
            f"{report.sent} sent, {report.edited} of them edited",
        ]
    )
    yield "## Outcomes"
    yield _counts(report)
    yield "## Groups"
    yield _list(f"group {row.id}: {span(row.title)}, {counted(row.count, 'record')}" for row in report.groups)
    yield _none(report, "groups", f"Of the first {counted(report.groups_of, 'record')}.")
    yield "## When"
    points = [(_time(row.at), str(row.sent), str(row.settled)) for row in report.chart.points]
    yield table(("until", "sent", "with an outcome"), points) if points else _none(report, "chart", "Nothing was sent.")
    yield from _timeline(report)
    yield from _examples(report)


def _why(row: FingerprintDocument) -> str:
    holes = ", ".join(f"{span(hole.name)} such as {span(hole.example, 80)}" for hole in row.holes[:10])
    frame = f"; frame {span(row.frame)}" if row.frame else ""
    return f"{span(row.message)}, {row.events} failures{frame}{f'; holes: {holes}' if holes else ''}"


def _common(report: GroupReport) -> Iterator[str]:
    found = report.common
    if not found.traits:
        return
    yield "## Common values"
    elsewhere = f", and in {{elsewhere}} of {found.elsewhere} other failures" if found.elsewhere else ""
    yield _list(
        f"{span(row.field)} is {span(row.value)} in {row.here} of {found.here} examined failures"
        + elsewhere.format(elsewhere=row.elsewhere)
        for row in found.traits
    )


def _timeline(report: Report) -> Iterator[str]:
    yield "## Timeline"
    lines = [f"{_time(row.at)} {_user_name(row.actor)}: {span(row.text, 500)}" for row in report.timeline]
    yield _list(lines) if lines else "No events."


def _one_replay(row: ReplaySummary) -> str:
    began = f"run by {_user_name(row.started_by)}, {_time(row.started_at)}"
    return f"### R-{row.id}\n\n{span(row.title)}, {began}. Reason: {span(row.reason)}\n\n{_counts(row)}"


def _counts(row: ReplaySummary | ReplayReport) -> str:
    """Return the number of items in each state, and the reasons."""
    known = {
        name: n for name, n in msgspec.structs.asdict(row.counts).items() if n and name not in ("total", "waiting")
    }
    if row.counts.waiting:
        known["sent, no outcome yet"] = row.counts.waiting
    lines = [f"{n} {WORDS.get(name, name)}" for name, n in known.items()]
    why = [f"{one.count} {span(one.state)} because of {span(one.reason)}" for one in row.reasons]
    return _list([*lines, *why]) if lines else "Nothing."


def _examples(report: Report) -> Iterator[str]:
    yield "## Examples"
    if not report.examples:
        yield _none(report, "examples", "No examples are kept any more.")
    for row in report.examples:
        yield f"### Dead letter {row.dead_letter}"
        facts = [f"at {span(row.coordinates)}, failed {_time(row.failed_at)}"]
        facts += [f"from {span(row.origin)}"] if row.origin else []
        facts += [f"message {span(row.message, 500)}"] if row.message else []
        if isinstance(row, ReplayedExample):
            facts += [f"{span(row.state)} {span(row.evidence)}"] if row.evidence else []
            facts += [f"sent to {span(row.sent_to)}"] if row.sent_to else []
        facts += [f"key {span(row.key)}"] if row.key is not None else []
        yield _list(facts)
        if row.value is not None:
            size = row.value_size
            yield f"Value, {size} B:" if size is not None else "Value:"
            yield block(row.value)


def _none(report: Report, part: str, why: str) -> str:
    """Return why a part is empty: there is nothing, or the query took too long."""
    return NOT_FOUND if part in report.left_out else why


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _spans(names: Iterable[str]) -> str:
    return ", ".join(span(name) for name in names) or "none"


def _user_name(name: str | None) -> str:
    return span(name) if name else "somebody"


def _time(text: str | None) -> str:
    """Return the time as `YYYY-MM-DD hh:mm:ss` in UTC."""
    return f"{text[:10]} {text[11:19]}" if text else "never"


def _lower_bound(number: int, *, exact: bool) -> str:
    return str(number) if exact else f"at least {number}"


def _duration_text(milliseconds: int) -> str:
    for unit, name in ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second")):
        if milliseconds >= unit and milliseconds % unit == 0:
            number = milliseconds // unit
            return name if number == 1 else f"{number} {name}s"
    return f"{milliseconds} ms"
