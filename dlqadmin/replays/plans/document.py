"""The plan as a document: records to send, records left out, and checks. Pure functions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dlqadmin.replays.plans.check_results import STOP, check
from dlqadmin.replays.plans.checks import CHECKS
from dlqadmin.replays.plans.facts import Facts
from dlqadmin.replays.plans.targets import Target
from dlqadmin.rest.times import iso
from engine.record.replay import ATTEMPT, ID, ITEM

REASONS = {
    "already_sent": "were sent before, or are about to be",
    "same_lineage": "are the same record as another dead letter of this selection",
    "superseded": "are older than another record of this selection with the same key",
    "newer_exists": "have a newer record of the same key in their origin topic",
    "too_many_attempts": "were sent too often already, and failed each time",
    "discarded": "were discarded",
    "parked": "are parked",
    "handled": "were handled elsewhere",
    "expired": "have lost their bytes: the origin topic no longer has them",
    "unknown_bytes": "have no known bytes",
    "not_allowed": "point at a topic that may not be read for them",
    "oversize": "are larger than their target takes",
    "no_target": "have no target topic",
    "forbidden_target": "would go to a topic that replays don't write to",
}


def document(facts: Facts) -> dict[str, Any]:
    """Return the plan. It is `runnable` unless a check has the level "stop"."""
    checks = [row for find in CHECKS for row in find(facts)]
    return {
        "checked_at": iso(facts.now),
        "took_ms": facts.took_ms,
        "digest": facts.tally.digest,
        "records_digest": facts.tally.records_digest,
        "rate": facts.options.rate,
        "total": facts.total,
        "to_send": facts.to_send,
        "skipped": _skipped(facts),
        "elsewhere": facts.elsewhere,
        "edited": facts.edited,
        "newer": facts.tally.newer,
        "checks": checks,
        "targets": [_target(facts, target) for target in facts.targets.by_name.values()],
        "headers": {"added": [ID, ITEM, ATTEMPT], "stripped": sorted(facts.tally.stripped)},
        "confirm": {"word": facts.confirm} if facts.confirm else None,
        "runnable": all(row["level"] != STOP for row in checks),
    }


def broken(why: str, now: datetime) -> dict[str, Any]:
    """Return the document of a plan that could not be made. It sends nothing and has the reason."""
    return {
        "checked_at": iso(now),
        "took_ms": 0,
        "digest": "",
        "records_digest": "",
        "rate": 0,
        "total": 0,
        "to_send": 0,
        "elsewhere": 0,
        "skipped": [],
        "edited": 0,
        "newer": 0,
        "checks": [check(STOP, "The plan could not be made", why)],
        "targets": [],
        "headers": {"added": [], "stripped": []},
        "confirm": None,
        "runnable": False,
    }


def _skipped(facts: Facts) -> list[dict[str, Any]]:
    answer = []
    for reason, count in facts.reasons.items():
        held = facts.tally.held.most_common(3) if reason == "already_sent" else []
        text = f"{count} of {facts.total} {REASONS.get(reason, reason)}"
        if held:
            text += ": " + "; ".join(f"{number} {sentence}" for sentence, number in held)
        replays = sorted(facts.tally.holders) if held else []
        answer.append({"reason": reason, "count": count, "text": text, "replays": replays})
    return answer


def _target(facts: Facts, target: Target) -> dict[str, Any]:
    counts = facts.partitions(target.topic)
    order = sorted(counts, key=lambda number: (number is None, number or 0))
    return {
        "topic": target.topic,
        "exists": target.partitions is not None,
        "partitions": [{"partition": number, "count": counts[number]} for number in order],
        "largest_bytes": facts.tally.largest.get(target.topic),
        "limit_bytes": target.limit_bytes,
        "watched": [
            {"connector": one.name, "group": one.group, "state": one.state, "lag": one.lag}
            for one in facts.watched_of(target)
        ],
        "also_read_by": facts.others_of(target),
        "groups": [
            {
                "name": group.name,
                "kind": group.kind,
                "state": group.state,
                "members": group.members,
                "lag": group.lag,
                "watched": facts.is_watched(target, group),
            }
            for group in target.groups
        ],
    }
