"""The replay state of dead letters: read it in queries and write it in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from dlqadmin.deadletters.models import DeadLetter, ReplayMark, ReplayState

MARK = "replay_state"  # the field's name in filters, facets and exported files
# The state of a dead letter, as a query expression. Dead letters without a mark have the state "none".
STATE = Coalesce("mark__state", Value(ReplayState.NONE.value))
# The same state as a subquery for each row. Few rows are written, and a join would read all marks.
_EACH = Coalesce(
    Subquery(ReplayMark.objects.filter(dead_letter=OuterRef("pk")).values("state")), Value(ReplayState.NONE.value)
)
_ONWARD = (
    *(ReplayState.QUEUED, ReplayState.SENT, ReplayState.UNKNOWN, ReplayState.PASSED, ReplayState.FAILED_AGAIN),
    *(ReplayState.DISCARDED, ReplayState.PARKED, ReplayState.HANDLED),
)
# All writers insert in order of id, so that two writers wait for each other and cannot deadlock. Rows whose
# state does not change are not touched.
_SHOW = """
    INSERT INTO {marks} (dead_letter_id, state, failed_at)
    SELECT id, wanted, failed_at FROM ({found}) AS found {which}
    ON CONFLICT (dead_letter_id) DO UPDATE SET state = excluded.state
"""


def marked(values: Sequence[str]) -> Q:
    """Return a condition for dead letters in any of these states."""
    condition = Q(mark__state__in=[value for value in values if value != ReplayState.NONE])
    return condition | Q(mark__isnull=True) if ReplayState.NONE in values else condition


def states(include: Mapping[str, Sequence[str]], exclude: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Return the wanted states, or None if they include "none".

    The index of marks finds each state in order, but contains no row for "none". The states follow the order
    in which a record passes through them. If they are read one after the other, a record that advances
    meanwhile is still found.
    """
    wanted = set(include.get(MARK, ReplayState.values)) - set(exclude.get(MARK, ()))
    return None if ReplayState.NONE in wanted else [state.value for state in _ONWARD if state in wanted]


@transaction.atomic
def show(rows: QuerySet[DeadLetter], state: Case | Coalesce | Value, *, held: bool = False) -> int:
    """Set the marks of these dead letters to `state`; return how many were written.

    With `held`, unchanged marks are written too, so that other writers wait until the commit. An expression
    reads what other transactions committed before this write, so it first waits for their marks.
    """
    if not isinstance(state, Value):
        _lock_marks(rows)
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


def _lock_marks(rows: QuerySet[DeadLetter]) -> None:
    """Lock the marks until the commit, on databases that allow several writers."""
    if not connection.features.has_select_for_update:
        return
    marks = ReplayMark.objects.select_for_update(no_key=True).filter(dead_letter__in=rows.order_by().values("pk"))
    try:
        sql, parameters = marks.order_by("pk").values("pk").query.sql_with_params()
    except EmptyResultSet:
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM ({sql}) AS held", parameters)  # noqa: S608 (a query of the ORM)
