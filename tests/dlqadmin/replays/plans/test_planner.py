from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from dlqadmin.broker.internal_topics import by_name
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.writer import write
from dlqadmin.deadletters.models import DeadLetter, IndexPosition
from dlqadmin.masking.models import MaskingRule
from dlqadmin.metrics import open_work
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.items import item_states
from dlqadmin.replays.items.forbidden_topics import forbidden
from dlqadmin.replays.items.messages import original
from dlqadmin.replays.models import ItemState, LedgerEntry, Replay, ReplayItem
from dlqadmin.replays.plans.selection_reader import ADDED_BYTES
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError
from tests.dlqadmin.deadletters.letters import NOW, index, index_one, letter, plain
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import LATER, WEEK, check, levels, plan, reasons, sent

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
DEAD_LETTERS = "errors.deadletterqueue.topic.name"


@pytest.fixture(autouse=True)
def connectors(engine: FakeEngine) -> FakeEngine:
    """The engine has the connector that the records failed in."""
    config = {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"}
    engine.add("usgs-to-sql", config)
    return engine


def test_a_plan_says_what_goes_where(operator: User) -> None:
    index([letter(offset, partition=offset % 3) for offset in range(7)])
    replay = plan(operator)
    target = replay.plan["targets"][0]
    assert target["partitions"] == [
        {"partition": 0, "count": 3}, {"partition": 1, "count": 2}, {"partition": 2, "count": 2}
    ]  # fmt: skip
    assert target["watched"] == [
        {"connector": "usgs-to-sql", "group": "connect-usgs-to-sql", "state": "RUNNING", "lag": None}
    ]
    assert check(replay, "Target usgs.earthquakes").startswith(
        "Exists, 4 partitions; 3 records to partition 0, 2 to 1 and 2 to 2, the same partitions as at the origin."
    )
    assert (replay.plan["to_send"], replay.plan["runnable"]) == (7, True)
    assert levels(replay)["Outcome can be proven"] == "ok"
    assert set(replay.items.values_list("state", "watched")) == {("planned", "usgs-to-sql")}


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        (None, "written without compression"),
        ("producer", "written without compression"),
        ("uncompressed", "written without compression"),
        ("gzip", "written as gzip by the topic"),
    ],
)
def test_a_plan_names_the_compression_of_what_it_sends(operator: User, codec: str | None, words: str) -> None:
    cluster = FakeCluster()
    cluster.options = {"compression.type": codec} if codec else {}
    index([letter(1)])
    assert words in check(plan(operator, cluster), "Target usgs.earthquakes")


def test_a_replay_has_the_dead_letters_of_one_cluster(operator: User, settings: Settings) -> None:
    index([letter(1)])
    write([parse_message(letter(2), NOW)], "eu", NOW)
    both = frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)
    with pytest.raises(ParameterError, match="dead letters of 2 clusters"):
        frozen_selections.cluster_of(both)
    one = frozen_selections.by_filter(f"{WEEK}&cluster=eu", operator, RequestKey(), NOW)
    with pytest.raises(ParameterError, match="not configured"):
        frozen_selections.cluster_of(one)
    settings.OTHER_CLUSTERS = {"eu": {"bootstrap.servers": "eu:9092"}}
    assert (one.count, frozen_selections.cluster_of(one)) == (1, "eu")


def test_no_more_is_counted_than_shows_that_it_is_too_much(operator: User) -> None:
    index([letter(offset) for offset in range(5)])
    assert frozen_selections.measure(DeadLetter.objects.all(), most=2).count == 3


def test_what_matches_is_counted_before_anything_is_locked(operator: User) -> None:
    index([letter(1)])
    with CaptureQueriesContext(
        connection,
    ) as queries:
        frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)
    said = [query["sql"] for query in queries]
    begin = next(number for number, sql in enumerate(said) if sql.startswith("SAVEPOINT"))
    assert not [sql for sql in said[begin:] if 'FROM "deadletters_deadletter"' in sql]


def test_a_plan_counts_what_is_selected_reads_it_once_and_no_value_that_nobody_edited(operator: User) -> None:
    row, edited = index_one(letter(1, headers=(("h", b"x"),))), index_one(letter(2, value=b"as long as the other"))
    drafts.save(edited, operator, DraftChange(value=b""), None, NOW)
    chosen = frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)
    with CaptureQueriesContext(connection) as queries:
        replay = plan(operator, chosen=chosen)
    said = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
    assert len([sql for sql in said if '"failed_at" >=' in sql]) == 2
    values = [sql for sql in said if '"deadletters_deadletterbody"."value"' in sql]
    assert len(values) == 1
    assert f"IN ({edited.pk})" in values[0]
    whole = original(row)
    assert whole is not None
    assert replay.plan["targets"][0]["largest_bytes"] == whole.size + ADDED_BYTES


def test_what_arrives_later_stays_out(operator: User) -> None:
    index([letter(1)])
    chosen = frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)
    index([letter(2)])
    assert plan(operator, chosen=chosen).plan["total"] == 1
    assert not frozen_selections.drifted(chosen)


def test_a_selection_that_drifted_stops_the_plan(operator: User) -> None:
    row = index_one(letter(1))
    index([letter(2)])
    chosen = frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)
    DeadLetter.objects.filter(pk=row.pk).update(failed_at=NOW - timedelta(days=90))
    replay = plan(operator, chosen=chosen)
    assert (levels(replay)["Selection drifted"], replay.plan["runnable"]) == ("stop", False)


def test_a_record_that_was_sent_is_left_out_and_by_whom_is_said(operator: User) -> None:
    index([letter(1)])
    first = plan(operator)
    sent(first)
    index([letter(2)])
    second = plan(operator)
    assert reasons(second) == ["already_sent", ""]
    assert second.plan["skipped"] == [
        {
            "reason": "already_sent",
            "count": 1,
            "text": (
                f"1 of 2 were sent before, or are part of a running replay: 1 sent by {first} (operator-1, 21 "
                "Nov 03:12 UTC)"
            ),
            "replays": [first.pk],
        }
    ]
    by = f"1 sent by {first} (operator-1, 21 Nov 03:12 UTC)"
    assert check(second, "Sent before") == f"1 of 2 records left out: {by}."
    assert check(first, "Not sent before") == "1 record to send, none of them sent by another replay."


@pytest.mark.parametrize(
    ("state", "resend", "reason"),
    [
        (ItemState.PASSED, False, "already_sent"),
        (ItemState.UNKNOWN, False, "already_sent"),
        (ItemState.SENT, True, "already_sent"),
        (ItemState.QUEUED, True, "already_sent"),
        (ItemState.PASSED, True, ""),
        (ItemState.FAILED_AGAIN, False, ""),
        (ItemState.SKIPPED, False, ""),
    ],
)
def test_a_second_send_needs_to_be_asked_for_unless_the_first_failed(
    operator: User, state: ItemState, resend: bool, reason: str
) -> None:
    index([letter(1)])
    sent(plan(operator), state)
    assert reasons(plan(operator, resend=resend)) == [reason]


def test_the_tries_of_a_record_are_counted_over_its_replays(operator: User) -> None:
    index([letter(1)])
    for tries in (1, 2, 3):
        again = plan(operator, resend=True)
        assert again.items.get().attempt == tries
        sent(again, ItemState.FAILED_AGAIN)


def test_a_dead_letter_that_names_the_item_is_the_same_record_though_its_place_was_lost(operator: User) -> None:
    first_letter = index_one(letter(1))
    item = sent(plan(operator), ItemState.FAILED_AGAIN)
    ReplayItem.objects.update(sent_partition=None, sent_offset=None)
    again = index_one(letter(2, headers=(("dlq.replay.item", item.token.encode()), ("dlq.replay.attempt", b"1"))))
    replay = plan(operator)
    lineages = dict(replay.items.values_list("dead_letter_id", "lineage"))
    assert lineages == {first_letter.pk: item.lineage, again.pk: item.lineage}
    assert reasons(replay) == ["same_lineage", ""]


def test_a_plan_of_open_work_sends_as_many_records_as_are_open(operator: User) -> None:
    index([letter(number) for number in range(4)])
    items = list(plan(operator).items.order_by("ordinal"))
    ReplayItem.objects.update(state=ItemState.SENT, sent_at=NOW)
    Replay.objects.update(started_by=operator, status="watching")
    LedgerEntry.objects.bulk_create(
        LedgerEntry(lineage=item.lineage, target_topic=item.target_topic, item=item) for item in items
    )
    again = index_one(
        letter(9, headers=(("dlq.replay.item", items[0].token.encode()), ("dlq.replay.attempt", b"1")), message="again")
    )
    item_states.move([items[0]], ItemState.SENT, ItemState.FAILED_AGAIN, LATER, refailure=again)
    item_states.move([items[1]], ItemState.SENT, ItemState.FAILED_AGAIN, LATER)  # skipped, without a dead letter
    item_states.move([items[2]], ItemState.SENT, ItemState.PASSED, LATER)
    item_states.in_step(DeadLetter.objects.filter(pk=items[3].dead_letter_id))  # waits for its outcome
    chosen = frozen_selections.by_filter(f"{WEEK}&q=work:open", operator, RequestKey(), LATER)
    replay = plan(operator, chosen=chosen)
    assert reasons(replay) == ["", ""]
    work = open_work.summary(LATER)
    assert (work.open, work.replaying, work.passed, work.set_aside) == (2, 1, 1, 1)


def test_a_dead_letter_of_the_place_where_a_record_was_sent_is_of_its_lineage(operator: User) -> None:
    index([letter(1)])
    item = sent(plan(operator), ItemState.FAILED_AGAIN)
    ReplayItem.objects.filter(pk=item.pk).update(sent_partition=0, sent_offset=48_002)
    again = index_one(letter(2))
    assert plan(operator).items.get(dead_letter=again).lineage == item.lineage


def test_what_can_t_be_sent_is_skipped_with_its_reason(operator: User) -> None:
    index([letter(1), letter(2, value=b"x" * 3000), plain(0, b"?")])
    gone = index_one(letter(3))
    DeadLetter.objects.filter(pk=gone.pk).update(original="expired")
    replay = plan(operator, FakeCluster(limit=2000))
    assert sorted(reasons(replay)) == ["", "expired", "no_target", "oversize"]
    assert (replay.plan["to_send"], replay.plan["runnable"]) == (1, True)
    assert replay.items.exclude(reason="").filter(state="skipped").count() == 3


def test_a_missing_target_leaves_nothing_to_send(operator: User) -> None:
    index([letter(1)])
    replay = plan(operator, target_topic="no.such")
    assert (reasons(replay), levels(replay)["Nothing to send"]) == (["no_target"], "stop")
    assert replay.plan["targets"][0]["exists"] is False


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("__consumer_offsets", "is Kafka's own"),
        ("connect-configs", "is the engine's own"),
        ("connect-status", "is the engine's own"),
        ("connect-offsets", "is the engine's own"),
        ("connect-outcomes", "is the engine's own"),
        ("usgs.earthquakes.dlq", "is a dead letter topic"),
        ("errors.of.a.connector", "is a dead letter topic"),
        ("once.indexed", "is a dead letter topic"),
    ],
)
def test_no_replay_writes_where_others_keep_their_own(
    operator: User, connectors: FakeEngine, topic: str, why: str
) -> None:
    connectors.add("quake-map", {"topics": "maps", DEAD_LETTERS: "errors.of.a.connector"})
    IndexPosition.objects.create(cluster="local", topic="once.indexed", partition=0, updated_at=NOW)
    index([letter(1)])
    replay = plan(operator, FakeCluster(**{topic: 1}), target_topic=topic)
    assert (reasons(replay), replay.plan["runnable"]) == (["forbidden_target"], False)
    assert check(replay, f"Target {topic}") == f"{topic} {why}, so replays can't write to it; 1 record left out."
    assert forbidden(topic, by_name(topic)) == why


def test_one_record_of_a_forbidden_topic_is_left_out_and_the_others_are_sent(operator: User) -> None:
    index([letter(1), letter(2)])
    DeadLetter.objects.filter(offset=1).update(origin_topic="usgs.earthquakes.dlq")
    replay = plan(operator)
    assert (reasons(replay), replay.plan["runnable"]) == (["forbidden_target", ""], True)
    assert forbidden("usgs.earthquakes", None) == ""


@pytest.mark.parametrize(
    ("config", "state", "said"),
    [
        (
            {"topics": "other"},
            "RUNNING",
            "No connector of the engine reads usgs.earthquakes, so 1 record will be unknown(no_group)",
        ),
        (
            {
                "topics": "usgs.earthquakes",
                DEAD_LETTERS: "usgs.earthquakes.dlq",
                "errors.deadletterqueue.producer.bootstrap.servers": "elsewhere:9092",
            },
            "RUNNING",
            "usgs.earthquakes.dlq on another cluster, so outcomes will be unknown(no_dead_letter_path)",
        ),
        (
            {"topics": "usgs.earthquakes", DEAD_LETTERS: "usgs.earthquakes.dlq"},
            "FAILED",
            "usgs-to-sql has failed, so outcomes will be unknown(group_empty)",
        ),
        (
            {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "elsewhere"},
            "RUNNING",
            "elsewhere, which is not indexed, so outcomes will be unknown(no_dead_letter_path)",
        ),
        (
            {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"},
            "PAUSED",
            "usgs-to-sql is paused, so outcomes will be unknown(group_empty)",
        ),
    ],
)
def test_why_an_outcome_will_be_unknown_is_said_before(
    operator: User, connectors: FakeEngine, config: dict[str, str], state: str, said: str
) -> None:
    connectors.add("usgs-to-sql", config, state=state)
    index([letter(1)])
    warned = [row["text"] for row in plan(operator).plan["checks"] if row["level"] == "warn"]
    assert any(said in text for text in warned), warned


def test_a_connector_without_dead_letters_can_be_watched(operator: User, connectors: FakeEngine) -> None:
    connectors.add("usgs-to-sql", {"topics": "usgs.earthquakes"})
    index([letter(1)])
    replay = plan(operator)
    said = "usgs-to-sql: running, lag unknown; it writes no dead letters and reports skipped records."
    assert (check(replay, "Outcome can be proven"), levels(replay)["Outcome can be proven"]) == (said, "ok")


def test_another_connector_that_reads_the_topic_is_named(operator: User, connectors: FakeEngine) -> None:
    connectors.add("quake-map", {"topics": "usgs.earthquakes"})
    index([letter(1)])
    replay = plan(operator)
    assert replay.plan["targets"][0]["also_read_by"] == ["quake-map"]
    text = "quake-map will read 1 record again. Its outcomes are watched too."
    assert check(replay, "Another connector reads this topic") == text


def test_the_bytes_of_a_draft_are_frozen_with_the_plan(operator: User) -> None:
    row = index_one(letter(1))
    kept = drafts.save(row, operator, DraftChange(value=b"first"), None, NOW)
    replay = plan(operator)
    drafts.save(row, operator, DraftChange(value=b"second"), kept.updated_at, LATER)
    item = replay.items.get()
    assert (item.edited, bytes(item.payload.value or b""), item.target_partition) == (True, b"first", 0)
    assert replay.plan["edited"] == 1


def test_of_several_dead_letters_of_a_record_the_edited_one_is_sent(operator: User) -> None:
    older = index_one(letter(1))
    newer = index_one(letter(2))
    DeadLetter.objects.filter(pk=newer.pk).update(origin_offset=older.origin_offset)
    drafts.save(older, operator, DraftChange(value=b"fixed"), None, NOW)
    replay = plan(operator)
    left_out = replay.items.get(dead_letter=newer)
    assert (replay.plan["edited"], left_out.reason) == (1, "same_lineage")
    assert left_out.evidence == f"{older} is the same record, as edited"


def test_a_draft_that_changes_nothing_is_no_edit(operator: User) -> None:
    row = index_one(letter(1))
    drafts.save(row, operator, DraftChange(), None, NOW)
    assert not plan(operator).items.get().edited


def test_drafts_are_used_only_when_wanted_and_only_one_s_own(operator: User, viewer: User) -> None:
    row = index_one(letter(1))
    drafts.save(row, viewer, DraftChange(value=b"not mine"), None, NOW)
    assert not plan(operator).items.get().edited
    drafts.save(row, operator, DraftChange(value=b"mine"), None, NOW)
    assert not plan(operator, use_fixes=False).items.get().edited


def test_an_edited_key_decides_the_partition(operator: User) -> None:
    row = index_one(letter(1))
    drafts.save(row, operator, DraftChange(key=b"other"), None, NOW)
    assert plan(operator).items.get().target_partition is None


def test_a_tombstone_is_pointed_out(operator: User) -> None:
    index([letter(1, value=None)])
    assert levels(plan(operator))["Tombstones"] == "warn"


def test_the_digest_of_a_plan_names_its_bytes(operator: User) -> None:
    row = index_one(letter(1))
    before = plan(operator).plan["digest"]
    assert plan(operator).plan["digest"] == before
    assert plan(operator, resend=True).plan["digest"] != before
    drafts.save(row, operator, DraftChange(value=b"x"), None, NOW)
    assert plan(operator).plan["digest"] != before


@pytest.mark.parametrize(
    ("value", "reason"), [(b'{"ssn": "***4711"}', "masked"), (b'{"ssn": "real"}', ""), (b'{"a": "***"}', "")]
)
def test_a_draft_with_the_text_of_a_mask_is_never_sent(operator: User, value: bytes, reason: str) -> None:
    MaskingRule.objects.create(
        topics=["usgs.*"], kind="json path", field="$.ssn", show="last four", created_at=NOW, changed_at=NOW
    )
    row = index_one(letter(1, value=b'{"ssn": "Zx9secret4711"}'))
    drafts.save(row, operator, DraftChange(value=value), None, NOW)
    replay = plan(operator)
    assert reasons(replay) == [reason]
    assert ("Masks in drafts" in levels(replay)) is bool(reason)
