"""Claims that let one item at a time send a lineage to a topic.

A lineage is sent once to a topic, unless it is known to have failed again.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Concat

from dlqadmin.replays.batches import parts
from dlqadmin.replays.models import ItemState, LedgerEntry, Replay, ReplayItem, ReplayStatus

Pair = tuple[str, str]  # lineage, target topic
# Items that hold no claim any more. A later item may take their claim without a person's consent.
FREE = (ItemState.FAILED_AGAIN, ItemState.SKIPPED, ItemState.PLANNED)
ALL = range(2**31 - 1)  # the ordinals of a replay
# Items whose record was sent. A later item takes their claim only if a person chose to send again.
SENT_FOR_GOOD = (ItemState.PASSED, ItemState.UNKNOWN)

# All transactions insert in the same order, so two that claim wait for each other and do not deadlock.
_CLAIM = """
    INSERT INTO {ledger} (lineage, target_topic, item_id)
    SELECT lineage, %s || target_topic, id FROM {items}
    WHERE replay_id = %s AND state = 'queued' AND ordinal >= %s AND ordinal < %s
    ORDER BY lineage, target_topic, ordinal
    ON CONFLICT DO NOTHING
"""
# After a lock wait, PostgreSQL checks only the locked row's own columns again. The join on held.item_id makes sure that
# the row still belongs to the free owner.
_TAKE_OVER = """
    UPDATE {ledger} SET item_id = free.mine FROM (
        SELECT held.id, mine.id AS mine
        FROM {items} AS mine
        JOIN {ledger} AS held ON held.lineage = mine.lineage AND held.target_topic = %s || mine.target_topic
        JOIN {items} AS owner ON owner.id = held.item_id AND owner.replay_id <> mine.replay_id
        WHERE mine.replay_id = %s AND mine.state = 'queued' AND mine.ordinal >= %s AND mine.ordinal < %s
        AND owner.state IN ({states})
        ORDER BY held.lineage, held.target_topic {lock}
    ) AS free
    WHERE {ledger}.id = free.id
"""
_GIVE_BACK = """
    UPDATE {ledger} SET item_id = earlier.item FROM (
        SELECT held.id, (
            SELECT sent.id FROM {items} AS sent JOIN {replays} AS theirs ON theirs.id = sent.replay_id
            WHERE sent.lineage = own.lineage AND sent.target_topic = own.target_topic AND sent.sent_at IS NOT NULL
            AND theirs.target_cluster = ours.target_cluster
            ORDER BY sent.sent_at DESC, sent.id DESC LIMIT 1
        ) AS item
        FROM {ledger} AS held
        JOIN {items} AS own ON own.id = held.item_id
        JOIN {replays} AS ours ON ours.id = own.replay_id
        WHERE own.id IN ({which})
    ) AS earlier
    WHERE {ledger}.id = earlier.id AND earlier.item IS NOT NULL
"""
_GIVE_UP = "DELETE FROM {ledger} WHERE item_id IN ({which})"


def owners(pairs: Iterable[Pair]) -> dict[Pair, ReplayItem]:
    """Return the items that hold these claims. Unclaimed pairs are left out."""
    wanted = sorted(set(pairs))
    found: dict[Pair, ReplayItem] = {}
    for part in parts(wanted):
        entries = LedgerEntry.objects.filter(
            lineage__in={lineage for lineage, _ in part}, target_topic__in={topic for _, topic in part}
        ).select_related("item__replay__started_by", "item__dead_letter")
        found |= {(entry.lineage, entry.target_topic): entry.item for entry in entries}
    return {pair: found[pair] for pair in wanted if pair in found}


def to_claim(lineages: Iterable[str], cluster: str) -> dict[Pair, Replay]:
    """Return the started replays that will claim these lineages when they reach them.

    The keys contain the target topics as their items name them. `cluster` is the replays' target cluster, "" for the
    dashboard's own.
    """
    under_way = Replay.objects.filter(
        status__in=(ReplayStatus.RUNNING, ReplayStatus.PAUSED),
        target_cluster=cluster,
        counts__state=ItemState.PLANNED,
        counts__n__gt=0,
    )
    replays = {replay.pk: replay for replay in under_way.select_related("started_by")}
    if not replays:
        return {}
    # Filter by lineage only. With a filter by replay, the database may choose to read all planned items of these
    # replays.
    found = ReplayItem.objects.filter(lineage__in=lineages).order_by("-replay")  # of several the oldest stays
    return {
        (lineage, topic): replays[replay]
        for lineage, topic, replay, state in found.values_list("lineage", "target_topic", "replay", "state")
        if replay in replays and state == ItemState.PLANNED
    }


def name_of(topic: str, cluster: str) -> str:
    """Return the ledger's name of a topic, with the cluster if it is another one."""
    return f"{cluster}/{topic}" if cluster else topic


def is_free(owner: ReplayItem, *, resend: bool) -> bool:
    """Return whether another item may take this item's claim."""
    return owner.state in free(resend=resend)


def free(*, resend: bool) -> tuple[ItemState, ...]:
    """Return the states in which items lose their claim to another item."""
    return (*FREE, *SENT_FOR_GOOD) if resend else FREE


def claim(replay: Replay, *, resend: bool, ordinals: range = ALL, most: int = ALL.stop) -> int:
    """Claim the pairs of the queued items with these ordinals. Return the number of claims.

    Runs in the caller's transaction. `most` is the number of queued items, so nothing more is tried once all are
    claimed. A pair that another replay holds stays with it, unless that item is free. If two items have the same pair,
    one of them gets it.
    """
    states = free(resend=resend)
    names = {
        **_tables(),
        "states": ", ".join(["%s"] * len(states)),
        "lock": "FOR UPDATE OF held" if connection.features.has_select_for_update_of else "",
    }
    which = (_prefix(replay), replay.pk, ordinals.start, ordinals.stop)
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM.format(**names), which)
        claimed: int = cursor.rowcount
        if claimed < most:
            cursor.execute(_TAKE_OVER.format(**names), (*which, *states))
            claimed += cursor.rowcount
        return claimed


def taken(replay: Replay) -> QuerySet[LedgerEntry]:
    """Return the claims of other replays on what this replay has still to send.

    Claims that another replay may take over are left out.
    """
    own = ReplayItem.objects.annotate(pair=Concat(Value(_prefix(replay)), "target_topic")).filter(
        replay=replay, state__in=(ItemState.PLANNED, ItemState.QUEUED),
        lineage=OuterRef("lineage"), pair=OuterRef("target_topic"),
    )  # fmt: skip
    held = LedgerEntry.objects.filter(Exists(own)).exclude(item__replay=replay)
    return held.exclude(item__state__in=free(resend=replay.resend))


def without_claim(items: QuerySet[ReplayItem]) -> QuerySet[ReplayItem]:
    """Return the items whose pair is claimed by another item."""
    return items.filter(~Exists(LedgerEntry.objects.filter(item=OuterRef("pk"))))


def holders(held: QuerySet[LedgerEntry], most: int) -> list[Replay]:
    """Return the first `most` replays that hold these claims."""
    rows = Replay.objects.filter(pk__in=held.values("item__replay")).select_related("started_by")
    return list(rows.order_by("pk")[:most])


def release(items: QuerySet[ReplayItem]) -> None:
    """Release the claims of items that were never sent.

    A claim goes back to the last item that did send the lineage to the topic, if there is one.
    """
    which, params = items.order_by().values("pk").query.sql_with_params()
    names = {**_tables(), "which": which}
    with connection.cursor() as cursor:
        cursor.execute(_GIVE_BACK.format(**names), params)
        cursor.execute(_GIVE_UP.format(**names), params)


def _tables() -> dict[str, str]:
    return {
        "ledger": LedgerEntry._meta.db_table,
        "items": ReplayItem._meta.db_table,
        "replays": Replay._meta.db_table,
    }


def _prefix(replay: Replay) -> str:
    """Return the ledger's prefix for topics of the replay's target cluster."""
    return name_of("", replay.target_cluster)
