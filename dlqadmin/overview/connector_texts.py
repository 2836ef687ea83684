"""Texts about connectors: the page of one, and the first line of a stack trace."""

from urllib.parse import quote

from dlqadmin.connectors.connect_clusters import ConnectorKey

NO_TRACE = "The task reported no stack trace."
MOST_CHARACTERS = 300


def connector_page(key: ConnectorKey) -> str:
    """Return the address of a connector's page."""
    return f"/connectors/{quote(key.cluster, safe='')}/{quote(key.name, safe='')}"


def first_line(trace: str | None) -> str:
    """Return the first line of a trace, cut to 300 characters."""
    return trace.strip().partition("\n")[0][:MOST_CHARACTERS] if trace else NO_TRACE
