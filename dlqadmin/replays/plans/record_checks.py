"""Checks of the records themselves: their order, values, headers and timestamps. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from dlqadmin.replays.models import OrderGuard
from dlqadmin.replays.plans.check_results import OK, WARN, CheckDocument, Level, check
from dlqadmin.replays.plans.plan_inputs import Facts
from dlqadmin.replays.plans.tally import Mark
from dlqadmin.rest.text import counted


def order(facts: Facts) -> Iterator[CheckDocument]:
    """Check for newer records of the same key, and tell how many records were searched."""
    superseded = facts.left_out("superseded")
    older = (
        f" {counted(superseded, 'record')} left out: another record of this selection has the same key and is newer."
    )
    if not facts.options.home:
        text = "Not checked, because the records don't go back to their origin."
        yield check(WARN if superseded else OK, "Order per key", text + (older if superseded else ""))
        return
    if facts.targets.kafka:
        return
    if facts.behind.away:
        text = f"The origin topics could not be read: {facts.behind.away}."
        yield check(WARN, "Order per key unknown", text)
        return
    if hidden := [topic for topic in dict.fromkeys(facts.behind.refused) if facts.sent_to(topic)]:
        text = f"{', '.join(hidden)} may not be read for these dead letters; see POINTER_TOPICS."
        yield check(WARN, "Order per key unknown", text)
    newer, looked = facts.tally.newer, _looked(facts)
    if not newer:
        text = f"The origin topic has no newer record of the same keys; {looked}."
        whole = facts.behind.looked >= facts.behind.there
        level: Level = OK if whole and not superseded else WARN
        yield check(level, "Order per key", text + (older if superseded else ""))
        return
    have = "has a newer record of its key" if newer == 1 else "have newer records of their keys"
    sent = facts.tally.count(Mark.NEWER)
    what = f"{sent} sent anyway" if facts.options.order == OrderGuard.ANYWAY else "left out"
    text = f"{newer} of {facts.total} {have} in the origin topic: {what}; {looked}."
    yield check(WARN, "Newer records of the same key", text + (older if superseded else ""))


def _looked(facts: Facts) -> str:
    looked, there = facts.behind.looked, facts.behind.there
    if looked >= there:
        return f"searched all {there:,} records after them" if there else "no records come after them"
    return f"searched {looked:,} of the {there:,} records after them"


def json_values(facts: Facts) -> Iterator[CheckDocument]:
    """Check for values that a JsonConverter can't read."""
    seen = facts.values
    if not seen.wanted:
        return
    far = f"Checked all {seen.wanted:,}" if seen.count >= seen.wanted else f"Checked {seen.count:,} of {seen.wanted:,}"
    names = ", ".join(sorted(seen.readers))
    if count := facts.tally.count(Mark.NOT_JSON):
        what = "value is not JSON: it" if count == 1 else "values are not JSON: they"
        text = f"{count} {what} will fail at VALUE_CONVERTER of {names}. {far}."
        yield check(WARN, "Invalid values", text)
    else:
        yield check(OK, "Valid values", f"All values are JSON, as {names} requires. {far}.")


def null_fields(facts: Facts) -> Iterator[CheckDocument]:
    """Check that the fields whose columns must not be null are no longer null in the records."""
    for column, rows in sorted(facts.nulls.columns.items()):
        named, null, unknown = map(facts.tally.sent_of, (rows.named, rows.null, rows.unknown))
        if not named:
            continue
        missed = (
            f" {unknown:,} of {named:,} not checked: their drafts have no single field {column}." if unknown else ""
        )
        if null:
            again = "it" if null == 1 else "they"
            text = f"{column} is null in {null:,} of {counted(named, 'record')}; {again} will fail again"
            yield check(WARN, f"NULL left in {column}", f"{text}, unless the connector or the table changed.{missed}")
        elif unknown == named:
            yield check(WARN, f"NULL in {column} not checked", missed.strip())
        else:
            checked = named - unknown
            text = f"{column} is set in {counted(checked, 'record')} whose error names it."
            yield check(OK, f"No NULL left in {column}", f"{text}{missed}")


def unedited(facts: Facts) -> Iterator[CheckDocument]:
    """Check for records that go back with the bytes that failed, although nothing is known to have changed since."""
    count, since = facts.tally.count(Mark.UNEDITED), facts.tally.unedited_failed_at
    if not count or since is None or facts.options.is_abroad:
        return
    be, they = ("is", "it") if count == 1 else ("are", "they")
    what = f"{count:,} of {counted(facts.to_send, 'record')} {be} not edited."
    if change := facts.change:
        text = (
            f"{what} Since {they} failed: {change.action} {change.connector} by {change.actor}, {_moment(change.at)}."
        )
        yield check(OK, "Not edited", text)
        return
    known = f"The dashboard knows of no change of their reader since {_moment(since)}"
    text = f"{what} {they.capitalize()} will fail again with the same bytes, unless the cause was repaired. {known}."
    yield check(WARN, "Not edited", text)


def _moment(at: datetime) -> str:
    return f"{at:%d %b %H:%M} UTC"


def of_sources(facts: Facts) -> Iterator[CheckDocument]:
    """Describe the records of a source connector. The message is what the source would have written."""
    for stages, count in sorted(facts.tally.through.items()):
        yield check(OK, "Records of a source", f"{counted(count, 'record')} {stages}.")


def tombstones(facts: Facts) -> Iterator[CheckDocument]:
    """Check for null values."""
    if count := facts.tally.count(Mark.TOMBSTONE):
        text = (
            f"{counted(count, 'record')} with a null value. A compacted topic deletes earlier records of the same keys."
        )
        yield check(WARN, "Tombstones", text)


def headers(facts: Facts) -> Iterator[CheckDocument]:
    """List the headers that are added and removed."""
    taken = sorted(facts.tally.stripped)
    listed = f"{', '.join(taken[:5])}{' …' if len(taken) > 5 else ''}"
    text = f"Adds 3 dlq.replay.* headers; removes {len(taken)}{(': ' + listed if taken else '')}."
    yield check(OK, "Headers", text)


def times(facts: Facts) -> Iterator[CheckDocument]:
    """Check which timestamps the records get, and whether their target's retention deletes them."""
    if not facts.options.keep_timestamps:
        yield check(WARN, "Timestamps change", "Records get the time of sending as their timestamp.")
        return
    stamping = [target.topic for target in facts.targets.by_name.values() if target.stamps]
    if stamping:
        text = f"{', '.join(stamping)} replaces every timestamp with the time of writing (LogAppendTime)."
        yield check(WARN, "Timestamps change", text)
    if old := facts.tally.count(Mark.OLD):
        text = (
            f"{counted(old, 'record')} older than the target's retention: Kafka may delete them right after "
            "they are written."
        )
        yield check(WARN, "Timestamps too old", text)
    timeless = facts.tally.count(Mark.TIMELESS)
    rest = f" {counted(timeless, 'record')} without a timestamp: they get the time of sending." if timeless else ""
    if not stamping:
        yield check(OK, "Timestamps are kept", f"Records keep their original timestamp.{rest}")
