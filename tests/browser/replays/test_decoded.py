"""An Avro dead letter of Spring Kafka in the browser: decoded, repaired with its schema, replayed, observed."""

from __future__ import annotations

import json
import re
import struct
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from playwright.sync_api import Browser, Locator, Page, expect

from dlqadmin.host.network import wait_until
from engine.schemas.codecs import codec_of
from engine.schemas.registry import SchemaText
from tests.browser.claims import claim
from tests.browser.conftest import Site, close_live_events, signed_in
from tests.browser.replays import steps
from tests.browser.screens import fits_everywhere, without_complaints
from tests.interop import recordings
from tests.support import topics
from tests.support.product import Product
from tests.support.schema_registry import register

TOPIC, LETTERS = "earthquakes-avro", "earthquakes-avro-dlq"
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "string"},
    {"name": "place", "type": "string"},
    {"name": "mag", "type": "double"},
    {"name": "gap", "type": ["null", "double"], "default": None},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["earthquake", "explosion"]}},
    {"name": "sources", "type": {"type": "array", "items": "string"}},
]
VALUE_SCHEMA = {"type": "record", "name": "Earthquake", "namespace": "gov.usgs", "fields": FIELDS}
KEY_SCHEMA = {"type": "record", "name": "EventId", "namespace": "gov.usgs", "fields": [FIELDS[0]]}
REPAIRED = 120.5
INDEXED_S = CONSUMED_S = 60


class Letter(NamedTuple):
    """The dead letter of a record whose gap is null, and the ids of its two schemas."""

    key: bytes
    value: bytes
    headers: topics.Headers
    group: str
    key_id: int
    value_id: int


@pytest.fixture(scope="module")
def letter(product: Product, schema_registry: str) -> Letter:
    """A recorded dead letter of Spring's listener, whose key and value are Avro here, beside the record that failed."""
    recording = recordings.load("spring-listener")
    failed = next(one.record for one in recording.origins if one.cause == "null")
    written = next(one for one in recording.letters if one.key == failed.key)
    feature = json.loads(failed.value or b"")
    facts = feature["properties"]
    value = {"id": feature["id"], "place": facts["place"], "mag": facts["mag"], "gap": None, "kind": "earthquake"}
    value |= {"at": "2018-02-06T22:40:54.480Z", "sources": [name for name in facts["sources"].split(",") if name]}
    key_id = register(schema_registry, f"{TOPIC}-key", json.dumps(KEY_SCHEMA))
    value_id = register(schema_registry, f"{TOPIC}-value", json.dumps(VALUE_SCHEMA))
    key = framed(key_id, KEY_SCHEMA, {"id": feature["id"]})
    data = framed(value_id, VALUE_SCHEMA, value)
    place = {
        "kafka_dlt-original-topic": TOPIC.encode(),
        "kafka_dlt-original-partition": struct.pack(">i", 0),
        "kafka_dlt-original-offset": struct.pack(">q", 0),
    }
    headers = tuple((name, place.get(name, text)) for name, text in written.headers)
    admin = AdminClient({"bootstrap.servers": product.bootstrap_servers})
    for made in admin.create_topics([NewTopic(TOPIC, 1, 1), NewTopic(LETTERS, 1, 1)]).values():
        made.result(30)
    topics.send(product.bootstrap_servers, TOPIC, key, data, failed.headers)
    topics.send(product.bootstrap_servers, LETTERS, key, data, headers)
    return Letter(key, data, failed.headers, recording.group, key_id, value_id)


def framed(number: int, schema: Any, value: Any) -> bytes:
    """Return the value as Confluent's serializer writes it."""
    payload = codec_of(SchemaText(number, "AVRO", json.dumps(schema))).write(json.dumps(value))
    return b"\0" + struct.pack(">I", number) + payload


class Listener:
    """A member of the listener's consumer group. It reads Avro with Confluent's deserializer, and commits each record.

    It stands in for the repaired Spring application.
    """

    def __init__(self, bootstrap_servers: str, registry: str, group: str) -> None:
        self.values: list[Any] = []
        settings = {"bootstrap.servers": bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**settings, "enable.auto.commit": False})
        self._registry = SchemaRegistryClient({"url": registry})
        self._read = AvroDeserializer(self._registry)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self._consumer.subscribe([TOPIC])
        while not self._stopped.is_set():
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                self.values.append(self._read(message.value(), None))
                self._consumer.commit(message=message, asynchronous=False)
        self._consumer.close()
        self._registry.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()


@pytest.fixture(scope="module")
def listener(product: Product, schema_registry: str, letter: Letter) -> Iterator[Listener]:
    """The group has consumed the record that failed, and waits."""
    with Listener(product.bootstrap_servers, schema_registry, letter.group) as made:
        wait_until(lambda: len(made.values) == 1, "The listener", CONSUMED_S, 0.2)
        yield made


@pytest.fixture(scope="module")
def registered(chromium: Browser, product: Product, site: Site, schema_registry: str) -> None:
    """The registry of the cluster, which an administrator adds on the screen and tries."""
    context = signed_in(chromium, Site(site.url, "registrar", product.add_administrator("registrar")))
    page = context.new_page()
    page.goto("/settings/registries")
    page.get_by_role("button", name="Add registry…").first.click()
    page.get_by_role("textbox", name="Name").fill("shop-registry")
    page.get_by_role("textbox", name="URL").fill(schema_registry)
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Test connection").first.click()
    expect(page.get_by_text("The registry answered")).to_be_visible()
    context.close()


@pytest.mark.soak
@pytest.mark.usefixtures("registered", "letter")
def test_a_decoded_record_and_its_fix_fit_their_windows_and_stay_still(page: Page, product: Product) -> None:
    close_live_events(page)
    open_letter(page, product)
    address = page.url

    def show_record() -> None:
        page.goto(address)
        expect(page.get_by_test_id("decoded")).to_be_visible()
        page.get_by_role("heading", name="Timeline").wait_for()
        page.wait_for_load_state("networkidle")

    def show_fix() -> None:
        page.goto(f"{address}/fix")
        expect(page.get_by_role("textbox", name="Original key")).to_be_visible()
        page.wait_for_load_state("networkidle")

    for screen, show in (("record-decoded", show_record), ("fix-decoded", show_fix)):
        fits_everywhere(page, screen, show, still=True)


@pytest.mark.usefixtures("registered")
def test_an_avro_letter_of_spring_is_repaired_with_its_schema_and_observed(
    page: Page, product: Product, letter: Letter, listener: Listener
) -> None:
    with without_complaints(page):
        open_letter(page, product)
        with claim("the value is decoded, with its schema"):
            decoded = page.get_by_test_id("decoded")
            expect(decoded).to_contain_text("Decoder: Avro, schema id from bytes 1 to 4")
            expect(decoded).to_contain_text(re.compile(r"gap\s*null or double\s*null"))
            schema = page.get_by_role("region", name="Schema")
            expect(schema).to_contain_text(f"{TOPIC}-value")
            expect(schema).to_contain_text(f"{letter.value_id}, version 1 of 1")
            expect(schema).to_contain_text("gov.usgs.Earthquake")
            expect(schema).to_contain_text("shop-registry")
            expect(page.get_by_label("Schema text")).to_contain_text('{"name":"id","type":"string"}')
        steps.start_fix(page)
        value, key = (page.get_by_role("region", name=name, exact=True) for name in ("Value", "Key"))
        with claim("key and value are edited with their schemas"):
            expect(value).to_contain_text(f"gov.usgs.Earthquake, {TOPIC}-value")
            expect(key).to_contain_text(f"gov.usgs.EventId, {TOPIC}-key")
        with claim("a wrong type is refused at its path"):
            steps.replace_after(page, "gap", "null", '"wide"')
            problems = value.get_by_role("alert", name="Problems")
            expect(problems).to_contain_text("gap is the text 'wide'; the schema wants null or double")
            expect(status(value)).to_contain_text("1 problem")
            fits_everywhere(page, "fix-refused")
        with claim("a value that fits is encoded with the same schema"):
            steps.replace_after(page, "gap", '"wide"', str(REPAIRED))
            expect(problems).to_have_count(0)
            grown = f"{len(letter.value)} B → {len(letter.value) + 8} B; {len(letter.value) - 1} B unchanged"
            expect(status(value)).to_have_text(f"✓ fits the schema, encoded with id {letter.value_id}: {grown}")
            expect(page.get_by_text(re.compile(r"Draft F-\d+, saved"))).to_be_visible()
        with claim("the draft is decoded again when the page is loaded"):
            page.reload()
            expect(steps.edited(page)).to_contain_text(str(REPAIRED))
        page.get_by_role("button", name="Check the plan of 1 record").click()
        expect(page.get_by_test_id("plan")).to_contain_text(letter.group)
        steps.run(page, 1, "The station reported the gap.")
        steps.expect_outcome(page, "passed", 1, "Passed")
        expect(page.get_by_role("region", name="Items")).to_contain_text("observed")
    expect_only_the_gap_differs(product, letter)
    before, after = listener.values
    assert after == {**before, "gap": REPAIRED}


def expect_only_the_gap_differs(product: Product, letter: Letter) -> None:
    """Compare the record that was sent with the dead letter, byte by byte."""
    _, sent = topics.read(product.bootstrap_servers, TOPIC)
    assert sent.value is not None
    at = next(at for at, pair in enumerate(zip(letter.value, sent.value, strict=False)) if len(set(pair)) == 2)
    assert letter.value[at : at + 1] == b"\0"  # the branch null of the union
    assert sent.value == letter.value[:at] + b"\2" + struct.pack("<d", REPAIRED) + letter.value[at + 1 :]
    assert sent.value[:5] == b"\0" + struct.pack(">I", letter.value_id)
    assert sent.key == letter.key
    assert tuple(row for row in sent.headers if not row[0].startswith("dlq.replay.")) == letter.headers


def open_letter(page: Page, product: Product) -> None:
    """Open the only record of the dead letter topic."""
    with product.client() as client:

        def is_indexed() -> bool:
            found = client.get("dead-letters", params={"topic": LETTERS}).raise_for_status().json()
            return bool(found["total"]["count"] == 1)

        wait_until(is_indexed, "The index of the Avro letter", INDEXED_S, 0.5)
    page.goto(f"/records?topic={LETTERS}")
    page.get_by_test_id("record").click()
    page.get_by_role("heading", name="Timeline").wait_for()
    page.goto(page.url.partition("?")[0])
    page.get_by_role("heading", name="Timeline").wait_for()


def status(panel: Locator) -> Locator:
    """The line that says whether the edit fits."""
    return panel.get_by_role("status")
