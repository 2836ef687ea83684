"""The command `dlq`: the dashboard's REST interface in a terminal or a script."""
