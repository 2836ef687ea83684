"""Issues of other products that a plan answers; each test bears the name of its issue."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.items.messages import headers_of, kept, stamped
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from tests.dlqadmin.deadletters.letters import NOW, index, index_one, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import WEEK, check, levels, plan, reasons, sends, sent

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


@pytest.fixture(autouse=True)
def engine_is_there(engine: FakeEngine) -> None:
    config = {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"}
    engine.add("usgs-to-sql", config)


def test_servicecontrol_660_a_replay_sends_what_was_seen(operator: User) -> None:
    """What arrives between the look and the replay stays out, however often the plan is checked."""
    index([letter(number) for number in range(3)])
    chosen = frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)
    index([letter(number) for number in range(10, 15)])
    first, second = plan(operator, chosen=chosen), plan(operator, chosen=chosen)
    ids = [
        list(replay.items.order_by("ordinal").values_list("dead_letter__offset", flat=True))
        for replay in (first, second)
    ]
    assert ids == [[0, 1, 2], [0, 1, 2]]
    assert first.plan["digest"] == second.plan["digest"]


def test_servicepulse_267_a_set_that_is_another_one_now_can_t_be_sent(operator: User) -> None:
    index([letter(1), letter(2)])
    chosen = frozen_selections.by_filter(f"{WEEK}&topic=usgs.earthquakes.dlq", operator, RequestKey(), NOW)
    DeadLetter.objects.filter(offset=2).update(topic="renamed.dlq")
    replay = plan(operator, chosen=chosen)
    assert (levels(replay)["Selection drifted"], replay.plan["runnable"]) == ("stop", False)


def test_servicepulse_2424_an_edited_record_is_sent_once_and_as_edited(operator: User) -> None:
    """Edit and retry sent both the edited message and the original."""
    row = index_one(letter(1))
    drafts.save(row, operator, DraftChange(value=b"edited"), None, NOW)
    assert [message.value for message in sends(plan(operator))] == [b"edited"]


def test_servicecontrol_5122_that_a_draft_is_not_used_is_told(operator: User) -> None:
    row = index_one(letter(1))
    drafts.save(row, operator, DraftChange(value=b"edited"), None, NOW)
    assert (plan(operator).plan["edited"], plan(operator, use_fixes=False).plan["edited"]) == (1, 0)


def test_azure_721_a_body_that_nobody_opened_is_sent_whole(operator: User) -> None:
    """Resending sent an empty body, unless the message had been looked at."""
    index([letter(1, value=b"\x00\x01\xff" * 1000)])
    assert [message.value for message in sends(plan(operator))] == [b"\x00\x01\xff" * 1000]


def test_rabbitmq_queue_management_8_what_was_sent_is_remembered(operator: User) -> None:
    index([letter(1)])
    first = plan(operator)
    sent(first)
    again = plan(operator)
    assert reasons(again) == ["already_sent"]
    assert again.items.get().evidence.startswith(f"sent by {first} (operator-1")


@pytest.mark.parametrize("target", ["usgs.earthquakes.dlq", "orders.dlq"])
def test_akhq_745_nothing_is_copied_to_where_it_is_read_from(operator: User, target: str) -> None:
    """A copy whose destination was its source ran for ever."""
    index([letter(1)])
    replay = plan(operator, FakeCluster(**{target: 1}), target_topic=target)
    assert (reasons(replay), replay.plan["runnable"]) == (["forbidden_target"], False)


def test_ziggurat_265_a_record_is_not_put_behind_a_newer_one_of_its_key(operator: User) -> None:
    index([letter(1, key=b"order 7"), letter(2, key=b"order 8")])
    kafka = FakeCluster()
    kafka.put("usgs.earthquakes", 0, 48_005, b"order 7")
    replay = plan(operator, kafka)
    assert (reasons(replay), levels(replay)["Newer records of the same key"]) == (["newer_exists", ""], "warn")


def test_kafka_ui_1810_headers_of_the_way_here_are_not_replayed(operator: User) -> None:
    own = (("trace", b"1"), ("trace", b"2"), ("empty", b""), ("null", None))
    index([letter(1, headers=own)])
    replay = plan(operator)
    assert [message.headers for message in sends(replay)] == [own]
    assert "removes 10: __connect.errors." in check(replay, "Headers")


def test_spring_kafka_1994_headers_do_not_grow_with_every_replay(operator: User) -> None:
    """A record that fails again and again was at last too large for its topic."""
    row = index_one(letter(1, headers=(("trace", b"1"),)))
    headers = kept(headers_of(row), row.dialect)
    for attempt in (1, 2, 3):
        carried = stamped(headers, "replay", "replay/0", attempt, "dlq/0/1")
        again = index_one(letter(10 + attempt, headers=carried))
        headers = kept(headers_of(again), again.dialect)
        assert (len(carried), headers) == (5, (("trace", b"1"),))


def test_rocketmq_dashboard_4316_a_plan_promises_no_success(operator: User) -> None:
    """Its numbers of success were invented; ours are of what is known, and a plan knows of none."""
    index([letter(1)])
    replay = plan(operator)
    assert set(replay.items.values_list("state", flat=True)) == {"planned"}
    assert "succe" not in str(replay.plan)
