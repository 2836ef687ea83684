"""Which item may send a lineage to a topic: one at a time, and once, unless it is known to have failed again."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Concat

from dlqadmin.replays.models import ItemState, LedgerEntry, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.parts import parts

Pair = tuple[str, str]  # lineage, target topic
# Items that hold no claim any more: a later one may take their place without being asked for.
FREE = (ItemState.FAILED_AGAIN, ItemState.SKIPPED, ItemState.PLANNED)
ALL = range(2**31 - 1)  # the ordinals of a replay
# Items whose record went out: only a person who says "send again" may take their place.
SENT_FOR_GOOD = (ItemState.PASSED, ItemState.UNKNOWN)

# Both in one order for all, so that two who claim wait for each other and don't lock.
_CLAIM = """
    INSERT INTO {ledger} (lineage, target_topic, item_id)
    SELECT lineage, %s || target_topic, id FROM {items}
    WHERE replay_id = %s AND state = 'queued' AND ordinal >= %s AND ordinal < %s
    ORDER BY lineage, target_topic, ordinal
    ON CONFLICT DO NOTHING
"""
# Once a row was waited for, its own columns alone are looked at again: it must still be of the owner that was free.
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
    """The items that hold these pairs; pairs that nobody ever sent are left out."""
    wanted = sorted(set(pairs))
    found: dict[Pair, ReplayItem] = {}
    for part in parts(wanted):
        entries = LedgerEntry.objects.filter(
            lineage__in={lineage for lineage, _ in part}, target_topic__in={topic for _, topic in part}
        ).select_related("item__replay__started_by", "item__dead_letter")
        found |= {(entry.lineage, entry.target_topic): entry.item for entry in entries}
    return {pair: found[pair] for pair in wanted if pair in found}


def to_claim(lineages: Iterable[str], cluster: str) -> dict[Pair, Replay]:
    """The replays that were run, and claim these lineages as soon as they have come so far.

    Topics are named as in their items; `cluster` is where they write, empty for the own one.
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
    # By the lineage alone: a database that is asked for the replays' items, too, may read all that they have planned.
    found = ReplayItem.objects.filter(lineage__in=lineages).order_by("-replay")  # of several the oldest stays
    return {
        (lineage, topic): replays[replay]
        for lineage, topic, replay, state in found.values_list("lineage", "target_topic", "replay", "state")
        if replay in replays and state == ItemState.PLANNED
    }


def name_of(topic: str, cluster: str) -> str:
    """What the ledger calls a topic, on another cluster if it has a name."""
    return f"{cluster}/{topic}" if cluster else topic


def is_free(owner: ReplayItem, *, resend: bool) -> bool:
    """May another item take this one's place?"""
    return owner.state in free(resend=resend)


def free(*, resend: bool) -> tuple[ItemState, ...]:
    """The states of items whose place another one may take."""
    return (*FREE, *SENT_FOR_GOOD) if resend else FREE


def claim(replay: Replay, *, resend: bool, ordinals: range = ALL, most: int = ALL.stop) -> int:
    """Claim the pair of each queued item of these ordinals, inside the caller's transaction; how many it got.

    They are `most`, or fewer. A pair that another replay holds stays with it, unless that one's item is free; of two
    alike one gets it.
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
    """What others hold of what this replay is still to send, and don't give up."""
    own = ReplayItem.objects.annotate(pair=Concat(Value(_prefix(replay)), "target_topic")).filter(
        replay=replay, state__in=(ItemState.PLANNED, ItemState.QUEUED),
        lineage=OuterRef("lineage"), pair=OuterRef("target_topic"),
    )  # fmt: skip
    held = LedgerEntry.objects.filter(Exists(own)).exclude(item__replay=replay)
    return held.exclude(item__state__in=free(resend=replay.resend))


def without_claim(items: QuerySet[ReplayItem]) -> QuerySet[ReplayItem]:
    """Those whose pair somebody else holds."""
    return items.filter(~Exists(LedgerEntry.objects.filter(item=OuterRef("pk"))))


def holders(held: QuerySet[LedgerEntry], most: int) -> list[Replay]:
    """The replays that hold these, the first of them."""
    rows = Replay.objects.filter(pk__in=held.values("item__replay")).select_related("started_by")
    return list(rows.order_by("pk")[:most])


def release(items: QuerySet[ReplayItem]) -> None:
    """Give up the pairs of items that were never sent, to those that sent them before if there are any."""
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
    """Before the name of a topic on another cluster."""
    return name_of("", replay.target_cluster)
