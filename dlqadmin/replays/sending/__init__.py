"""Writing items to Kafka, each once, whatever is killed."""
