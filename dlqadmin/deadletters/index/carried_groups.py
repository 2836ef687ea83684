"""Groups that a new fingerprint continues, because a former fingerprint grouped the same failures.

The first fingerprint that continues a group joins it. Each further one is split off with the decisions about the
group, so no mute, resolution or owner is lost, and the split can be undone. A group that people merged stays whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from dlqadmin.deadletters.group_states import DECIDED
from dlqadmin.deadletters.index.column_values import clean
from dlqadmin.deadletters.index.fingerprint import MAX_MESSAGE, VERSION, ComputedFingerprint, digest_of
from dlqadmin.deadletters.index.former_fingerprints import former_digests
from dlqadmin.deadletters.index.group_links import lock_links
from dlqadmin.deadletters.index.parsed_message import ParsedMessage
from dlqadmin.deadletters.models import Fingerprint, Group, GroupActivity, Regrouping, RegroupingMove

INDEXER = "indexer"
WHY = "the fingerprints now tell these causes apart"


def lock_former_groups(new: Mapping[str, ParsedMessage], known: Collection[int]) -> dict[str, int]:
    """Return the former group of each new digest that has one. The groups stay locked until the commit.

    `known` are the other fingerprints of the batch. Their links and groups are locked too, because all links
    of a transaction must be locked in one order, and before its groups.
    """
    wanted = {digest: _former(item) for digest, item in new.items()}
    rows = Fingerprint.objects.filter(digest__in={former for some in wanted.values() for former in some})
    found = dict(rows.values_list("digest", "pk"))
    if not found:
        return {}
    links = lock_links(sorted({*known, *found.values()}))
    # Evaluated for its locks.
    list(Group.objects.select_for_update().filter(pk__in=set(links.values())).order_by("pk").values_list("pk"))
    former = {digest: next((found[one] for one in some if one in found), None) for digest, some in wanted.items()}
    return {digest: links[pk] for digest, pk in former.items() if pk is not None}


def continues_whole(group: Group, why: ComputedFingerprint) -> bool:
    """Return whether the fingerprint joins the group: it is the first to do so, or people merged the group."""
    others = group.fingerprints.filter(digest__startswith=f"{VERSION}:")
    if why.origin:
        others = others.exclude(origin="")
    if not others.exists():
        return True
    merges = RegroupingMove.objects.filter(regrouping__kind=Regrouping.Kind.MERGE, regrouping__undone_at=None)
    return merges.filter(to_group=group).exists()


def split_off(former: Group, title: str) -> Group:
    """Create a group with the decisions about the former group. It is no new failure, so it has its first time."""
    return Group.objects.create(
        title=title,
        first_seen=former.first_seen,
        last_seen=former.last_seen,
        owner_id=former.owner_id,
        team_id=former.team_id,
        **{name: getattr(former, name) for name in DECIDED},
    )


def record_split(former: Group, group: Group, fingerprint: Fingerprint, now: datetime) -> None:
    """Record the split in the history of both groups, so that people can undo it."""
    done = Regrouping.objects.create(kind=Regrouping.Kind.SPLIT, at=now, actor=INDEXER, reason=WHY)
    RegroupingMove.objects.create(regrouping=done, fingerprint=fingerprint, from_group=former, to_group=group)
    _note(former, f"split off {group.title} (group {group.pk}): {WHY}", now)
    _note(group, f"split off from {former.title} (group {former.pk}), which has the earlier notes: {WHY}", now)


def rename(group: Group, title: str, now: datetime) -> None:
    """Give the group the title of the fingerprint that continues it, unless people merged others into it."""
    if title == group.title or group.fingerprints.count() > 1:
        return
    _note(group, f"renamed from {group.title}: {WHY}", now)
    group.title = title
    group.save(update_fields=["title"])


def _former(item: ParsedMessage) -> Iterable[str]:
    """Return the digests that this failure had, newest first: without its origin, and of former versions."""
    why = item.fingerprint
    without_origin = [digest_of(why, "")] if why.origin else []
    message = clean(item.facts.root_message, MAX_MESSAGE)
    return [*without_origin, *former_digests(why.exception_class, why.stage, message, why.frame)]


def _note(group: Group, text: str, now: datetime) -> None:
    GroupActivity.objects.create(group=group, at=now, actor=INDEXER, kind="split", text=text)
