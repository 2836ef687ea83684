"""The interfaces that the endpoints need, and the waiting for the herder's answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from engine.config.topic import TargetState
from engine.herder.offset_changes import OffsetRow
from engine.herder.snapshot import ConnectorFacts, HerderSnapshot

Examine = Callable[[Mapping[str, str]], ConnectorFacts]
ANSWER_TIMEOUT_S = 90  # as Kafka Connect's
T = TypeVar("T")


class HerderPort(Protocol):
    """The herder's interface that this API needs."""

    def view(self) -> HerderSnapshot: ...
    def put(
        self, name: str, properties: Mapping[str, str], *, create: bool = False, target: TargetState | None = None
    ) -> Future[bool]: ...
    def patch(self, name: str, changes: Mapping[str, str | None]) -> Future[None]: ...
    def delete(self, name: str) -> Future[None]: ...
    def set_target(self, name: str, target: TargetState) -> Future[None]: ...
    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> Future[None]: ...
    def restart_task(self, name: str, task: int) -> Future[None]: ...
    def reset_topics(self, name: str) -> Future[None]: ...
    def offsets(self, name: str) -> Sequence[OffsetRow]: ...
    def change_offsets(self, name: str, rows: Sequence[OffsetRow] | None) -> Future[Future[None]]: ...
    def set_cluster_log_level(self, logger: str, level: str) -> Future[None]: ...


class PutRehearsalsPort(Protocol):
    """The rehearsals of puts that this API needs."""

    def run(self, name: str, properties: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, Any]: ...


async def answer_of(future: Future[T]) -> T:
    """Return the herder's answer. Raises TimeoutError."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            return await asyncio.wrap_future(future)
    except TimeoutError as error:
        if future.done() and not future.cancelled():
            raise
        raise TimeoutError(f"Request timed out. The herder did not answer within {ANSWER_TIMEOUT_S} s.") from error
