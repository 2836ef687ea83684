"""The options of a replay."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from dlqadmin.replays.models import OrderGuard, Replay

CANARY = (1, 10, 100)
CANARY_ABOVE = 100  # records


class Options(msgspec.Struct, frozen=True):
    """The options of a replay, named as the columns of `Replay`.

    An empty topic sends each record to its own origin. An empty cluster is the own one. `rate` 0 means no limit.
    `steps` None means a canary if there are many records.
    """

    target_topic: str = ""
    use_fixes: bool = True
    resend: bool = False
    rate: int = 100
    target_cluster: str = ""
    shadow: bool = False
    keep_timestamps: bool = False
    order: str = OrderGuard.SKIP.value
    steps: tuple[int, ...] | None = None
    breaker_percent: int | None = 10
    max_lag: int | None = None
    chunk_records: int = 2000
    watch: tuple[str, ...] = ()
    resolve_groups: bool = False
    source_cluster: str = ""

    @property
    def is_abroad(self) -> bool:
        """Return whether the target is another cluster than that of the dead letters."""
        return self.target_cluster != self.source_cluster

    @property
    def home(self) -> bool:
        """True if each record goes back to its origin."""
        return not (self.target_topic or self.is_abroad or self.shadow)

    @property
    def promised(self) -> tuple[Any, ...]:
        """The options that a plan's digest covers.

        These are all options, because a second person approves them. The own cluster is left out: plans of earlier
        versions have the same digest.
        """
        *options, source = msgspec.structs.astuple(self)
        return (*options, source) if source else tuple(options)


def options_of(replay: Replay) -> Options:
    """Return the options that the replay was planned with."""
    found = {name: getattr(replay, name) for name in Options.__struct_fields__}
    return Options(**{**found, "steps": tuple(replay.steps), "watch": tuple(replay.watch)})


def digest_of(options: Options, records_digest: str) -> str:
    """Return the plan's digest, which covers the records' digest and the options."""
    return hashlib.sha256(msgspec.msgpack.encode((options.promised, records_digest))).hexdigest()


def keep(replay: Replay, options: Options) -> None:
    """Store the options in the replay's fields, without saving the row."""
    for name, value in msgspec.structs.asdict(options).items():
        setattr(replay, name, list(value or ()) if name in ("steps", "watch") else value)


def settled(options: Options, records: int) -> Options:
    """Return the options with a canary if there are many records and nobody chose the steps."""
    if options.steps is not None:
        return options
    return msgspec.structs.replace(options, steps=CANARY if records > CANARY_ABOVE else ())
