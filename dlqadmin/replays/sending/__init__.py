"""Sending of replay items to Kafka: each item once, even when workers or brokers are killed."""
