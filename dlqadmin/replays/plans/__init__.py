"""Plans of replays: the records to send, their targets, and the records that are left out.

Planning writes nothing to Kafka.
"""
