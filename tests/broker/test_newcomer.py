"""A newcomer's connectors, from the documents alone, on a broker with TLS, passwords and an authorizer.

The rights are those that `python -m engine acls` prints.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import orjson
import pytest

from engine.__main__ import main
from engine.assembly.acls import PrincipalAcl
from engine.config.acls import AclRequirement, Resource
from engine.config.properties import load_properties
from engine.errors import RetriableError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, producer_settings
from engine.kafka.producer import KafkaProducer
from engine.record.record import RawRecord, TopicPartition
from tests.broker.connector import read_all
from tests.broker.driver import Driver, running
from tests.support.authorizer import PASSWORD, AuthorizingBroker, authorizing_broker
from tests.support.stores import PASSWORD as STORE_PASSWORD
from tests.support.stores import Stores

KIP = Path(__file__).parents[1] / "engine" / "record" / "kip298"
LETTERS = "my-connector-errors"
BROKEN = b'{"a: 10}'
CLUSTER: Resource = "cluster"
WORKER = """\
bootstrap.servers={servers}
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="{user}" password="{password}";
ssl.truststore.location={trust}
ssl.truststore.password={store_password}
group.id=connect-cluster
exactly.once.source.enabled=true
file.connectors.root={home}
"""
SINK = """\
connector.class=FileStreamSink
file={home}/{name}.out
topics={topic}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
"""
SOURCE = """\
connector.class=FileStreamSource
file={home}/access.log
topic=access
value.converter=org.apache.kafka.connect.storage.StringConverter
exactly.once.support=required
transaction.boundary=interval
transaction.boundary.interval.ms=500
offsets.storage.topic=access-log-offsets
"""


def printed_acls(script: str) -> list[PrincipalAcl]:
    """Return the rights that the commands of a script grant."""
    options = argparse.ArgumentParser()
    for name in ("--bootstrap-server", "--allow-principal", "--topic", "--group", "--transactional-id"):
        options.add_argument(name)
    options.add_argument("--resource-pattern-type", default="literal")
    options.add_argument("--operation", action="append")
    for name in ("--add", "--cluster"):
        options.add_argument(name, action="store_true")
    found: list[PrincipalAcl] = []
    for line in script.splitlines():
        if line.startswith("kafka-acls.sh "):
            one = options.parse_args(shlex.split(line)[1:])
            names: dict[Resource, str] = {
                "topic": one.topic,
                "group": one.group,
                "transactional-id": one.transactional_id,
            }
            kind, name = next(((kind, name) for kind, name in names.items() if name), (CLUSTER, ""))
            prefixed = one.resource_pattern_type == "prefixed"
            need = AclRequirement(tuple(one.operation), kind, name, "", prefixed=prefixed)
            found.append(PrincipalAcl(one.allow_principal, one.bootstrap_server, need))
    return found


def everything(broker: AuthorizingBroker, topic: str, partitions: int = 1) -> list[RawRecord]:
    """Return what a read_committed reader sees; nothing while the topic is being created."""
    at = (TopicPartition(topic, number) for number in range(partitions))
    try:
        return [record for one in at for record in read_all(broker.bootstrap_servers, one)]
    except RetriableError:
        return []


@pytest.mark.soak  # test_acls.py shows the printed rights
def test_examples_and_an_exactly_once_source_run_with_tls_and_the_printed_rights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = Stores(tmp_path / "stores", "JKS")
    with authorizing_broker(tmp_path / "broker", stores) as broker:
        places = {"home": tmp_path, "servers": broker.sasl_servers, "trust": stores.trust}
        user = {"user": broker.user(), "password": PASSWORD, "store_password": STORE_PASSWORD}
        files = {"worker": WORKER.format(**places, **user), "access-log": f"name=access-log\n{SOURCE.format(**places)}"}
        for number in (1, 2):
            text = SINK.format(**places, name=f"example-{number}", topic=f"orders-{number}")
            files[f"example-{number}"] = (
                f"name=example-{number}\n{text}{(KIP / f'example{number}.properties').read_text()}"
            )
        paths = {name: tmp_path / f"{name}.properties" for name in files}
        for name, path in paths.items():
            path.write_text(files[name])
        (tmp_path / "access.log").write_text("one\ntwo\n")
        worker, *connectors = map(str, paths.values())
        assert main(["acls", worker, *connectors]) == 0
        broker.grant(printed_acls(capsys.readouterr().out))
        administrator = {"bootstrap.servers": broker.bootstrap_servers}
        for topic in ("orders-1", "orders-2", "access"):
            KafkaAdmin(admin_settings(administrator)).create_topic(topic, 1, 1)
        producer = KafkaProducer(producer_settings(administrator))
        for number in (1, 2):
            for value in (b'{"a":1}', BROKEN, b'{"a":2}'):
                producer.produce(f"orders-{number}", b"k", value)
        producer.flush()
        driver = Driver(tmp_path / "driver", load_properties(paths["worker"]))
        with running(driver):
            driver.start().await_leading()
            for name in ("example-1", "example-2", "access-log"):
                answer = driver.put(name, load_properties(paths[name]))
                assert answer.status_code == 201, answer.text

            def state(name: str) -> list[str]:
                return [task["state"] for task in driver.get(f"/connectors/{name}/status")["tasks"]]

            driver.until(lambda: state("example-1") == ["FAILED"], "Example 1 fails fast")
            driver.until(lambda: everything(broker, LETTERS, 25), "Example 2 writes a dead letter", 120)
            out = tmp_path / "example-2.out"
            driver.until(lambda: out.exists() and len(out.read_text().splitlines()) == 2, "Example 2 goes on")
            driver.until(lambda: len(everything(broker, "access")) == 2, "the source's records are committed")
            assert (state("example-2"), state("access-log")) == (["RUNNING"], ["RUNNING"])
        (letter,) = everything(broker, LETTERS, 25)
        body = orjson.loads(letter.value or b"")
        assert body.keys() >= orjson.loads((KIP / "example4.json").read_bytes()).keys() - {"record"}
