"""The replay state of dead letters: read it in queries and write it in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import Case, CharField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from dlqadmin.deadletters.models import REPLACED, WORK_OF_MARK, DeadLetter, ReplayMark, ReplayState, WorkState

MARK = "replay_state"  # the field's name in filters, facets and exported files
WORK = "work"  # the field's name in filters and facets
# The state of a dead letter, as a query expression. Dead letters without a mark have the state "none".
STATE = Case(
    When(mark__state=REPLACED, then=Value(ReplayState.FAILED_AGAIN.value)),
    default=Coalesce("mark__state", Value(ReplayState.NONE.value)),
    output_field=CharField(),
)
# The work that is left on a dead letter, as a query expression.
WORK_STATE = Case(
    *(
        When(mark__state__in=[mark for mark, work in WORK_OF_MARK.items() if work == state], then=Value(state.value))
        for state in WorkState
        if state is not WorkState.OPEN
    ),
    default=Value(WorkState.OPEN.value),
    output_field=CharField(),
)
COLUMNS = {MARK: STATE, WORK: WORK_STATE}  # the values that no column stores, by field
# The mark's own state as a subquery for each row. Few rows are written, and a join would read all marks. The base
# manager, because a manager in reach would keep the reach of the request that imports this module first.
_EACH = Coalesce(
    Subquery(ReplayMark._base_manager.filter(dead_letter=OuterRef("pk")).values("state")),
    Value(ReplayState.NONE.value),
)
_ONWARD = (
    *(ReplayState.QUEUED.value, ReplayState.SENT.value, ReplayState.UNKNOWN.value, ReplayState.PASSED.value),
    *(ReplayState.FAILED_AGAIN.value, REPLACED),
    *(ReplayState.DISCARDED.value, ReplayState.PARKED.value, ReplayState.HANDLED.value),
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
    return _in_marks(_marks_of_states(values))


def worked(values: Sequence[str]) -> Q:
    """Return a condition for dead letters in any of these work states."""
    return _in_marks(_marks_of_work(values))


def states(include: Mapping[str, Sequence[str]], exclude: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Return the marks' states that the filters want, or None if they include "none".

    The index of marks finds each state in order, but contains no row for "none". The states follow the order
    in which a record passes through them. If they are read one after the other, a record that advances
    meanwhile is still found.
    """
    wanted = set(WORK_OF_MARK)
    for name, marks in ((MARK, _marks_of_states), (WORK, _marks_of_work)):
        if name in include:
            wanted &= marks(include[name])
        wanted -= marks(exclude.get(name, ()))
    return None if ReplayState.NONE in wanted else [state for state in _ONWARD if state in wanted]


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


def _marks_of_states(values: Sequence[str]) -> set[str]:
    return {*values, REPLACED} if ReplayState.FAILED_AGAIN in values else set(values)


def _marks_of_work(values: Sequence[str]) -> set[str]:
    return {mark for mark, work in WORK_OF_MARK.items() if work in values}


def _in_marks(marks: set[str]) -> Q:
    condition = Q(mark__state__in=sorted(marks - {ReplayState.NONE}))
    return condition | Q(mark__isnull=True) if ReplayState.NONE in marks else condition


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
