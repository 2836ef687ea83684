"""Headers that identify a replayed record."""

PREFIX = "dlq.replay."
ID = PREFIX + "id"  # the replay
ITEM = PREFIX + "item"  # the record within the replay, globally unique
ATTEMPT = PREFIX + "attempt"  # 1 for the first replay of the record
LETTER = PREFIX + "letter"  # the dead letter, as topic/partition/offset
OF_REPLAYS = frozenset({ID, ITEM, ATTEMPT})
