from __future__ import annotations

import pytest

from engine.assembly.validation import validate
from engine.config.worker import parse_worker
from engine.errors import ConfigError
from engine.worker_messages import Delivery

PROPS = {"name": "c", "connector.class": "DeltaSink", "topics": "t"}
WORKER = parse_worker({"bootstrap.servers": "127.0.0.1:9", "file.connectors.root": "/srv", "http.hosts.allow": "*.aws"})
BUCKET = {"s3.bucket.name": "b", "store.url": "https://s3.aws"}


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({}, "s3.bucket.name"),
        ({**BUCKET, "local.directory": "/srv/a"}, "s3.bucket.name"),
        ({"local.directory": "/etc"}, "local.directory"),
        ({**BUCKET, "store.url": "https://s3.other"}, "store.url"),
        ({**BUCKET, "aws.access.key.id": "k"}, "aws.secret.access.key"),
        ({**BUCKET, "compression.type": "lz4"}, "compression.type"),
        ({**BUCKET, "table.path": "../up"}, "table.path"),
        ({**BUCKET, "table.path": "a/${table}"}, "table.path"),
    ],
)
def test_options_that_do_not_fit(given: dict[str, str], option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate({**PROPS, **given}, WORKER)
    assert [row[0] for row in caught.value.problems] == [option]


@pytest.mark.parametrize("given", [BUCKET, {"local.directory": "/srv/a", "table.path": "bronze/${topic}"}])
def test_every_delivery_is_exactly_once(given: dict[str, str]) -> None:
    assert validate({**PROPS, **given}, WORKER).delivery is Delivery.EXACTLY_ONCE
