"""An incident report in Markdown.

Everything except this code's own words and numbers goes through `span` or `block`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dlqadmin.reports.markdown import block, span, table
from dlqadmin.rest.text import counted

Report = dict[str, Any]
WORDS = {"failed_again": "failed again"}
NOT_FOUND = "Not found in time."
NO_VALUES = (
    "Keys, values and what they have in common are left out: they need the role operator and the right payload reader."
)


def markdown(report: Report) -> str:
    """Return the report as a Markdown page."""
    sections = _group(report) if report["kind"] == "group" else _replay(report)
    return "\n\n".join([*_head(report), *sections, *_foot(report)]) + "\n"


def _head(report: Report) -> Iterator[str]:
    name = f"group {report['id']}" if report["kind"] == "group" else report["id"]
    yield f"# Incident report: {name}"
    yield span(report["title"])
    where = f"{span(report['environment'])}, cluster {span(report['cluster'])}"
    yield f"Written {_time(report['written_at'])} by {span(report['written_by'])}; {where}. All times are UTC."


def _foot(report: Report) -> Iterator[str]:
    if not report["values"]:
        yield NO_VALUES
    if report["left_out"]:
        yield f"Not found in time, and left out: {', '.join(report['left_out'])}."


def _group(report: Report) -> Iterator[str]:
    yield "## What failed"
    yield _list(
        [
            f"exception {span(report['exception_class'])} in stage {span(report['stage'])}",
            f"message {span(report['message'])}",
            f"connectors: {_spans(report['connectors'])}",
            f"dead letter topics: {_spans(report['topics'])}",
            f"first seen {_time(report['first_seen'])}, last seen {_time(report['last_seen'])}",
            f"{report['events']} failures from {_time(report['from'])} to {_time(report['to'])}",
            f"{_least(report['keys'], exact=report['keys_exact'])} keys affected",
            f"state {span(report['state'])}, owner {span(report['owner']) if report['owner'] else 'nobody'}",
            *(f"{n} {kind}: not to be replayed" for kind, n in sorted(report["decided"].items())),
        ]
    )
    yield "## When"
    width = _width(report["chart"]["bucket_ms"])
    points = [(_time(row["at"]), str(row["count"])) for row in report["chart"]["points"]]
    yield table((f"{width} from", "failures"), points) if points else "No failure in this time."
    yield "## Why these are one group"
    yield _list(_why(row) for row in report["why"])
    yield from _common(report)
    yield from _timeline(report)
    yield "## Replays"
    yield "\n\n".join(_one_replay(row) for row in report["replays"]) or _none(report, "replays", "None was run.")
    yield from _examples(report)


def _replay(report: Report) -> Iterator[str]:
    yield "## What was sent"
    started, target = report["started_at"], report["target_topic"]
    yield _list(
        [
            f"status {span(report['status'])}",
            f"to {span(target)}" if target else "to the topic that each record came from",
            f"planned by {_who(report['created_by'])}, {_time(report['created_at'])}",
            f"run by {_who(report['started_by'])}, {_time(started)}" if started else "never run",
            f"reason {span(report['reason'])}",
            *(
                [f"approved by {_who(report['approved_by'])}, {_time(report['approved_at'])}"]
                if report["approved_at"]
                else []
            ),
            *([f"trouble {span(report['trouble'])}"] if report["trouble"] else []),
            f"{report['sent']} sent, {report['edited']} of them edited",
        ]
    )
    yield "## What became of it"
    yield _counts(report)
    yield "## What it was about"
    yield _list(
        f"group {row['id']}: {span(row['title'])}, {counted(row['count'], 'record')}" for row in report["groups"]
    )
    yield _none(report, "groups", f"Of the first {counted(report['groups_of'], 'record')}.")
    yield "## When"
    points = [(_time(row["at"]), str(row["sent"]), str(row["settled"])) for row in report["chart"]["points"]]
    yield table(("until", "sent", "with an outcome"), points) if points else _none(report, "chart", "Nothing was sent.")
    yield from _timeline(report)
    yield from _examples(report)


def _why(row: Report) -> str:
    holes = ", ".join(f"{span(hole['name'])} such as {span(hole['example'], 80)}" for hole in row["holes"][:10])
    frame = f"; frame {span(row['frame'])}" if row["frame"] else ""
    return f"{span(row['message'])}, {row['events']} failures{frame}{f'; holes: {holes}' if holes else ''}"


def _common(report: Report) -> Iterator[str]:
    found = report["common"]
    if not found["traits"]:
        return
    yield "## What these have in common"
    elsewhere = f", and in {{elsewhere}} of {found['elsewhere']} other failures" if found["elsewhere"] else ""
    yield _list(
        f"{span(row['field'])} is {span(row['value'])} in {row['here']} of {found['here']} looked at"
        + elsewhere.format(elsewhere=row["elsewhere"])
        for row in found["traits"]
    )


def _timeline(report: Report) -> Iterator[str]:
    yield "## Timeline"
    lines = [f"{_time(row['at'])} {_who(row['actor'])}: {span(row['text'], 500)}" for row in report["timeline"]]
    yield _list(lines) if lines else "Nothing happened."


def _one_replay(row: Report) -> str:
    began = f"run by {_who(row['started_by'])}, {_time(row['started_at'])}"
    return f"### R-{row['id']}\n\n{span(row['title'])}, {began}. Reason: {span(row['reason'])}\n\n{_counts(row)}"


def _counts(row: Report) -> str:
    """Return the number of items in each state, and the reasons."""
    known = {name: n for name, n in row["counts"].items() if n and name not in ("total", "waiting")}
    if row["counts"]["waiting"]:
        known["sent, no outcome yet"] = row["counts"]["waiting"]
    lines = [f"{n} {WORDS.get(name, name)}" for name, n in known.items()]
    why = [f"{one['count']} {span(one['state'])} because of {span(one['reason'])}" for one in row["reasons"]]
    return _list([*lines, *why]) if lines else "Nothing."


def _examples(report: Report) -> Iterator[str]:
    yield "## Examples"
    if not report["examples"]:
        yield _none(report, "examples", "None is kept any more.")
    for row in report["examples"]:
        yield f"### Dead letter {row['dead_letter']}"
        facts = [f"at {span(row['coordinates'])}, failed {_time(row['failed_at'])}"]
        facts += [f"from {span(row['origin'])}"] if row["origin"] else []
        facts += [f"message {span(row['message'], 500)}"] if row["message"] else []
        facts += [f"{span(row['state'])} {span(row['evidence'])}"] if row.get("evidence") else []
        facts += [f"sent to {span(row['sent_to'])}"] if row.get("sent_to") else []
        facts += [f"key {span(row['key'])}"] if row["key"] is not None else []
        yield _list(facts)
        if row["value"] is not None:
            size = row["value_size"]
            yield f"Value, {size} B:" if size is not None else "Value:"
            yield block(row["value"])


def _none(report: Report, part: str, why: str) -> str:
    """Return why a part is empty: there is nothing, or the query took too long."""
    return NOT_FOUND if part in report["left_out"] else why


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _spans(names: Iterable[str]) -> str:
    return ", ".join(span(name) for name in names) or "none"


def _who(name: str | None) -> str:
    return span(name) if name else "somebody"


def _time(text: str | None) -> str:
    """Return the time as `YYYY-MM-DD hh:mm:ss` in UTC."""
    return f"{text[:10]} {text[11:19]}" if text else "never"


def _least(number: int, *, exact: bool) -> str:
    return str(number) if exact else f"at least {number}"


def _width(milliseconds: int) -> str:
    for unit, name in ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second")):
        if milliseconds >= unit and milliseconds % unit == 0:
            number = milliseconds // unit
            return name if number == 1 else f"{number} {name}s"
    return f"{milliseconds} ms"
