"""The command `dlq`: a client of the dashboard's REST API for terminals and scripts."""
