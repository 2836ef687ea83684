"""The headers of a record that was written back, by which its way is followed."""

PREFIX = "dlq.replay."
ID = PREFIX + "id"  # the replay
ITEM = PREFIX + "item"  # the record within it, unique everywhere
ATTEMPT = PREFIX + "attempt"  # 1 for the first time that the record was written back
