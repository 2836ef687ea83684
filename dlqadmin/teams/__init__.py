"""Teams, the topics and connectors that they own, and which of them a request may reach."""
