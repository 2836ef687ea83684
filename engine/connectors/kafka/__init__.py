"""KafkaSink."""
