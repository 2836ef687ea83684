"""Rules on indexed dead letters: what fires, what is told, once."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from dlqadmin.alerts import evaluation, notices
from dlqadmin.alerts.conditions import RuleScope
from dlqadmin.alerts.evaluation import RuleEvaluator
from dlqadmin.alerts.firings import acknowledge, snooze
from dlqadmin.alerts.models import AlertFiring, AlertNotice, AlertRule, EvaluationMark
from dlqadmin.deadletters.models import Group
from dlqadmin.metrics.models import TaskMinute, TaskSnapshot
from dlqadmin.notifications.models import ChannelDelivery
from tests.dlqadmin.alerts.rigs import channel, events, firing, rule, subjects, tick
from tests.dlqadmin.conftest import person, team
from tests.dlqadmin.deadletters.letters import BAD_JSON, HOUR_MS, NOW, NOW_MS, NST, index, letter

pytestmark = pytest.mark.django_db
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
SECOND = timedelta(seconds=1)
FIVE = {"kind": "group_events", "more_than": 2, "within_s": 300}


def test_a_new_group_is_told_once_with_a_link_and_without_content(settings: Settings) -> None:
    settings.DLQADMIN_URL = "https://dlq.example"
    made = rule()
    index([letter(n, key=b"k-secret") for n in range(3)])
    assert tick() == 1
    assert tick(NOW + 5 * SECOND) == 0
    [told] = ChannelDelivery.objects.all()
    assert (told.event, told.source, told.subject) == ("alert.opened", f"rule {made.pk}", Group.objects.get().title)
    assert told.link == f"https://dlq.example/alerts/firings/{firing().pk}"
    assert "secret" not in f"{told.body}{told.facts}"


def test_the_next_new_group_is_told_too() -> None:
    rule()
    worker = RuleEvaluator()
    index([letter(0)])
    tick(NOW, worker)
    index([letter(1, message=NST)])
    assert tick(NOW + 5 * SECOND, worker) == 1


@pytest.mark.parametrize("kind", ["records", "group_events"])
def test_a_bound_above_all_records_asks_the_filter_about_no_source(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule({"kind": kind, "more_than": 3, "within_s": 300})
    index([letter(n) for n in range(3)])
    asked: list[object] = []

    def has(_scope: object, cell: object, _facts: object) -> bool:
        asked.append(cell)
        return True

    monkeypatch.setattr(RuleScope, "has", has)
    assert (tick(NOW + SECOND), asked) == (0, [])
    index([letter(3)])
    assert (tick(NOW + SECOND), len(asked)) == (1, 1)


def test_rules_without_firings_and_matches_are_not_read_again() -> None:
    rule({"kind": "records", "more_than": 3, "within_s": 300})
    worker = RuleEvaluator()
    index([letter(0)])
    tick(NOW, worker)
    index([letter(1)])
    with CaptureQueriesContext(connection) as queries:
        tick(NOW + 5 * SECOND, worker)
    read = [query["sql"] for query in queries if 'FROM "alerts_alertrule"' in query["sql"]]
    assert [sql for sql in read if "muted_until" in sql] == []


def test_groups_from_before_the_rule_are_not_told() -> None:
    index([letter(0)])
    rule(from_group=Group.objects.get().pk)
    assert tick() == 0


def test_a_group_whose_id_was_committed_late_is_told() -> None:
    rule()
    index([letter(0)])
    late = Group.objects.get()
    EvaluationMark.objects.create(pk=1, turn=3, group_ids=[late.pk - 1, late.pk + 5])
    assert tick() == 1


def test_a_killed_evaluation_leaves_nothing_and_the_next_one_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    rule()
    index([letter(0)])
    with monkeypatch.context() as patch:
        patch.setattr(notices, "send_due", _killed)
        with pytest.raises(KeyboardInterrupt):
            tick()
    assert (AlertFiring.objects.count(), ChannelDelivery.objects.count()) == (0, 0)
    assert tick() == 1
    assert AlertFiring.objects.count() == 1


def _killed(_now: object) -> int:
    raise KeyboardInterrupt


def test_an_evaluation_that_another_worker_overtook_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rule()
    index([letter(0)])
    slow, quick = RuleEvaluator(), RuleEvaluator()
    read = slow._reader.read
    outcomes = []

    def overtaken(*asked: Any) -> Any:
        facts = read(*asked)
        outcomes.append(quick.run(NOW))
        return facts

    monkeypatch.setattr(slow._reader, "read", overtaken)
    assert (slow.run(NOW).stored, outcomes[0].stored) == (False, True)
    assert events() == ["alert.opened"]


@pytest.mark.sql
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_writers")
def test_two_evaluators_at_once_tell_once() -> None:
    rule({"kind": "new_group"}, {"kind": "records", "more_than": 1, "within_s": 300})
    index([letter(n) for n in range(3)])
    barrier, failures = threading.Barrier(2), []

    def evaluate() -> None:
        try:
            barrier.wait()
            for second in range(4):
                RuleEvaluator().run(NOW + 31 * second * SECOND)
        except BaseException as error:  # noqa: BLE001  # shown by the assertion
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=evaluate) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    assert AlertFiring.objects.filter(ended_at=None).count() == 2
    assert len(subjects()) == 2


@pytest.mark.parametrize("step", [-HOUR, -5 * SECOND, 2 * HOUR])
def test_a_step_of_the_clock_repeats_nothing(step: timedelta) -> None:
    rule()
    worker = RuleEvaluator()
    index([letter(0)])
    tick(NOW, worker)
    for n in range(3):
        tick(NOW + step + n * 40 * SECOND, worker)
    assert events() == ["alert.opened"]


def test_a_group_that_fails_again_is_told_for_each_time() -> None:
    rule({"kind": "group_regressed"}, interval_s=60)
    index([letter(0)])
    group = Group.objects.get()
    assert tick() == 0
    for hour in (1, 2):
        Group.objects.filter(pk=group.pk).update(status="open", regressed_at=NOW + hour * HOUR)
        tick(NOW + hour * HOUR)
    assert events() == ["alert.opened", "alert.resolved", "alert.opened"]
    assert AlertFiring.objects.filter(ended_at=None).count() == 1


def test_many_records_of_a_group_fire_and_end() -> None:
    rule(FIVE)
    index([letter(n) for n in range(3)])
    assert tick(NOW + SECOND) == 1
    assert firing().facts["records"] == 3
    assert tick(NOW + 10 * MINUTE) == 1
    assert events() == ["alert.opened", "alert.resolved"]


def test_a_muted_group_does_not_fire() -> None:
    rule(FIVE)
    index([letter(n) for n in range(3)])
    Group.objects.update(status="muted")
    assert tick(NOW + SECOND) == 0


def test_records_count_all_groups_that_pass_the_filter() -> None:
    rule({"kind": "records", "more_than": 3, "within_s": 3600}, query="stage:TASK_PUT -exception:JSONDecodeError")
    index([letter(n) for n in range(3)])
    index([letter(10, message=BAD_JSON, exception="json.JSONDecodeError")])
    assert tick(NOW + SECOND) == 0
    index([letter(11, message=NST)])
    assert tick(NOW + SECOND) == 1
    assert firing().facts["records"] == 4


def test_all_conditions_must_hold_for_the_same_group() -> None:
    rule({"kind": "new_group"}, FIVE, match_all=True)
    index([letter(0), *(letter(n, message=NST) for n in range(1, 5))])
    tick(NOW + SECOND)
    assert [row.facts["group"] for row in AlertFiring.objects.all()] == [Group.objects.get(title__contains="nst").pk]


def test_the_failure_rate_compares_with_what_the_connector_consumed() -> None:
    rule({"kind": "failure_rate", "percent": 10, "at_least": 1, "within_s": 900})
    TaskMinute.objects.create(connector="usgs-to-sql", task=0, minute=NOW - HOUR, metrics={"records-consumed": 1000})
    task = TaskSnapshot.objects.create(
        connector="usgs-to-sql", task=0, state="RUNNING", reported_at=NOW, metrics={"records-consumed": 1040}
    )
    index([letter(n) for n in range(4)])
    assert tick(NOW + SECOND) == 0  # 4 of 40 are not more than 10 %
    task.metrics = {"records-consumed": 1030}
    task.save()
    assert tick(NOW + SECOND) == 1
    assert firing().facts == {"failed": 4, "consumed": 30, "within_s": 900}


def test_a_growing_group_fires() -> None:
    rule({"kind": "group_escalated"})
    index([letter(n, at_ms=NOW_MS - 30 * HOUR_MS) for n in range(2)])
    assert tick() == 0
    index([letter(n) for n in range(10, 25)])
    assert tick(NOW + SECOND) == 1


def test_a_team_rule_counts_what_the_team_owns() -> None:
    stations = team("stations", ["stations.*"])
    rule(FIVE, team=stations)
    rule({"kind": "records", "more_than": 0, "within_s": 300}, name="all", team=stations)
    index([letter(n) for n in range(5)])
    index([letter(n, topic="stations.dlq") for n in range(2)])
    tick(NOW + SECOND)
    assert [row.facts["records"] for row in AlertFiring.objects.all()] == [2]


def test_a_pattern_of_one_cluster_counts_that_cluster() -> None:
    rule({"kind": "records", "more_than": 0, "within_s": 300}, team=team("eu", ["eu/*"]))
    index([letter(n) for n in range(5)])
    assert tick(NOW + SECOND) == 0


def test_a_subject_has_one_message_in_the_interval() -> None:
    rule(FIVE, interval_s=3600)
    for n in range(4):  # fires at each of these times, and ends between
        at = NOW + n * 20 * MINUTE
        index([letter(10 * n + k, at_ms=NOW_MS + n * 20 * 60_000) for k in range(3)])
        tick(at + SECOND)
        tick(at + 10 * MINUTE)
    assert events().count("alert.opened") == 2
    assert AlertFiring.objects.count() == 4


def test_a_lasting_alert_is_repeated_when_there_is_news() -> None:
    rule(interval_s=3600)
    index([letter(0)])
    tick()
    assert tick(NOW + 2 * HOUR) == 0
    index([letter(1, at_ms=NOW_MS + 3 * HOUR_MS)])
    assert tick(NOW + 3 * HOUR) == 1
    assert events() == ["alert.opened", "alert.repeated"]


@pytest.mark.parametrize("stop", ["acknowledge", "snooze"])
def test_people_stop_the_repeats(stop: str) -> None:
    rule(interval_s=3600)
    index([letter(0)])
    tick()
    user = person("ada", "operator")
    if stop == "acknowledge":
        acknowledge(firing(), user, NOW)
    else:
        snooze(firing(), NOW + 5 * HOUR, user, NOW)
    index([letter(1, at_ms=NOW_MS + 3 * HOUR_MS)])
    assert tick(NOW + 3 * HOUR) == 0
    assert firing().ended_at is None


@pytest.mark.parametrize("acknowledged", [False, True])
def test_nobody_acknowledges_so_another_channel_is_told_once(acknowledged: bool) -> None:
    rule(escalate_after_s=900, escalate_to=channel("boss"))
    worker = RuleEvaluator()
    index([letter(0)])
    tick(NOW, worker)
    if acknowledged:
        acknowledge(firing(), person("ada", "operator"), NOW)
    for minute in (14, 15, 16, 40):
        tick(NOW + minute * MINUTE, worker)
    told = ChannelDelivery.objects.filter(channel__name="boss")
    assert [row.event for row in told] == ([] if acknowledged else ["alert.escalated"])


def test_an_ended_alert_is_told_only_if_the_rule_says_so() -> None:
    rule(tell_resolved=False)
    index([letter(0)])
    tick()
    Group.objects.update(status="resolved")
    assert tick(NOW + MINUTE) == 0
    assert firing().state == "resolved"


def test_held_messages_arrive_as_one_digest_at_the_end_of_the_quiet_hours() -> None:
    quiet = {"start": "22:00", "end": "07:00", "zone": "UTC", "weekdays": False}  # it is 03:12
    rule(quiet=quiet, tells=(("ops", False), ("mail", True)))
    index([letter(0), letter(1, message=NST)])
    assert tick() == 2
    Group.objects.filter(title__contains="nst").update(status="resolved")
    tick(NOW + MINUTE)
    morning = NOW.replace(hour=7, minute=0, second=0)
    assert tick(morning - SECOND) == 0
    assert tick(morning) == 1
    [digest] = ChannelDelivery.objects.filter(channel__name="mail")
    assert (digest.event, digest.subject) == ("alert.digest", "2 alerts, 1 still firing")
    assert tick(morning + MINUTE) == 0


def test_a_digest_collects_the_messages_of_an_interval() -> None:
    rule(digest=True, interval_s=3600)
    index([letter(0)])
    assert tick() == 1
    index([letter(1, message=NST)])
    assert tick(NOW + MINUTE) == 0
    index([letter(2, message=BAD_JSON, exception="json.JSONDecodeError")])
    assert tick(NOW + 2 * MINUTE) == 0
    assert tick(NOW + HOUR) == 1
    assert subjects()[1] == "2 alerts, 2 still firing"


def test_a_muted_rule_records_and_tells_what_still_lasts_afterwards() -> None:
    rule(muted_until=NOW + HOUR)
    index([letter(0), letter(1, message=NST)])
    assert tick() == 0
    Group.objects.filter(title__contains="nst").update(status="resolved")
    assert tick(NOW + MINUTE) == 0
    assert tick(NOW + HOUR) == 1
    assert AlertFiring.objects.count() == 2


def test_after_a_time_without_a_worker_old_events_are_one_digest() -> None:
    rule(interval_s=600)
    tick()
    for n, message in enumerate((NST, BAD_JSON, "other")):
        index([letter(n, message=message, at_ms=NOW_MS + n * 60_000)])
    index([letter(9, at_ms=NOW_MS + HOUR_MS)])
    assert tick(NOW + HOUR + SECOND) == 2
    assert sorted(events()) == ["alert.digest", "alert.opened"]


def test_a_burst_of_new_groups_is_one_digest() -> None:
    rule()
    index([letter(n, exception=f"E{'x' * n}", message=f"{'m' * n} failed", line=n) for n in range(1, 13)])
    groups = Group.objects.count()
    assert groups > notices.AT_ONCE
    assert tick() == 1
    assert subjects() == [f"{groups} alerts, {groups} still firing"]


def test_an_idle_evaluation_reads_no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    rule()
    index([letter(0)])
    worker = RuleEvaluator()
    tick(NOW, worker)
    monkeypatch.setattr(worker._reader, "read", _refuse)
    assert tick(NOW + 5 * SECOND, worker) == 0


def _refuse(*_: Any) -> Any:
    raise AssertionError


def test_between_whole_evaluations_only_groups_with_new_records_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rule({"kind": "records", "more_than": 10**6, "within_s": 3600})
    index([letter(0), letter(1, message=NST)])
    worker, seen = RuleEvaluator(), []
    read = worker._reader.read

    def kept(*asked: Any) -> Any:
        seen.append(set(read(*asked).groups))
        return read(*asked)

    monkeypatch.setattr(worker._reader, "read", kept)
    own = Group.objects.get(title__contains="nst").pk
    tick(NOW, worker)
    index([letter(2, message=NST)])
    tick(NOW + 5 * SECOND, worker)
    index([letter(3, message=NST)])
    tick(NOW + 31 * SECOND, worker)
    everything = set(Group.objects.values_list("pk", flat=True))
    assert seen[0] == seen[2] == everything
    assert seen[1] == {own}


def test_a_rule_about_records_and_groups_lasts_while_other_groups_get_records() -> None:
    five = {"kind": "records", "more_than": 4, "within_s": 3600}
    rule(five, {**FIVE, "within_s": 3600}, match_all=True)
    worker = RuleEvaluator()
    index([letter(n) for n in range(6)])
    assert tick(NOW + SECOND, worker) == 1
    index([letter(9, message=NST)])
    tick(NOW + 6 * SECOND, worker)
    assert events() == ["alert.opened"]


def test_old_firings_are_deleted() -> None:
    made = rule()
    old = {"rule": made, "subject_kind": "group", "started_at": NOW, "last_seen": NOW}
    AlertFiring.objects.create(subject_key="1", ended_at=NOW - timedelta(days=91), **old)
    AlertFiring.objects.create(subject_key="2", ended_at=NOW, **old)
    evaluation.prune(NOW)
    assert AlertFiring.objects.get().subject_key == "2"
    assert (AlertRule.objects.count(), AlertNotice.objects.count()) == (1, 0)
