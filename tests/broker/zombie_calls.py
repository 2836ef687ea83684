"""A transactional client that stops its own process at one of its calls: for children, which import this first.

STOP_CALL is `<method>:<n>`: before the n-th call of that method, counted from one. STOP_MARKER: see exactly_classes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from engine.kafka.transactional import KafkaTransactional
from tests.broker.exactly_classes import stop_once

CALLS = ("init", "begin", "flush", "send_offsets", "commit", "abort")
counts: Counter[str] = Counter()


def stopping(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def stop_and_call(*arguments: Any) -> Any:
        counts[name] += 1
        if os.environ.get("STOP_CALL") == f"{name}:{counts[name]}":
            stop_once()
        return call(*arguments)

    return stop_and_call


for name in CALLS:
    setattr(KafkaTransactional, name, stopping(name, getattr(KafkaTransactional, name)))
