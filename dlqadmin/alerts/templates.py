"""Rules to begin with. A new installation has none; the screen offers these."""

from __future__ import annotations

from typing import Any, NamedTuple


class RuleTemplate(NamedTuple):
    """A rule without its team and channels."""

    name: str
    text: str
    conditions: list[dict[str, Any]]
    match_all: bool = False
    interval_s: int = 3600
    digest: bool = False


TEMPLATES = (
    RuleTemplate(
        "New or regressed groups",
        "Tells of each error that did not occur before, or that was resolved and occurs again.",
        [{"kind": "new_group"}, {"kind": "group_regressed"}],
    ),
    RuleTemplate(
        "Many errors",
        "Tells when more than 1,000 records fail within 15 minutes, or more than 5 % of a topic's records.",
        [
            {"kind": "records", "more_than": 1000, "within_s": 900},
            {"kind": "failure_rate", "percent": 5, "at_least": 100, "within_s": 900},
        ],
    ),
    RuleTemplate(
        "Work for a person",
        "Tells of failed tasks, of replays that need a decision, and of dead letters that Kafka soon deletes.",
        [{"kind": "task_failed"}, {"kind": "replay_needs_person"}, {"kind": "retention", "hours": 12}],
    ),
)
