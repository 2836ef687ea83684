"""Results of a put: delivered, rejected and failed records, of one call or of several at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.errors import PartialPut, RecordError, RetriableError


class PutResult(NamedTuple):
    """The result of a put, by indexes of its batch.

    `error` is that of the records in `failed`. All other records that are neither delivered nor rejected can be put
    again at once. `names_delivered`: the sink itself has named delivered records of a batch.
    """

    delivered: Sequence[int] = ()
    rejected: Mapping[int, Exception] = {}
    failed: Sequence[int] = ()
    error: Exception | None = None
    names_delivered: bool = False


class LanesFailed(Exception):
    """Carries the result of a put in lanes to the put stage, if not all of its records were delivered."""

    def __init__(self, result: PutResult) -> None:
        super().__init__(result)
        self.result = result


def put_result(error: Exception, count: int) -> PutResult:
    """Return the meaning of the exception that the put of a batch of `count` records raised.

    An exception that contradicts itself is the error of the whole batch.
    """
    if isinstance(error, LanesFailed):
        return error.result
    if isinstance(error, PartialPut):
        causes = _causes(error.rejected, count)
        done = set(error.delivered)
        is_valid = done.isdisjoint(causes) and done <= set(range(count)) and len(causes) == len(error.rejected)
        if not is_valid or not (done or causes or error.error):
            return PutResult(failed=range(count), error=error)
        left = [index for index in range(count) if index not in done and index not in causes]
        return PutResult(error.delivered, causes, left if error.error else (), error.error, bool(done))
    causes = _causes(error.exceptions if isinstance(error, BaseExceptionGroup) else (error,), count)
    return PutResult(rejected=causes) if causes else PutResult(failed=range(count), error=error)


def merged_result(lanes: Sequence[Sequence[int]], errors: Sequence[Exception | None]) -> PutResult:
    """Return the result of a batch from those of its lanes.

    `lanes` are the indexes of each lane's records. `errors` are the exceptions of their puts; None means that all
    records were delivered. Everything in the result is in the order of the batch. Its error is one that is not
    retriable, if there is one; else that of the first failed record.
    """
    delivered: list[int] = []
    rejected: dict[int, Exception] = {}
    failed: list[int] = []
    rows: list[tuple[bool, int, Exception]] = []
    names_delivered = False
    for lane, error in zip(lanes, errors, strict=True):
        if error is None:
            delivered += lane
            continue
        result = put_result(error, len(lane))
        delivered += [lane[index] for index in result.delivered]
        rejected |= {lane[index]: cause for index, cause in result.rejected.items()}
        failed += (own := [lane[index] for index in result.failed])
        names_delivered |= result.names_delivered
        if result.error is not None and own:
            rows.append((isinstance(result.error, RetriableError), own[0], result.error))
    first = min(rows, key=lambda row: row[:2])[2] if rows else None
    return PutResult(sorted(delivered), dict(sorted(rejected.items())), sorted(failed), first, names_delivered)


def _causes(leaves: Sequence[BaseException], count: int) -> Mapping[int, Exception]:
    """Return the causes of RecordErrors by index; nothing if there is any other exception."""
    causes: dict[int, Exception] = {}
    for leaf in leaves:
        if not isinstance(leaf, RecordError) or not 0 <= leaf.index < count or not isinstance(leaf.cause, Exception):
            return {}
        causes[leaf.index] = leaf.cause
    return causes
