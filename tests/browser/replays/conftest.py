"""Failures and people that each test makes for itself when it writes to the product.

These tests run after those that know the numbers of the first batch. Each sends records that no other one sends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, zip_longest

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, BrowserContext, Page

from demo.damage import Event, intact_event, is_accepted
from demo.feeder import TOPIC
from dlqadmin.host.network import wait_until
from tests.browser.conftest import Site, signed_in
from tests.support.product import Product

INDEXED_S = 60
PEOPLE = {"asker": "operator", "ruth": "approver", "colleague": "operator", "reader": "viewer"}
# So many records are sent to the connector in which a column is null that is never null in the first batch: by the
# column, the property that fills it, and their number.
FAILURES = {
    "time_ms": ("time", 2),  # approval
    "sig": ("sig", 110),  # the canary, which is for more than 100
    "mag_type": ("magType", 110),  # cancelling
    "place": ("place", 24),  # a replay under way: these pass once the column may be null
    "status": ("status", 24),  # and these never do
}

Person = Callable[[str], Page]


@pytest.fixture(scope="session")
def failures(product: Product) -> dict[str, set[str]]:
    """The keys of the records that failed because a column is null, by the column; all are indexed."""
    events = {column: list(events_with(column, member, None, count)) for column, (member, count) in FAILURES.items()}
    producer = Producer({"bootstrap.servers": product.bootstrap_servers, "log_level": 2})
    for event in filter(None, chain.from_iterable(zip_longest(*events.values()))):
        producer.produce(TOPIC, key=event.key, value=event.value)
    assert producer.flush(INDEXED_S) == 0
    with product.client() as client:

        def indexed(column: str, count: int) -> bool:
            found = client.get("dead-letters", params={"text": f"earthquakes.{column}", "limit": 1}).raise_for_status()
            return bool(found.json()["total"]["count"] == count)

        for column, made in events.items():
            wait_until(partial(indexed, column, len(made)), f"The index of {column}", INDEXED_S, 0.5)
    return {column: {event.key.decode() for event in made} for column, made in events.items()}


def events_with(prefix: str, member: str, value: object, count: int) -> Iterator[Event]:
    """Make events from intact ones, with another value of one property.

    Their ids begin with `prefix`, so a search for an intact one's id finds that one alone.
    """
    sources = (event for event in intact_event() if is_accepted(event))
    for number, source in zip(range(count), sources, strict=False):
        key = b"%s-%d" % (prefix.encode(), number)
        event = json.loads(source.value.replace(source.key, key))
        event["properties"][member] = value
        yield Event(key, json.dumps(event).encode())


@pytest.fixture(scope="session")
def password(product: Product) -> str:
    """The password of everybody in PEOPLE."""
    return product.add_users(PEOPLE)


@pytest.fixture
def person(chromium: Browser, site: Site, password: str) -> Iterator[Person]:
    """Makes an empty page of somebody else who has signed in: `person(name)`."""
    contexts: list[BrowserContext] = []

    def made(name: str) -> Page:
        contexts.append(signed_in(chromium, Site(site.url, name, password)))
        return contexts[-1].new_page()

    yield made
    for context in contexts:
        context.close()
