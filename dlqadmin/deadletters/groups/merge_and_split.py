"""Merge and split groups. Only the links from fingerprints to groups move, so each can be undone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.deadletters.group_states import DECIDED
from dlqadmin.deadletters.groups.triage import lock_groups, record_action, text_with_reason
from dlqadmin.deadletters.index.column_values import clean
from dlqadmin.deadletters.index.group_links import lock_links, time_span
from dlqadmin.deadletters.index.group_titles import title
from dlqadmin.deadletters.models import Fingerprint, Group, Regrouping, RegroupingMove
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.teams.reach import EVERYTHING, reaching

MERGE, SPLIT = Regrouping.Kind.MERGE, Regrouping.Kind.SPLIT


@reaching(EVERYTHING)  # merged groups have no fingerprints, so no reach has them
def merge(into: int, others: Collection[int], actor: User, reason: str, now: datetime) -> Regrouping:
    """Merge other groups into one, which keeps its title, status and owner.

    Raises StateConflict if the groups have different statuses, or if somebody regroups them at the same time.
    """
    sources = sorted(set(others) - {into})
    if not sources:
        raise ParameterError("groups", "needs two groups or more")
    with transaction.atomic():
        arrow, groups = _lock_groups(sources, into)
        if len({row.status for row in groups.values()}) > 1:
            raise StateConflict(
                "These groups have different statuses. Give them the same status first, then merge them."
            )
        done = _create_regrouping(MERGE, actor, reason, now)
        _move(done, arrow, dict.fromkeys(arrow, into))
        target = groups[into]
        Group.objects.filter(pk__in=sources).update(merged_into=target)
        target.first_seen = min(row.first_seen for row in groups.values())
        target.last_seen = max(row.last_seen for row in groups.values())
        target.save(update_fields=["first_seen", "last_seen"])
        titles = ", ".join(f"{groups[pk].title} (group {pk})" for pk in sources)
        record_action([into], actor, "merged", text_with_reason(f"merged {titles} into this group", reason), now)
        record_action(
            sources, actor, "merged", text_with_reason(f"merged into {target.title} (group {into})", reason), now
        )
    return done


def first_seen(groups: Collection[int]) -> int:
    """Return the group that failed first.

    If none exists, it returns any of the ids, which the merge then refuses.
    """
    found = Group.objects.filter(pk__in=groups).order_by("first_seen", "pk").values_list("pk", flat=True).first()
    return found or min(groups)


@reaching(EVERYTHING)  # merged groups have no fingerprints, so no reach has them
def split(group: int, fingerprints: Collection[int], actor: User, reason: str, now: datetime) -> Regrouping:
    """Move some fingerprints to a new group, which gets the old group's status and owner.

    Raises ParameterError if they do not belong to this group, or if none would be left in it.
    """
    chosen = sorted(set(fingerprints))
    with transaction.atomic():
        arrow, groups = _lock_groups([group])
        if not chosen or not arrow.keys() >= set(chosen):
            raise ParameterError("fingerprints", "contains a fingerprint of another group")
        if len(chosen) == len(arrow):
            raise ParameterError("fingerprints", "must leave at least one fingerprint in the group")
        source = groups[group]
        new = _new_group(chosen, source)
        _move(
            done := _create_regrouping(SPLIT, actor, reason, now),
            dict.fromkeys(chosen, group),
            dict.fromkeys(chosen, new.pk),
        )
        _update_time_span([group])
        record_action([group], actor, "split", text_with_reason(f"split off {new.title} (group {new.pk})", reason), now)
        record_action(
            [new.pk], actor, "split", text_with_reason(f"split off from {source.title} (group {group})", reason), now
        )
    return done


@reaching(EVERYTHING)  # merged groups have no fingerprints, so no reach has them
def undo(pk: int, actor: User, now: datetime) -> Regrouping:
    """Move every fingerprint back to its former group.

    Raises StateConflict if the regrouping is already undone, or if a later regrouping builds on it.
    """
    moves = list(RegroupingMove.objects.filter(regrouping_id=pk).order_by("fingerprint_id"))
    with transaction.atomic():
        arrow = lock_links([move.fingerprint_id for move in moves])
        done = Regrouping.objects.select_for_update().get(pk=pk)
        involved = sorted({group for move in moves for group in (move.from_group_id, move.to_group_id)})
        groups = {row.pk: row for row in Group.objects.select_for_update().filter(pk__in=involved).order_by("pk")}
        if done.undone_at is not None:
            raise StateConflict("This merge or split is already undone.")
        if not _can_undo(done, moves, arrow, groups):
            raise StateConflict("Some of these fingerprints were merged or split again later. Undo that first.")
        done.undone_at = now
        done.save(update_fields=["undone_at"])
        _move_back(done, moves, groups)
        _update_time_span(involved)
        record_action(involved, actor, "undone", f"undid the {done.kind} of {done.at:%d %b %Y %H:%M} UTC", now)
    return done


def _lock_groups(sources: Sequence[int], into: int | None = None) -> tuple[dict[int, int], dict[int, Group]]:
    """Return the links to the source groups, and all groups of the change. All stay locked until the commit."""
    known = _fingerprint_ids(sources)
    arrow = lock_links(known)
    groups = {row.pk: row for row in lock_groups([*sources, *([into] if into else [])])}
    # Another regrouping may have changed the links between the read and the lock.
    if _fingerprint_ids(sources) != known:
        raise StateConflict("Another person regrouped these fingerprints at the same time. Reload the page.")
    return arrow, groups


def _create_regrouping(kind: Regrouping.Kind, actor: User, reason: str, now: datetime) -> Regrouping:
    return Regrouping.objects.create(kind=kind, at=now, actor=actor.get_username(), reason=reason)


def _move(done: Regrouping, arrow: Mapping[int, int], to: Mapping[int, int]) -> None:
    """Change the links, and record the former groups."""
    RegroupingMove.objects.bulk_create(
        RegroupingMove(regrouping=done, fingerprint_id=pk, from_group_id=arrow[pk], to_group_id=to[pk]) for pk in to
    )
    _set_links(to)


def _move_back(done: Regrouping, moves: Sequence[RegroupingMove], groups: Mapping[int, Group]) -> None:
    """Restore the links. A group without links then points to the group that has its records."""
    _set_links({move.fingerprint_id: move.from_group_id for move in moves})
    back = {move.from_group_id: move.to_group_id for move in moves}
    for home, other in back.items():
        Group.objects.filter(pk=home).update(merged_into=None)
        if done.kind == MERGE:
            _copy_decisions(groups[home], groups[other], done.at)
        elif not _fingerprint_ids([other]):
            Group.objects.filter(pk=other).update(merged_into=home)
    # The exception rolls back the undo, because the group would have no fingerprints left.
    if done.kind == MERGE and not _fingerprint_ids(set(back.values())):
        raise StateConflict(
            "The group would be left empty, because its own fingerprints were split off later. Undo that split first."
        )


def _can_undo(
    done: Regrouping, moves: Sequence[RegroupingMove], arrow: Mapping[int, int], groups: Mapping[int, Group]
) -> bool:
    """Return whether all links are still as the regrouping left them."""
    return all(
        arrow[move.fingerprint_id] == move.to_group_id
        and groups[move.from_group_id].merged_into_id == (move.to_group_id if done.kind == MERGE else None)
        for move in moves
    )


def _copy_decisions(group: Group, whole: Group, since: datetime) -> None:
    """Copy decisions made about the merged group since the merge to a group that leaves it.

    Without such decisions the group keeps the state that it had.
    """
    regressed = whole.regressed_at is not None and whole.regressed_at > since
    if group.status == whole.status and not regressed:
        return
    for name in DECIDED:
        setattr(group, name, getattr(whole, name))
    group.save(update_fields=DECIDED)


def _new_group(fingerprints: Sequence[int], like: Group) -> Group:
    row = Fingerprint.objects.get(pk=fingerprints[0])
    first, last = time_span(fingerprints) or (like.first_seen, like.last_seen)
    return Group.objects.create(
        title=clean(title(row.exception_class, row.message, row.reason), 200),
        first_seen=first,
        last_seen=last,
        owner_id=like.owner_id,
        team_id=like.team_id,
        **{name: getattr(like, name) for name in DECIDED},
    )


def _set_links(to: Mapping[int, int]) -> None:
    for group in sorted(set(to.values())):
        Fingerprint.objects.filter(pk__in=[pk for pk, at in to.items() if at == group]).update(group_id=group)


def _update_time_span(groups: Iterable[int]) -> None:
    """Set the times of the groups' first and last failure from their present fingerprints."""
    for group in groups:
        if found := time_span(_fingerprint_ids([group])):
            Group.objects.filter(pk=group).update(first_seen=found[0], last_seen=found[1])


def _fingerprint_ids(groups: Collection[int]) -> list[int]:
    return list(Fingerprint.objects.filter(group_id__in=groups).order_by("pk").values_list("pk", flat=True))
