"""Any Kafka topic: its partitions, its records, and how many were written when."""
