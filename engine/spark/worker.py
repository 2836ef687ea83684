"""The code inside a Spark Python worker: a lease in, its reports out, both as bytes. Independent of Spark."""

from __future__ import annotations

from importlib import import_module
from typing import cast

import msgspec

from engine.config.log_options import read_log_config
from engine.errors import RetriableError
from engine.record.trace import DISCREET
from engine.reporting import log_lines
from engine.worker_messages import Lease, RunLease, TaskReport


class LeaseAnswer(msgspec.Struct, frozen=True):
    """The reports of a lease, or why it has to be retried later."""

    reports: tuple[TaskReport, ...] = ()
    retriable: str | None = None


def run_encoded(function: str, payload: bytes) -> bytes:
    """Run the lease in `payload` with `function` (`module:name`)."""
    lease = msgspec.msgpack.decode(payload, type=Lease)
    log_lines.configure(read_log_config(lease.worker))
    try:
        answer = LeaseAnswer(reports=_resolve(function)(lease))
    except RetriableError as error:
        answer = LeaseAnswer(retriable=DISCREET.sentence(error))
    except Exception as error:  # noqa: BLE001, Spark logs whatever comes out of here, with its message
        raise RuntimeError(DISCREET.trace(error)) from None
    return msgspec.msgpack.encode(answer)


def _resolve(function: str) -> RunLease:
    module, _, name = function.partition(":")
    return cast("RunLease", getattr(import_module(module), name))
