"""The plan as a document: what would be sent where, and what a person must know before. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from dlqadmin.replays.models import ReplayItem, Selection
from dlqadmin.replays.outcome.readers import Reader
from dlqadmin.replays.planning.choosing import Sorted, said_of
from dlqadmin.replays.planning.targets import Target, Targets
from dlqadmin.replays.sending import ledger
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso
from engine.record.replay import ATTEMPT, ID, ITEM

OK, WARN, STOP = "ok", "warn", "stop"
REASONS = {
    "already_sent": "were sent before, or are about to be",
    "same_lineage": "are the same record as another dead letter of this selection",
    "expired": "have lost their bytes: the origin topic no longer has them",
    "unknown_bytes": "have no known bytes",
    "oversize": "are larger than their target takes",
    "no_target": "have no target topic",
    "forbidden_target": "would go to a topic that replays don't write to",
}

Check = dict[str, str]


class Facts(msgspec.Struct, frozen=True):
    """What a plan is made of."""

    selection: Selection
    drifted: bool
    rows: Sequence[Sorted]
    targets: Targets
    owners: Mapping[ledger.Pair, ReplayItem]
    digest: str
    took_ms: int
    now: datetime

    @property
    def sent(self) -> list[Sorted]:
        """The rows that are to be sent."""
        return [row for row in self.rows if not row.reason]


def document(facts: Facts) -> dict[str, Any]:
    """The plan; `runnable` unless a check says stop."""
    checks = [check for find in CHECKS for check in find(facts)]
    return {
        "checked_at": iso(facts.now),
        "took_ms": facts.took_ms,
        "digest": facts.digest,
        "total": len(facts.rows),
        "to_send": len(facts.sent),
        "skipped": _skipped(facts),
        "edited": sum(1 for row in facts.sent if row.candidate.edited is not None),
        "checks": checks,
        "targets": [_target(facts, target) for target in facts.targets.by_name.values()],
        "headers": {"added": [ID, ITEM, ATTEMPT], "stripped": _stripped(facts)},
        "runnable": all(check["level"] != STOP for check in checks),
    }


def _frozen(facts: Facts) -> Iterator[Check]:
    chosen = facts.selection
    if facts.drifted:
        text = f"{chosen} names other records than when it was frozen. Freeze it again."
        yield _check(STOP, "Selection drifted", text)
        return
    digest = f"{chosen.digest[:4]}…{chosen.digest[-4:]}"
    text = f"{chosen}: {counted(chosen.count, 'dead letter')}, watermark {chosen.watermark}, digest {digest}."
    yield _check(OK, "Selection frozen", f"{text} New arrivals stay out.")


def _not_sent(facts: Facts) -> Iterator[Check]:
    held = [row for row in facts.rows if row.reason == "already_sent"]
    lost = sum(1 for row in facts.rows if row.reason in ("expired", "unknown_bytes"))
    if not held:
        again = sum(1 for row in facts.sent if (row.candidate.lineage, row.candidate.target) in facts.owners)
        if again:
            text = f"{again} of {counted(len(facts.rows), 'record')} went out before, and will again."
            yield _check(WARN, "Sent before", f"{text} {_lost(lost)}")
        else:
            text = f"0 of {counted(len(facts.rows), 'lineage')} in the ledger."
            yield _check(OK, "Not sent before", f"{text} {_lost(lost)}")
        return
    by = Counter(row.evidence for row in held).most_common(3)
    text = "; ".join(f"{count} {evidence}" for evidence, count in by)
    text = f"{len(held)} of {len(facts.rows)} lineages are left out: {text}. {_lost(lost)}"
    yield _check(WARN, "Sent before", text)


def _lost(count: int) -> str:
    return f"{counted(count, 'record')} without bytes."


def _kafka(facts: Facts) -> Iterator[Check]:
    if facts.targets.kafka:
        yield _check(STOP, "Kafka does not answer", f"{facts.targets.kafka}. Check again when it does.")


def _targets(facts: Facts) -> Iterator[Check]:
    if facts.targets.kafka:
        return
    for target in facts.targets.by_name.values():
        there = [row for row in facts.sent if row.candidate.target == target.topic]
        left_out = counted(sum(1 for row in facts.rows if row.candidate.target == target.topic), "record")
        if target.forbidden:
            text = f"It {target.forbidden}: replays don't write there; {left_out} left out."
            yield _check(WARN, f"Target {target.topic}", text)
        elif target.partitions is None:
            yield _check(WARN, f"Target {target.topic}", f"There is no such topic; {left_out} left out.")
        elif there:
            yield _check(OK, f"Target {target.topic}", f"{_spread(target, there)} {_sizes(target, there)}")


def _spread(target: Target, rows: Sequence[Sorted]) -> str:
    count = counted(target.partitions or 0, "partition")
    numbered = Counter(row.partition for row in rows if row.partition is not None)
    by_key = sum(1 for row in rows if row.partition is None)
    if not numbered:
        return f"Exists, {count}; {counted(by_key, 'record')} by key."
    figures = [str(numbered[number]) for number in sorted(numbered)]
    listed = figures[0] if len(figures) == 1 else f"{', '.join(figures[:-1])} and {figures[-1]}"
    where = "partition" if len(figures) == 1 else "partitions"
    named = ", ".join(str(number) for number in sorted(numbered))
    rest = f"; {by_key} by key" if by_key else ""
    return f"Exists, {count} as at origin: {listed} to {where} {named}{rest}."


def _sizes(target: Target, rows: Sequence[Sorted]) -> str:
    largest = max(row.candidate.size or 0 for row in rows)
    limit = "an unknown limit" if target.limit_bytes is None else _bytes(target.limit_bytes)
    return f"Largest {_bytes(largest)} of {limit}."


def _oversize(facts: Facts) -> Iterator[Check]:
    if count := sum(1 for row in facts.rows if row.reason == "oversize"):
        yield _check(WARN, "Too large", f"{counted(count, 'record')} left out: larger than max.message.bytes.")


def _tombstones(facts: Facts) -> Iterator[Check]:
    if count := sum(1 for row in facts.sent if row.candidate.tombstone):
        text = f"{counted(count, 'record')} with a null value: a compacted topic forgets the key by it."
        yield _check(WARN, "Tombstones", text)


def _provable(facts: Facts) -> Iterator[Check]:
    if facts.targets.kafka:
        return
    old = f" The engine does not answer; {facts.targets.engine}." if facts.targets.engine else ""
    for topic, connector, count in _watched(facts):
        target = facts.targets.by_name[topic]
        reader = next((one for one in target.readers if one.name == connector), None)
        if reader is None:
            text = f"No connector of the engine reads {topic}: unknown(no_group) for {counted(count, 'record')}."
            yield _check(WARN, "Outcome will be unknown", text + old)
        elif stopped := target.stopped(reader):
            yield _check(WARN, "Outcome can't be proven", f"{stopped}: unknown(group_empty) until it runs.{old}")
        elif reader.unseen:
            text = f"{connector}: {reader.unseen}: unknown(no_dead_letter_path)."
            yield _check(WARN, "Outcome can't be proven", text + old)
        else:
            lag = "lag unknown" if reader.lag is None else f"lag {reader.lag}"
            text = f"{connector}: {reader.state.lower()}, {lag}; {_index(reader, facts.targets.behind)}."
            level = WARN if old or reader.state != "RUNNING" else OK
            yield _check(level, "Outcome can be proven", text + old)


def _index(reader: Reader, behind: Mapping[str, int]) -> str:
    if not reader.followed:
        return "it writes no dead letters, and reports what it skips"
    count = behind.get(reader.followed, 0)
    left = f"{counted(count, 'record')} from indexed" if count else "indexed to the end"
    return f"its dead letter topic {reader.followed} is {left}"


def _also_read(facts: Facts) -> Iterator[Check]:
    for target in facts.targets.by_name.values():
        count = sum(1 for row in facts.sent if row.candidate.target == target.topic)
        for name in _others(facts, target) if count else ():
            text = f"{name} will see {counted(count, 'record')} again. Its outcome is not watched."
            yield _check(WARN, "Another connector reads this topic", text)


def _lineages(facts: Facts) -> Iterator[Check]:
    if count := sum(1 for row in facts.rows if row.reason == "same_lineage"):
        text = f"{counted(count, 'dead letter')} left out: of each record the newest is sent, or the newest edited one."
        yield _check(WARN, "Several dead letters of one record", text)


def _headers(facts: Facts) -> Iterator[Check]:
    taken = _stripped(facts)
    listed = f"{', '.join(taken[:5])}{' …' if len(taken) > 5 else ''}"
    text = f"3 added dlq.replay.*; {len(taken)} left off{': ' + listed if taken else ''}."
    yield _check(OK, "Headers", text)


def _times(facts: Facts) -> Iterator[Check]:
    yield _check(WARN, "Timestamps change", "Records get the time of sending.")


def _something(facts: Facts) -> Iterator[Check]:
    if not facts.sent:
        yield _check(STOP, "Nothing to send", f"All {counted(len(facts.rows), 'record')} are left out.")


CHECKS = (
    _something, _kafka, _frozen, _targets, _not_sent, _provable, _also_read, _oversize, _lineages, _tombstones,
    _headers, _times,
)  # fmt: skip


def _skipped(facts: Facts) -> list[dict[str, Any]]:
    answer = []
    for reason, count in Counter(row.reason for row in facts.rows if row.reason).items():
        owners = [
            facts.owners[pair]
            for row in facts.rows
            if reason == "already_sent" == row.reason
            and (pair := (row.candidate.lineage, row.candidate.target)) in facts.owners
        ]
        said = Counter(said_of(owner) for owner in owners).most_common(3)
        text = f"{count} of {len(facts.rows)} {REASONS[reason]}"
        if said:
            text += ": " + "; ".join(f"{number} {sentence}" for sentence, number in said)
        replays = sorted({owner.replay_id for owner in owners})
        answer.append({"reason": reason, "count": count, "text": text, "replays": replays})
    return answer


def _target(facts: Facts, target: Target) -> dict[str, Any]:
    there = [row for row in facts.sent if row.candidate.target == target.topic]
    counts = Counter(row.partition for row in there)
    order = sorted(counts, key=lambda number: (number is None, number or 0))
    watched = {connector for topic, connector, _ in _watched(facts) if topic == target.topic}
    return {
        "topic": target.topic,
        "exists": target.partitions is not None,
        "partitions": [{"partition": number, "count": counts[number]} for number in order],
        "largest_bytes": max((row.candidate.size or 0 for row in there), default=None),
        "limit_bytes": target.limit_bytes,
        "watched": [
            {"connector": one.name, "group": one.group, "state": one.state, "lag": one.lag}
            for one in target.readers
            if one.name in watched
        ],
        "also_read_by": _others(facts, target),
    }


def _watched(facts: Facts) -> list[tuple[str, str, int]]:
    """Topic, the connector whose outcome counts, and how many records that is."""
    pairs = Counter(
        (row.candidate.target, facts.targets.watched(row.candidate.target, row.candidate.connector))
        for row in facts.sent
    )
    return [(topic, connector, pairs[topic, connector]) for topic, connector in sorted(pairs)]


def _others(facts: Facts, target: Target) -> list[str]:
    watched = {connector for topic, connector, _ in _watched(facts) if topic == target.topic}
    return [reader.name for reader in target.readers if reader.name not in watched]


def _stripped(facts: Facts) -> list[str]:
    return sorted({name for row in facts.sent for name in row.candidate.stripped})


def _check(level: str, title: str, text: str) -> Check:
    return {"level": level, "title": title, "text": text}


def _bytes(number: int) -> str:
    return (
        f"{number} B"
        if number < 10_000
        else f"{number / 1_000_000:.3g} MB"
        if number >= 1_000_000
        else f"{number / 1000:.3g} kB"
    )
