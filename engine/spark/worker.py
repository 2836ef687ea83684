"""What runs inside the Spark Python worker: one lease in, its reports out, both as bytes. Knows no Spark."""

from __future__ import annotations

from importlib import import_module
from typing import cast

import msgspec

from engine.errors import RetriableError
from engine.leases import Lease, RunLease, TaskReport


class Answer(msgspec.Struct, frozen=True):
    """The reports of a lease, or why the world was not ready for it."""

    reports: tuple[TaskReport, ...] = ()
    retriable: str | None = None


def run_encoded(function: str, payload: bytes) -> bytes:
    """Run the lease in `payload` with `function` (`module:name`)."""
    lease = msgspec.msgpack.decode(payload, type=Lease)
    try:
        answer = Answer(reports=_resolve(function)(lease))
    except RetriableError as error:
        answer = Answer(retriable=f"{type(error).__name__}: {error}")
    return msgspec.msgpack.encode(answer)


def _resolve(function: str) -> RunLease:
    module, _, name = function.partition(":")
    return cast("RunLease", getattr(import_module(module), name))
