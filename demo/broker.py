"""A real single-node Kafka broker (KRaft) on this machine, without Docker.

`python -m demo.broker` runs one in the foreground, at KAFKA_BOOTSTRAP_SERVERS, with its data in
LOCAL_DIR. KAFKA_JVM_PERFORMANCE_OPTS are the JVM's options, as in Kafka's own scripts.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from demo.jars import class_path
from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until

CLUSTER_ID = "ZGxxYWRtaW4tbG9jYWwtMQ"
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 20

SERVER_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=8
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=8
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=8
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
log.retention.check.interval.ms=60000
log.index.size.max.bytes=1048576
"""


class LocalBroker:
    """A broker with its own directory and ports, which survive stop, kill and restart.

    `classes` is the class path of another version of Kafka. `features` are levels of Kafka's features, such as
    `share.version=2`. `heap` is the most memory of the JVM's heap.
    """

    def __init__(
        self,
        home: Path,
        port: int | None = None,
        overrides: dict[str, str] | None = None,
        classes: str = "",
        features: Sequence[str] = (),
        host: str = HOST,
        heap: str = "512m",
    ) -> None:
        self.home, self.host, self.heap = home, host, heap
        if port is None:
            self.port, self.controller_port = free_ports(2)
        else:
            self.port, self.controller_port = port, port + 1
        self.overrides = overrides or {}
        self.classes, self.features = classes, features
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """Return the address for clients."""
        return f"{self.host}:{self.port}"

    def start(self) -> LocalBroker:
        """Start the broker and return when it answers."""
        self.launch()
        self.await_ready()
        return self

    def launch(self) -> None:
        """Start the broker. A broker of several answers only when most of their controllers run."""
        self.prepare()
        with Path(self.home, "broker.log").open("ab") as log:
            # A session of its own, so that a Ctrl-C in the terminal reaches only our parent, which then stops
            # the broker.
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, start_new_session=True)

    def await_ready(self) -> None:
        """Return when the broker answers. Raises TimeoutError or ChildProcessError, and ends it."""
        try:
            wait_until(self._alive_and_ready, f"The Kafka broker at {self.bootstrap_servers}", START_TIMEOUT_S)
        except (TimeoutError, ChildProcessError):
            self.kill()
            raise

    def stop(self) -> None:
        """Shut the broker down cleanly."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the broker, as a power cut would."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop and start the broker. Data and addresses stay."""
        self.stop()
        self.start()

    def prepare(self) -> None:
        """Write server.properties, and format the data directory the first time."""
        data = Path(self.home, "data")
        self.home.mkdir(parents=True, exist_ok=True)
        text = SERVER_PROPERTIES.format(host=self.host, port=self.port, controller_port=self.controller_port, data=data)
        text += "".join(f"{name}={value}\n" for name, value in self.overrides.items())
        self._properties.write_text(text)
        if not Path(data, "meta.properties").exists():
            tool = [*self._java("256m"), "kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID]
            tool += [word for feature in self.features for word in ("--feature", feature)]
            subprocess.run([*tool, "--config", str(self._properties)], check=True, capture_output=True)

    def command(self) -> list[str]:
        """Return the command line that runs the prepared broker."""
        return [*self._java(self.heap), "kafka.Kafka", str(self._properties)]

    def ready(self) -> bool:
        """Return whether the broker answers a client.

        It checks the port first, because a client would wait for a broker that does not listen.
        """
        if not is_answering(self.host, self.port):
            return False
        client = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        try:
            return bool(client.list_topics(timeout=2).brokers)
        except KafkaException:
            return False

    def _alive_and_ready(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise ChildProcessError(f"The Kafka broker exited during its start; see {self.home}/broker.log.")
        return self.ready()

    def _end(self, sign: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(sign)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def _java(self, heap: str) -> list[str]:
        given = shlex.split(os.environ.get("KAFKA_JVM_PERFORMANCE_OPTS", "-XX:+UseSerialGC"))
        options = [f"-Xmx{heap}", *given, "-Djava.awt.headless=true"]
        # Coordinators that are stopped while they load log that as an error, although it is none.
        logging = ["defaultLogLevel=error", "log.org.apache.kafka.coordinator=off", "showDateTime=true"]
        options += [f"-Dorg.slf4j.simpleLogger.{setting}" for setting in logging]
        return ["java", *options, "-cp", self.classes or class_path()]

    @property
    def _properties(self) -> Path:
        return Path(self.home, "server.properties")


def main() -> None:
    """Replace this process by the demonstration's broker."""
    port = int(os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:19092").rpartition(":")[2])
    broker = LocalBroker(Path(os.environ.get("LOCAL_DIR", ".local"), "broker").absolute(), port)
    broker.prepare()
    command = broker.command()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
