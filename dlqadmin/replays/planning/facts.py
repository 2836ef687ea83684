"""What a plan is made of, and what follows from it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from dlqadmin.replays.models import Selection
from dlqadmin.replays.outcome.readers import Reader
from dlqadmin.replays.planning.options import Options
from dlqadmin.replays.planning.ordering import Behind
from dlqadmin.replays.planning.tally import Tally
from dlqadmin.replays.planning.targets import Group, Target, Targets
from dlqadmin.replays.planning.values import Looked
from dlqadmin.replays.planning.writing import Cell

CONFIRM_ABOVE = 1_000  # records, beyond which a person types what is meant


class Facts(msgspec.Struct, frozen=True):
    """What a plan is made of. `approval_above` records a second person must agree; 0: never."""

    selection: Selection
    drifted: bool
    options: Options
    targets: Targets
    behind: Behind
    cells: Sequence[Cell]
    tally: Tally
    values: Looked
    took_ms: int
    now: datetime
    approval_above: int = 0

    @property
    def total(self) -> int:
        """All records of the selection."""
        return sum(n for *_, n in self.cells)

    @property
    def to_send(self) -> int:
        """Those that are sent."""
        return self.left_out("")

    @property
    def edited(self) -> int:
        """Those that are sent as somebody edited them."""
        return sum(n for _, _, _, edited, reason, n in self.cells if edited and not reason)

    @property
    def reasons(self) -> Counter[str]:
        """Why records are left out, and how many each."""
        found = Counter[str]()
        for *_, reason, n in self.cells:
            if reason:
                found[reason] += n
        return found

    def left_out(self, *reasons: str) -> int:
        """How many are left out for one of these reasons."""
        return sum(n for *_, reason, n in self.cells if reason in reasons)

    def partitions(self, topic: str) -> Counter[int | None]:
        """How many are sent to each of its partitions; None: by key."""
        found = Counter[int | None]()
        for name, partition, _, _, reason, n in self.cells:
            if name == topic and not reason:
                found[partition] += n
        return found

    def sent_to(self, topic: str) -> int:
        """How many are sent there."""
        return self.partitions(topic).total()

    def meant_for(self, topic: str) -> int:
        """How many would go there, sent or left out."""
        return sum(n for name, *_, n in self.cells if name == topic)

    @property
    def watched(self) -> list[tuple[str, str, int]]:
        """Topic, the connector whose outcome counts, and how many records that is."""
        found = Counter[tuple[str, str]]()
        for topic, _, connector, _, reason, n in self.cells:
            if not reason:
                found[topic, connector] += n
        return [(topic, connector, found[topic, connector]) for topic, connector in sorted(found)]

    def watched_of(self, target: Target) -> list[Reader]:
        """The connectors whose outcome counts there."""
        names = {connector for topic, connector, _ in self.watched if topic == target.topic}
        return [reader for reader in target.readers if reader.name in names]

    def others_of(self, target: Target) -> list[str]:
        """Connectors that read there too."""
        names = {connector for topic, connector, _ in self.watched if topic == target.topic}
        return [reader.name for reader in target.readers if reader.name not in names]

    def is_watched(self, target: Target, group: Group) -> bool:
        """Does the group's outcome count there? Without a connector of the engine that of every group that commits."""
        if group.name in self.options.watch or group.name in {one.group for one in self.watched_of(target)}:
            return True
        return not self.options.watch and not target.readers and group.lag is not None

    def foreign(self, target: Target) -> list[Group]:
        """The groups there that are no connectors of the engine."""
        own = {reader.group for reader in target.readers}
        return [group for group in target.groups if group.name not in own]

    @property
    def confirm(self) -> str:
        """What a person must type before it is run: the only target's name, else how many; empty for nothing."""
        if not self.to_send or (self.options.home and self.to_send <= CONFIRM_ABOVE):
            return ""
        topics = {topic for topic, *_, reason, _ in self.cells if not reason}
        return next(iter(topics)) if len(topics) == 1 else str(self.to_send)

    @property
    def needs_approval(self) -> bool:
        """Must a second person agree?"""
        return 0 < self.approval_above < self.to_send
