"""The conditions of rules: one table of their parameters, and pure functions that match them against facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from dlqadmin.alerts.facts import AlertFacts
from dlqadmin.alerts.rule_filters import SourceCell, compile_filter, matches, names_match
from dlqadmin.broker import clusters
from dlqadmin.connectors.states import HELD
from dlqadmin.deadletters.group_states import NEW_FOR, mute_ended, state
from dlqadmin.deadletters.models import Group, GroupStatus
from dlqadmin.deadletters.search.filter_groups import FilterGroup
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso
from dlqadmin.teams.reach import Reach

INTERVALS_S = (300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86_400)
NEW_GROUP = "new_group"
Subject = tuple[str, str]  # kind and key


class SubjectMatch(msgspec.Struct, frozen=True):
    """A subject for which a condition holds.

    `at` is the time of the event. `active_at` is the time of its newest record: a later one is news.
    """

    condition: str
    kind: str
    key: str
    title: str
    at: datetime
    active_at: datetime
    event: str = ""
    facts: dict[str, Any] = {}
    href: str = ""

    @property
    def subject(self) -> Subject:
        return self.kind, self.key


class RuleScope:
    """The sources that a rule counts: those of its team that pass its filter. The answers are remembered."""

    def __init__(self, reach: Reach, filters: FilterGroup, cluster: str) -> None:
        self.reach, self.filters, self._cluster = reach, filters, cluster
        self._known: dict[SourceCell, tuple[int, bool]] = {}

    def has(self, cell: SourceCell, facts: AlertFacts) -> bool:
        """Return whether the rule counts the dead letters of this source."""
        fingerprint = facts.fingerprints.get(cell.fingerprint)
        if fingerprint is None:
            return False
        known = self._known.get(cell)
        if known is None or known[0] != fingerprint.group:  # a merge moved the fingerprint
            found = self.reach.has_source(cell.topic, cell.connector, cell.cluster)
            known = fingerprint.group, found and matches(self.filters, cell, fingerprint)
            self._known[cell] = known
        return known[1]

    def has_connector(self, name: str) -> bool:
        """Return whether the rule looks at this connector."""
        return self.reach.has_connector(name, self._cluster) and names_match(self.filters, "connector", name)

    def has_topic(self, name: str, cluster: str = "") -> bool:
        """Return whether the rule looks at this topic of dead letters; without `cluster`, of the own cluster."""
        return self.reach.has_topic(name, cluster or self._cluster) and names_match(self.filters, "topic", name)


Values = Mapping[str, Any]
Matcher = Callable[[Values, RuleScope, AlertFacts], Iterable[SubjectMatch]]


class ConditionField(NamedTuple):
    """A number that a condition needs, with its bounds."""

    name: str
    least: float
    most: float
    default: float | None = None


class ConditionKind(NamedTuple):
    """A kind of condition: its fields, the facts it needs, its sentence, and its function."""

    name: str
    text: str  # for people; {field} stands for a value
    needs: frozenset[str]
    matcher: Matcher
    fields: tuple[ConditionField, ...] = ()
    has_interval: bool = False
    has_history: bool = True  # a preview can tell when it held


def new_groups(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the open groups that are new; which of them are told already, the transitions decide."""
    for pk, cells in facts.group_cells.items():
        group = facts.groups.get(pk)
        if group is None or pk <= values["from_group"] or not _is_open(group, facts.at):
            continue
        if facts.new_since is not None and group.first_seen < facts.new_since:
            continue
        is_new = pk in facts.recent or facts.at - group.first_seen < NEW_FOR
        if is_new and any(scope.has(cell, facts) for cell in cells):
            yield _of_group(NEW_GROUP, group, group.first_seen)


def regressed_groups(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the groups that failed again after somebody resolved them."""
    for pk, group in facts.groups.items():
        at = group.regressed_at
        if at is None or at < values["since"] or not _is_open(group, facts.at):
            continue
        if any(scope.has(cell, facts) for cell in facts.group_cells.get(pk, ())):
            yield _of_group("group_regressed", group, at, event=iso(at))


def escalated_groups(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the groups in the state escalating, by the counts that the rule may see."""
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for cell, (last, before) in facts.hours.items():
        if scope.has(cell, facts):
            total = sums[facts.fingerprints[cell.fingerprint].group]
            total[0] += last
            total[1] += before
    for pk, (last, before) in sums.items():
        group = facts.groups.get(pk)
        if group is not None and state(group, facts.at, last, before) == "escalating":
            yield _of_group("group_escalated", group, facts.at, facts={"last_hour": last, "day_before": before})


def group_events(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the open groups with more than a number of records in the interval."""
    window = facts.windows.get(values["within_s"], {})
    if sum(window.values()) <= values["more_than"]:
        return  # no group has more than all of them, so the filter need not be asked about each source
    sums: dict[int, int] = defaultdict(int)
    for cell, n in window.items():
        if scope.has(cell, facts):
            sums[facts.fingerprints[cell.fingerprint].group] += n
    for pk, n in sums.items():
        group = facts.groups.get(pk)
        if group is not None and n > values["more_than"] and _is_open(group, facts.at):
            yield _of_group("group_events", group, facts.at, facts={"records": n, "within_s": values["within_s"]})


def all_records(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield one subject if more than a number of records failed in the interval."""
    window = facts.windows.get(values["within_s"], {})
    if sum(window.values()) <= values["more_than"]:
        return  # the filter only takes records away, so it need not be asked about each source
    total = sum(n for cell, n in window.items() if scope.has(cell, facts))
    if total > values["more_than"]:
        found = {"records": total, "within_s": values["within_s"]}
        title = f"{counted(total, 'record')} failed within {duration(values['within_s'])}"
        yield SubjectMatch("records", "records", "all", title, facts.at, facts.at, facts=found, href="/records")


def failure_rate(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the topics to which more than a share of the records goes that their connectors consumed."""
    failed: dict[str, int] = defaultdict(int)
    writers: dict[str, set[str]] = defaultdict(set)
    for cell, n in facts.windows.get(values["within_s"], {}).items():
        if cell.connector and scope.has(cell, facts):
            failed[cell.topic] += n
            writers[cell.topic].add(cell.connector)
    consumed = facts.consumed.get(values["within_s"], {})
    for topic, n in failed.items():
        total = sum(consumed.get(name, 0) for name in writers[topic])
        if total >= values["at_least"] and n * 100 > values["percent"] * total:
            found = {"failed": n, "consumed": total, "within_s": values["within_s"]}
            title = f"{topic}: {min(100, n * 100 / total):.3g} % of {counted(total, 'record')} failed"
            yield SubjectMatch("failure_rate", "topic", topic, title, facts.at, facts.at, facts=found, href="/records")


def low_budgets(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the tasks with less than a share of their error budget left."""
    for row in facts.connectors:
        if row.has_ended or not scope.has_connector(row.name):
            continue
        for task in row.tasks:
            limits = [one for one in (task.budget.total, task.budget.rate) if one is not None and one.limit > 0]
            left = min((100 * max(0, one.limit - one.used) / one.limit for one in limits), default=None)
            if left is not None and left < values["percent"]:
                title = f"{row.task_label(task.id)} has {left:.3g} % of its error budget left"
                yield _of_task("budget", row, task.id, title, facts, {"left_percent": round(left, 1)})


def failed_tasks(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the tasks that failed."""
    for row in facts.connectors:
        if scope.has_connector(row.name):
            for task in row.tasks:
                if task.state == "FAILED":
                    yield _of_task("task_failed", row, task.id, f"{row.task_label(task.id)} failed", facts, {})


def paused_connectors(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the connectors that are paused or stopped."""
    for row in facts.connectors:
        if row.shown.state in HELD and scope.has_connector(row.name):
            title, at = f"{row.key} is {row.shown.state}", facts.at
            found = {"connector": row.name, "cluster": row.cluster}
            yield SubjectMatch("connector_paused", "connector", f"{row.cluster}/{row.name}", title, at, at, facts=found)


def slow_indexes(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the topics whose index is behind by more than a number of seconds."""
    for (cluster, name), seconds in facts.index_lag.items():
        if seconds > values["seconds"] and scope.has_topic(name, cluster):
            topic = clusters.qualified(name, cluster)
            title = f"The index of {topic} is {seconds:.0f} s behind"
            found = {"seconds": round(seconds)}
            yield SubjectMatch("index_behind", "topic", topic, title, facts.at, facts.at, facts=found, href="/topics")


def expiring_topics(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the topics from which Kafka may delete open dead letters within a number of hours."""
    for row in facts.expiring:
        if row.first - facts.at < timedelta(hours=values["hours"]) and scope.has_topic(row.topic, row.cluster):
            topic = clusters.qualified(row.topic, row.cluster)
            title = f"Kafka may delete dead letters of {topic} from {row.first:%d %b %H:%M} UTC on"
            found = {"first": iso(row.first)}
            yield SubjectMatch("retention", "topic", topic, title, facts.at, facts.at, facts=found, href="/records")


def waiting_replays(values: Values, scope: RuleScope, facts: AlertFacts) -> Iterable[SubjectMatch]:
    """Yield the replays that paused, wait for approval or have records that failed again."""
    for row in facts.replays:
        if not scope.reach.is_limited or (scope.reach.teams or frozenset()) & row.teams:
            yield SubjectMatch(
                "replay_needs_person", "replay", str(row.pk), row.title, facts.at, facts.at, row.why,
                {"why": row.why}, f"/replays/{row.pk}",
            )  # fmt: skip


_COUNT = ConditionField("more_than", 0, 1_000_000_000)
_KINDS = (
    ConditionKind(NEW_GROUP, "A group is new", frozenset({"groups"}), new_groups),
    ConditionKind("group_regressed", "A resolved group fails again", frozenset({"groups"}), regressed_groups),
    ConditionKind("group_escalated", "A group grows fast", frozenset({"groups", "hours"}), escalated_groups),
    ConditionKind("group_events", "A group has more than {more_than} records in the interval",
                  frozenset({"groups", "windows"}), group_events, (_COUNT,), has_interval=True),
    ConditionKind("records", "More than {more_than} records fail in the interval",
                  frozenset({"windows"}), all_records, (_COUNT,), has_interval=True),
    ConditionKind("failure_rate", "More than {percent} % of a topic's records fail in the interval",
                  frozenset({"windows", "consumed"}), failure_rate,
                  (ConditionField("percent", 0, 100), ConditionField("at_least", 1, 1_000_000_000, 1)),
                  has_interval=True),
    ConditionKind("budget", "A task has less than {percent} % of its error budget left",
                  frozenset({"connectors"}), low_budgets, (ConditionField("percent", 0, 100),), has_history=False),
    ConditionKind("task_failed", "A task fails", frozenset({"connectors"}), failed_tasks, has_history=False),
    ConditionKind("connector_paused", "A connector is paused or stopped", frozenset({"connectors"}),
                  paused_connectors, has_history=False),
    ConditionKind("index_behind", "The index is more than {seconds} s behind", frozenset({"index_lag"}),
                  slow_indexes, (ConditionField("seconds", 1, 86_400),), has_history=False),
    ConditionKind("retention", "Kafka deletes an open dead letter within {hours} h", frozenset({"expiring"}),
                  expiring_topics, (ConditionField("hours", 1, 168),), has_history=False),
    ConditionKind("replay_needs_person", "A replay needs a person", frozenset({"replays"}), waiting_replays,
                  has_history=False),
)  # fmt: skip
CONDITIONS: Mapping[str, ConditionKind] = {kind.name: kind for kind in _KINDS}


class CompiledRule:
    """A rule, ready to be matched. It stays valid for one version of the rule and one set of team patterns.

    `needs` are the names of the facts that its conditions need, `intervals` the lengths (s) of its windows.
    """

    def __init__(
        self, conditions: Iterable[Values], query: str, reach: Reach, cluster: str, *, match_all: bool, **bounds: Any
    ) -> None:
        self.conditions = [{**bounds, **values} for values in conditions]
        self.match_all = match_all
        self.scope = RuleScope(reach, compile_filter(query), cluster)
        # Every evaluation asks each rule for these, so they are worked out once.
        self.needs = frozenset().union(*(CONDITIONS[values["kind"]].needs for values in self.conditions))
        self.intervals = frozenset(values["within_s"] for values in self.conditions if "within_s" in values)
        self.mixes_subjects = self._mixes_subjects()
        self._reads = self.needs - {"groups", "windows", "consumed"} | {("window", s) for s in self.intervals}

    def reads(self, names: frozenset[Any]) -> bool:
        """Return whether the rule needs one of these facts, named as `AlertFacts.renewed` names them."""
        return not self._reads.isdisjoint(names)

    def _mixes_subjects(self) -> bool:
        """Return whether conditions about groups and about other subjects must hold together.

        Then any group can make it hold, so it must be matched against all groups.
        """
        about_groups = {"groups" in CONDITIONS[values["kind"]].needs for values in self.conditions}
        return self.match_all and len(about_groups) > 1

    def match(self, facts: AlertFacts) -> dict[Subject, SubjectMatch]:
        """Return the subjects for which the rule holds.

        If all conditions must hold, the subjects are those of the first one. Of another condition with subjects of
        the same kind, the subject itself must match; of one with other subjects, any.
        """
        found = [self._match_one(values, facts) for values in self.conditions]
        if not self.match_all:
            # A new group is told once; another condition of the rule must not be hidden behind that.
            news = [part for part, values in zip(found, self.conditions, strict=True) if values["kind"] == NEW_GROUP]
            others = [part for part, values in zip(found, self.conditions, strict=True) if values["kind"] != NEW_GROUP]
            return {subject: match for part in (*news, *reversed(others)) for subject, match in part.items()}
        if not all(found):
            return {}
        first, *others = found
        kinds = [{kind for kind, _ in part} for part in others]
        return {
            subject: match
            for subject, match in first.items()
            if all(subject in part or subject[0] not in kind for part, kind in zip(others, kinds, strict=True))
        }

    def _match_one(self, values: Values, facts: AlertFacts) -> dict[Subject, SubjectMatch]:
        return {one.subject: one for one in CONDITIONS[values["kind"]].matcher(values, self.scope, facts)}


def duration(seconds: int) -> str:
    """Return an interval for people."""
    return f"{seconds // 3600} h" if seconds % 3600 == 0 else f"{seconds // 60} min"


def _is_open(group: Group, at: datetime) -> bool:
    return group.status == GroupStatus.OPEN or mute_ended(group, at)


def _of_group(
    condition: str, group: Group, at: datetime, event: str = "", facts: dict[str, Any] | None = None
) -> SubjectMatch:
    found = {"group": group.pk, "first_seen": iso(group.first_seen), "last_seen": iso(group.last_seen), **(facts or {})}
    href = f"/groups/{group.pk}"
    return SubjectMatch(condition, "group", str(group.pk), group.title, at, group.last_seen, event, found, href)


def _of_task(condition: str, row: Any, task: int, title: str, facts: AlertFacts, more: dict[str, Any]) -> SubjectMatch:
    found = {"connector": row.name, "cluster": row.cluster, "task": task, **more}
    key = f"{row.cluster}/{row.name}-{task}"
    return SubjectMatch(condition, "task", key, title, facts.at, facts.at, facts=found, href="/connectors")
