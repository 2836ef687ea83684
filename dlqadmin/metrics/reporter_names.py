"""The names under which figures of connectors and Spark queries are stored.

A connector of the engine has its own name. A guarded Spark query `orders` has `spark/orders`, so its figures are not
mixed with those of a connector `orders`. A dead letter names both by `orders`.
"""

from __future__ import annotations

SPARK = "spark"  # the queries are listed like the connectors of a Connect cluster of this name
_OF_QUERIES = f"{SPARK}/"
_MAX_LENGTH = 200  # characters, as the tables of figures have them


def query_reporter(query: str) -> str:
    """Return the name under which the figures of a query are stored."""
    return f"{_OF_QUERIES}{query}"[:_MAX_LENGTH]


def is_query_reporter(reporter: str) -> bool:
    """Return whether the figures are those of a query."""
    return reporter.startswith(_OF_QUERIES)


def connector_of(reporter: str) -> str:
    """Return the name that dead letters have for a connector or query."""
    return reporter.removeprefix(_OF_QUERIES)
