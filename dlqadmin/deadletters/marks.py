"""What replays made of dead letters: read beside them, and written in sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from dlqadmin.deadletters.models import DeadLetter, ReplayMark, ReplayState

MARK = "replay_state"  # as filters, facets and files call it
# The state of a dead letter, in a query of them; one that has no mark has the state "none".
STATE = Coalesce("mark__state", Value(ReplayState.NONE.value))
# The same, looked up for each: where few are written, a join would read the marks of all.
_EACH = Coalesce(
    Subquery(ReplayMark.objects.filter(dead_letter=OuterRef("pk")).values("state")), Value(ReplayState.NONE.value)
)
_ONWARD = (
    *(ReplayState.QUEUED, ReplayState.SENT, ReplayState.UNKNOWN, ReplayState.PASSED, ReplayState.FAILED_AGAIN),
    *(ReplayState.DISCARDED, ReplayState.PARKED, ReplayState.HANDLED),
)
# By id, for all alike: two who write wait for each other. What stays as it is is not touched.
_SHOW = """
    INSERT INTO {marks} (dead_letter_id, state, failed_at)
    SELECT id, wanted, failed_at FROM ({found}) AS found {which}
    ON CONFLICT (dead_letter_id) DO UPDATE SET state = excluded.state
"""


def marked(values: Sequence[str]) -> Q:
    """Any of these states."""
    condition = Q(mark__state__in=[value for value in values if value != ReplayState.NONE])
    return condition | Q(mark__isnull=True) if ReplayState.NONE in values else condition


def states(include: Mapping[str, Sequence[str]], exclude: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The states that are wanted, each of which the marks' index finds in order; None where "none" is one of them.

    In the order in which a record goes through them: read one after the other, one that goes on meanwhile is found.
    """
    wanted = set(include.get(MARK, ReplayState.values)) - set(exclude.get(MARK, ()))
    return None if ReplayState.NONE in wanted else [state.value for state in _ONWARD if state in wanted]


@transaction.atomic
def show(rows: QuerySet[DeadLetter], state: Case | Coalesce | Value, *, held: bool = False) -> int:
    """Let the marks of these dead letters say `state`, an expression over them; how many were written.

    With `held` those that say so already are written, too, so that whoever else writes them waits until the commit.
    An expression reads what others have committed before this writes: their marks are waited for first.
    """
    if not isinstance(state, Value):
        _wait_for(rows)
    found = rows.order_by("id").annotate(wanted=state, shown=_EACH).values_list("id", "failed_at", "wanted", "shown")
    try:
        sql, parameters = found.query.sql_with_params()
    except EmptyResultSet:
        return 0
    with connection.cursor() as cursor:
        which = "WHERE TRUE" if held else "WHERE wanted <> shown"
        cursor.execute(_SHOW.format(marks=ReplayMark._meta.db_table, found=sql, which=which), parameters)
        changed: int = cursor.rowcount
    if changed and not isinstance(state, Value):
        ReplayMark.objects.filter(state=ReplayState.NONE).delete()  # only our own: nobody commits such a mark
    return changed


def _wait_for(rows: QuerySet[DeadLetter]) -> None:
    """Hold their marks until the commit, where there can be two who write."""
    if not connection.features.has_select_for_update:
        return
    marks = ReplayMark.objects.select_for_update(no_key=True).filter(dead_letter__in=rows.order_by().values("pk"))
    try:
        sql, parameters = marks.order_by("pk").values("pk").query.sql_with_params()
    except EmptyResultSet:
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM ({sql}) AS held", parameters)  # noqa: S608 (a query of the ORM)
