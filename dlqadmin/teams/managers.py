"""The manager of models of which a request may reach only some rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

from django.db.models import Manager, Model, Q, QuerySet

from dlqadmin.teams.reach import Reach, current_reach

Row = TypeVar("Row", bound=Model)
Condition = Callable[[Reach], Q]


class InReach(Manager[Row]):
    """A default manager that leaves out what the present request may not reach.

    References from other rows and `refresh_from_db` use Django's base manager, which leaves out nothing.
    """

    condition: ClassVar[Condition]

    @classmethod
    def by(cls, condition: Condition) -> Self:
        """Return a manager with this condition on rows, for a limited reach.

        Django makes managers of related rows from the manager's class, so the condition belongs to a class of its own.
        """
        # A name apart, because mypy cannot follow classes that are made while a program runs.
        bases: Any = (cls,)
        made: Any = type(cls.__name__, bases, {"condition": staticmethod(condition)})
        return made()  # type: ignore[no-any-return]  # it is of a subclass of `cls`

    def get_queryset(self) -> QuerySet[Row]:
        """Return the rows in reach."""
        rows, reach = super().get_queryset(), current_reach()
        return rows.filter(type(self).condition(reach)) if reach.is_limited else rows
