"""From a selection to a plan: what would be sent where, and what not; nothing is written to Kafka."""
