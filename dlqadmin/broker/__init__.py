"""A thin layer over Kafka. Only this package of the dashboard imports the Kafka client."""
