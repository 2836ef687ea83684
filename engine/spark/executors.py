"""The executors of a session: which of them ran a lease, and which can run others."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark import SparkContext

DRIVER = "driver"  # Spark lists it among the executors


class Place(NamedTuple):
    """The executor that ran a lease's task, and its host."""

    executor: str
    host: str


UNKNOWN = Place("", "a host that Spark does not name")


def place_of(context: SparkContext, lease_id: str) -> Place:
    """Return where the lease's task ran. Not every error of Spark names it, and Spark may learn of it later."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        tracker = context.statusTracker()
        for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(lease_id)):
            if job is not None and (tasks := _store(context).taskList(job.stageIds[0], 0, 1)).nonEmpty():
                return Place(str(tasks.head().executorId()), str(tasks.head().host()))
    return UNKNOWN


class RefusedExecutors:
    """The executors whose workers can't run leases. Any thread may use it."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def add(self, context: SparkContext, executor: str) -> bool:
        """Note an executor. Return whether there is another one that was not refused."""
        self._refused.add(executor)
        return bool(_living(context) - self._refused)


def _living(context: SparkContext) -> set[str]:
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        listed = _store(context).executorList(True)  # only those that live
        return {str(listed.apply(number).id()) for number in range(listed.size())} - {DRIVER}
    return set()


def _store(context: SparkContext) -> Any:
    """Return the store behind Spark's own screens, an object of the JVM."""
    return context._jsc.sc().statusStore()  # noqa: SLF001, PySpark has no other name for it
