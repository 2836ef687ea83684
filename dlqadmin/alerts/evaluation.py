"""Evaluate all rules: read the facts once, open and end firings, and queue what channels are told.

One transaction holds the firings and the deliveries. It begins with a guarded update of the mark, so of two workers
that evaluate at once, one stores nothing. A worker that is killed before the commit has stored nothing either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, Max, QuerySet, Sum

from dlqadmin.alerts import notices
from dlqadmin.alerts.conditions import NEW_GROUP, CompiledRule, Subject, SubjectMatch
from dlqadmin.alerts.facts import AlertFactReader, AlertFacts, DataStamp, FactNeeds, data_stamp, own_cluster
from dlqadmin.alerts.models import AlertFiring, AlertNotice, AlertRule, EvaluationMark, FiringState
from dlqadmin.alerts.team_facts import AlertTeamFacts
from dlqadmin.alerts.transitions import transitions
from dlqadmin.rest.text import storable
from dlqadmin.teams.reach import EVERYTHING, NOTHING, Reach, reaches_of

LOOK_BACK = 60  # evaluations; with one every 5 s, transactions of up to 5 minutes may commit ids out of order
QUIET_FOR = timedelta(seconds=30)  # between two evaluations while nothing is indexed
KEPT = timedelta(days=90)


Found = dict[int, Mapping[Subject, SubjectMatch]]  # by rule; a rule that was not matched is missing


class Pass(NamedTuple):
    """The result of an evaluation: whether it stored its changes, and the number of messages."""

    stored: bool = True
    sent: int = 0


class EvaluationStamp(NamedTuple):
    """A stamp that differs after dead letters are indexed, and after a rule is made, changed or deleted."""

    data: DataStamp
    rules: object


class RuleEvaluator:
    """Evaluates the rules again and again. It keeps rules and facts between two evaluations.

    A whole evaluation reads all groups and matches all rules. Between two of them, only the groups with new records
    are read, and only the rules matched that these groups, or facts that were read again, can concern.
    """

    def __init__(self, reader: AlertFactReader | None = None) -> None:
        self._reader = reader or AlertFactReader()
        self._teams = AlertTeamFacts({})
        self._rules: list[AlertRule] = []
        self._compiled: dict[int, tuple[object, CompiledRule]] = {}
        self._compiled_of: object = None  # the list of rules that was compiled; a list that is read again is another
        self._seen: EvaluationStamp | None = None
        self._whole_at: datetime | None = None

    def run(self, now: datetime) -> Pass:
        """Evaluate once. While nothing changes, only messages and escalations that are due are looked at."""
        stamp = _stamp()
        is_whole = not (self._whole_at and timedelta() <= now - self._whole_at < QUIET_FOR)
        if stamp == self._seen and not is_whole:
            return _settle(now)
        after_letter = None if is_whole else self._after_letter(stamp)
        if self._seen is None or self._seen.rules != stamp.rules:
            self._rules = list(AlertRule.objects.prefetch_related("tells").order_by("pk"))
        rules = self._rules
        if not rules and not AlertFiring.objects.filter(ended_at=None).exists():
            return Pass()
        mark, _ = EvaluationMark.objects.get_or_create(pk=1)
        active = _active()
        if self._compile(rules):
            after_letter = None
        after_group = mark.group_ids[0] if mark.group_ids else min((rule.from_group for rule in rules), default=0)
        facts = self._reader.read(self._needs(rules, active), after_group, now, after_letter)
        done = self._store(mark, self._match(rules, facts), facts, after_group)
        if done.stored:
            self._seen = stamp
            if facts.changed is None:
                self._whole_at = now
        else:
            self._whole_at = None  # the other worker may have seen less than this one
        return done

    def _after_letter(self, stamp: EvaluationStamp) -> int | None:
        """Return the id of the last dead letter that was seen; None if all groups must be read."""
        seen = self._seen
        if seen is None or seen.rules != stamp.rules or seen.data.letter is None:
            return None
        # Transactions may commit ids out of order. The next whole evaluation sees those that are missed here, and new
        # groups are looked for behind the mark.
        return seen.data.letter

    def _compile(self, rules: Iterable[AlertRule]) -> bool:
        """Compile the rules that changed, or whose team owns something else now. Return whether any was."""
        reaches = reaches_of(frozenset(rule.team_id for rule in rules if rule.team_id is not None))
        if reaches != self._teams.reaches:
            self._teams = AlertTeamFacts(reaches)
        elif rules is self._compiled_of:
            return False
        self._compiled_of = rules
        kept = {}
        changed = False
        for rule in rules:
            reach = reaches.get(rule.team_id, NOTHING) if rule.team_id is not None else EVERYTHING
            known = self._compiled.get(rule.pk)
            key = (rule.version, reach)
            if known is None or known[0] != key:
                known, changed = (key, compiled(rule, reach, own_cluster())), True
            kept[rule.pk] = known
        self._compiled = kept
        return changed

    def _match(self, rules: Iterable[AlertRule], facts: AlertFacts) -> Found:
        """Match the rules that the facts can concern."""
        teams = self._teams.divide(facts)
        touched = self._teams.touched(facts)
        found: Found = {}
        for rule in rules:
            own = self._compiled[rule.pk][1]
            concerns = rule.team_id is None or rule.team_id in touched or own.reads(facts.renewed)
            if facts.changed is None or (concerns and not own.mixes_subjects):
                found[rule.pk] = own.match(teams.get(rule.team_id or 0, facts))
        return found

    def _needs(self, rules: Iterable[AlertRule], active: Mapping[int, Mapping[Subject, AlertFiring]]) -> FactNeeds:
        own = [self._compiled[rule.pk][1] for rule in rules]
        hours = [values["hours"] for rule in own for values in rule.conditions if "hours" in values]
        groups = {int(key) for firings in active.values() for kind, key in firings if kind == "group"}
        return FactNeeds(
            frozenset().union(*(rule.needs for rule in own)),
            frozenset().union(*(rule.intervals for rule in own)),
            max(hours, default=3),
            frozenset(rule.team_id for rule in rules if rule.team_id is not None),
            frozenset(groups),
        )

    def _store(
        self,
        mark: EvaluationMark,
        found: Found,
        facts: AlertFacts,
        after_group: int,
    ) -> Pass:
        with transaction.atomic():
            if not _take_turn(mark, max(facts.groups, default=after_group), facts.at):
                return Pass(stored=False)
            # Acknowledged, changed or deleted meanwhile: what the transaction reads counts.
            active = _active(lock=True)
            told = _told_before(found, active)
            # Most rules have nothing that fires or fired, so they are not read again.
            for rule in self._unchanged({pk for pk, matches in found.items() if matches or active.get(pk)}):
                _apply(rule, active.get(rule.pk, {}), found[rule.pk], told[rule.pk], facts)
            return Pass(sent=_finish(facts.at))

    def _unchanged(self, pks: Collection[int]) -> Iterator[AlertRule]:
        """Yield these of the rules that are as they were when they were read, with the columns without a version."""
        if not pks:
            return
        chosen = AlertRule.objects.filter(pk__in=pks).order_by()
        rows = chosen.values_list("pk", "version", "muted_until", "digested_at")
        present = {pk: (version, muted, digested) for pk, version, muted, digested in rows}
        for rule in self._rules:
            if (row := present.get(rule.pk)) is not None and row[0] == rule.version:
                _, rule.muted_until, rule.digested_at = row
                yield rule


def compiled(rule: AlertRule, reach: Reach, cluster: str) -> CompiledRule:
    """Return a rule, ready to be matched."""
    bounds = {"since": rule.since, "from_group": rule.from_group}
    return CompiledRule(rule.conditions, rule.query, reach, cluster, match_all=rule.match_all, **bounds)


def opened_firing(rule: AlertRule, match: SubjectMatch, told_at: datetime | None, now: datetime) -> AlertFiring:
    """Return a firing that begins now, unsaved."""
    return AlertFiring(
        rule=rule if rule.pk else None,
        rule_name=rule.name,
        team_id=rule.team_id,
        condition=match.condition,
        subject_kind=match.kind,
        subject_key=match.key[:330],
        title=storable(match.title)[:300],
        event=match.event,
        facts=storable(match.facts),
        href=match.href,
        started_at=now,
        last_seen=now,
        told_at=None if told_at is None else min(told_at, now),
    )


def prune(now: datetime) -> None:
    """Delete firings that ended over 90 days ago."""
    AlertFiring.objects.filter(ended_at__lt=now - KEPT).delete()


def end(firing: AlertFiring, rule: AlertRule, now: datetime) -> None:
    """End a firing, and tell its channels if they were told of its beginning."""
    firing.state, firing.ended_at = FiringState.RESOLVED, now
    firing.save(update_fields=["state", "ended_at"])
    if rule.tell_resolved and firing.tellings and not _is_muted(rule, now):
        waiting = AlertNotice.objects.filter(firing=firing).exists()  # held ones say that it ended
        if not waiting:
            notices.add(rule, rule.tells.all(), [(firing, "resolved", True)], now)


def _take_turn(mark: EvaluationMark, last_group: int, now: datetime) -> bool:
    """Move the mark, if no other worker has."""
    highest = max([last_group, *mark.group_ids[-1:]])
    seen = [*(mark.group_ids or [highest]), highest][-LOOK_BACK:]
    rows = EvaluationMark.objects.filter(pk=mark.pk, turn=mark.turn)
    return bool(rows.update(turn=mark.turn + 1, ticked_at=now, group_ids=seen))


def _stamp() -> EvaluationStamp:
    """Return the present stamp."""
    return EvaluationStamp(
        data_stamp(), AlertRule.objects.aggregate(n=Count("pk"), last=Max("pk"), versions=Sum("version"))
    )


def _settle(now: datetime) -> Pass:
    """Send what is due although nothing changed."""
    escalates = _escalating(now).exists()
    if not escalates and not AlertNotice.objects.filter(due_at__lte=now).exists():
        return Pass()
    mark = EvaluationMark.objects.get(pk=1)
    with transaction.atomic():
        if not EvaluationMark.objects.filter(pk=1, turn=mark.turn).update(turn=mark.turn + 1, ticked_at=now):
            return Pass(stored=False)
        return Pass(sent=_finish(now))


def _finish(now: datetime) -> int:
    for firing in _escalating(now).select_for_update(of=("self",)).select_related("rule"):
        if (rule := firing.rule) is None or rule.escalate_to_id is None or _is_muted(rule, now):
            continue
        firing.escalated_at = now
        firing.save(update_fields=["escalated_at"])
        AlertNotice.objects.create(
            firing=firing, channel_id=rule.escalate_to_id, kind="escalated", at=now, due_at=now, apart=True
        )
    return notices.send_due(now)


def _escalating(now: datetime) -> QuerySet[AlertFiring]:
    rows = AlertFiring.objects.filter(escalated_at=None, ended_at=None, escalate_at__lte=now)
    return rows.filter(state=FiringState.FIRING)


def _active(*, lock: bool = False) -> dict[int, dict[Subject, AlertFiring]]:
    """Return the active firings by rule and subject."""
    rows = AlertFiring.objects.filter(ended_at=None, rule__isnull=False)
    found: dict[int, dict[Subject, AlertFiring]] = defaultdict(dict)
    for row in rows.select_for_update() if lock else rows:
        assert row.rule_id is not None
        found[row.rule_id][row.subject_kind, row.subject_key] = row
    return found


def _told_before(
    found: Mapping[int, Mapping[Subject, SubjectMatch]], active: Mapping[int, Mapping[Subject, AlertFiring]]
) -> dict[int, set[str]]:
    """Return by rule the groups that look new and about which the rule had a firing before."""
    fresh = {
        (rule, match.key)
        for rule, matches in found.items()
        for subject, match in matches.items()
        if match.condition == NEW_GROUP and subject not in active.get(rule, {})
    }
    told: dict[int, set[str]] = defaultdict(set)
    if fresh:
        rules, keys = {rule for rule, _ in fresh}, {key for _, key in fresh}
        rows = AlertFiring.objects.filter(rule_id__in=rules, subject_kind="group", subject_key__in=keys)
        for rule, key in rows.order_by().values_list("rule_id", "subject_key").distinct():
            told[rule].add(key)
    return told


def _apply(
    rule: AlertRule,
    active: Mapping[Subject, AlertFiring],
    found: Mapping[Subject, SubjectMatch],
    told_new: set[str],
    facts: AlertFacts,
) -> None:
    """Store the changes of one rule, and add its messages."""
    changes, now = transitions(active, found, told_new, facts), facts.at
    for subject in changes.ended:
        end(active[subject], rule, now)
    due: list[tuple[AlertFiring, str, bool]] = []
    moved = []
    for subject, match in changes.lasting:
        firing = active[subject]
        if match is not None and _moves(firing, match):
            moved.append(firing)
        if kind := _message_kind(rule, firing, match, now):
            is_late = kind == "opened" and _is_overdue(rule, match.at if match else firing.started_at, now)
            due.append((firing, kind, is_late))
    AlertFiring.objects.bulk_update(moved, ["facts", "last_seen"], batch_size=500)
    for firing, match in zip(_open(rule, changes.opened, now), changes.opened, strict=True):
        if kind := _message_kind(rule, firing, match, now):
            due.append((firing, kind, _is_overdue(rule, match.at, now)))
    if due and not _is_muted(rule, now):
        _tell(rule, due, now)


def _tell(rule: AlertRule, due: Sequence[tuple[AlertFiring, str, bool]], now: datetime) -> None:
    tells = list(rule.tells.all())
    first = min((notices.due_at(rule, tell, now) for tell in tells), default=now)
    for firing, _, _ in due:
        firing.told_at, firing.tellings = now, firing.tellings + 1
        if rule.escalate_after_s is not None and firing.escalate_at is None and firing.escalated_at is None:
            firing.escalate_at = first + timedelta(seconds=rule.escalate_after_s)
    AlertFiring.objects.bulk_update(
        [firing for firing, _, _ in due], ["told_at", "tellings", "escalate_at"], batch_size=500
    )
    notices.add(rule, tells, [(firing, kind, not overdue) for firing, kind, overdue in due], now)
    if rule.digest:
        next_at = now if rule.digested_at is None else rule.digested_at + timedelta(seconds=rule.interval_s)
        if next_at <= now or rule.digested_at is None or rule.digested_at > now:
            AlertRule.objects.filter(pk=rule.pk).update(digested_at=now)


def _message_kind(rule: AlertRule, firing: AlertFiring, match: SubjectMatch | None, now: datetime) -> str:
    """Return the kind of message that the channels get now, or "".

    A subject has at most one message in the interval of the rule. A clock that went back counts as no time passed.
    """
    if firing.state != FiringState.FIRING or (firing.snoozed_until is not None and now < firing.snoozed_until):
        return ""
    if firing.told_at is not None and not rule.digest and now - firing.told_at < timedelta(seconds=rule.interval_s):
        return ""
    if not firing.tellings:
        return "opened"
    is_news = match is not None and firing.told_at is not None and match.active_at > firing.told_at
    passed = firing.told_at is None or now - firing.told_at >= timedelta(seconds=rule.interval_s)
    return "repeated" if is_news and passed else ""


def _is_overdue(rule: AlertRule, at: datetime, now: datetime) -> bool:
    """Return whether an event is older than the interval, as after a time without a worker."""
    return now - at > timedelta(seconds=max(rule.interval_s, 300))


def _open(rule: AlertRule, matches: Sequence[SubjectMatch], now: datetime) -> list[AlertFiring]:
    """Open a firing for each match. It inherits the time of the last message of its subject."""
    if not matches:
        return []
    keys = {match.key[:330] for match in matches}
    own = AlertFiring.objects.filter(rule=rule, subject_key__in=keys).order_by()
    rows = own.values_list("subject_kind", "subject_key").annotate(at=Max("told_at"))
    told = {(kind, key): at for kind, key, at in rows}
    return AlertFiring.objects.bulk_create(
        [opened_firing(rule, match, told.get((match.kind, match.key[:330])), now) for match in matches], batch_size=500
    )


def _moves(firing: AlertFiring, match: SubjectMatch) -> bool:
    """Take over what changed. Counts alone move with each record, so the title keeps its first ones."""
    facts = storable(match.facts)
    if facts == firing.facts:
        return False
    firing.facts, firing.last_seen = facts, max(firing.last_seen, match.active_at)
    return True


def _is_muted(rule: AlertRule, now: datetime) -> bool:
    return rule.muted_until is not None and now < rule.muted_until
