"""A deployment of compose.yaml: its containers, its main job over REST, and what becomes of its processes."""

from __future__ import annotations

import base64
import json
import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from demo.environment import ROOT
from dlqadmin.host.network import HOST, free_ports, wait_until
from tests.images.docker import Docker

UP_TIMEOUT_S = 580
SECRETS = ("SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "SPARK_SECRET", "ENGINE_TOKEN")
DONE_TIMEOUT_S = 240  # on two shared cores, with everything starting again
TOPIC, TARGET, DEAD_LETTERS, CONNECTOR = "orders", "orders-checked", "orders.dlq", "check-orders"
CONFIG = {
    "connector.class": "KafkaSink",
    "topics": TOPIC,
    "topic": TARGET,
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "transforms": "cast",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "amount:float64",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": DEAD_LETTERS,
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.include.messages": "true",
}
# The engine's REST API is not published. This runs in the container of the web server, which may reach it.
ENGINE_REQUEST = """
import httpx, os, sys
method, path, body = sys.argv[1:]
headers = {"Authorization": "Bearer " + os.environ["ENGINE_TOKEN"], "Content-Type": "application/json"}
response = httpx.request(method, os.environ["ENGINE_URL"] + path, content=body, headers=headers, timeout=30)
print(response.text or "null")
response.raise_for_status()
"""


class Deployment:
    """The services of compose.yaml with the settings of `home/.env`, published on a free port."""

    def __init__(self, docker: Docker, home: Path, services: Mapping[str, str], profile: str = "") -> None:
        """`services` are images in place of those of third parties. A profile starts further services."""
        self.address = f"{HOST}:{free_ports(1)[0]}"
        self.docker = Docker({**docker.env, "WEB_BIND": self.address})
        self._home = home
        self._profile = ["--profile", profile] if profile else []
        images = {name: {"image": image, "pull_policy": "never"} for name, image in services.items()}
        (home / "images.yaml").write_text(json.dumps({"services": images}))
        self._project = f"dlqadmin-test-{secrets.token_hex(3)}"
        self._token = ""

    def configure(self, **others: str) -> None:
        """Write settings with made-up secrets, and other settings."""
        settings = {name: secrets.token_hex(32) for name in SECRETS}
        settings |= {"ALLOWED_HOSTS": "dlqadmin.example.com", **others}
        (self._home / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    @property
    def options(self) -> list[str]:
        """The options of `docker compose` that choose this deployment."""
        files = ["--file", str(ROOT / "compose.yaml"), "--file", str(self._home / "images.yaml")]
        return ["--project-name", self._project, "--env-file", str(self._home / ".env"), *files, *self._profile]

    def compose(self, *arguments: str, timeout_s: float = 120, text: str = "") -> str:
        """Run `docker compose` on this deployment."""
        return self.docker.compose(*self.options, *arguments, timeout_s=timeout_s, text=text)

    def up(self) -> None:
        """Start all services in their order; return when every health check passes."""
        self.compose("up", "--detach", "--no-build", "--wait", timeout_s=UP_TIMEOUT_S)

    def down(self) -> None:
        """Remove all containers, networks and volumes."""
        self.compose("down", "--volumes", "--timeout", "2")

    def definition(self) -> dict[str, Any]:
        """Return the services of compose.yaml, with their variables replaced."""
        return dict(json.loads(self.compose("config", "--format", "json"))["services"])

    def container(self, service: str) -> dict[str, Any]:
        """Return the facts of a service's container."""
        return self.docker.inspect(self.compose("ps", "--all", "--quiet", service).strip())

    def running(self) -> list[str]:
        """Return the services that should run until they are stopped."""
        return sorted(self.compose("ps", "--services", "--status", "running").split())

    def execute(self, service: str, *command: str, text: str = "") -> str:
        """Run a command in a service's container."""
        return self.compose("exec", "--no-TTY", service, *command, text=text)

    def kill(self, service: str) -> Callable[[], bool]:
        """Kill a service's first process as `kill -9` does; return a check that it was started again and is healthy."""
        before = self.container(service)
        os.kill(before["State"]["Pid"], signal.SIGKILL)

        def is_back() -> bool:
            now = self.container(service)
            health = now["State"].get("Health", {}).get("Status", "healthy")
            return bool(
                now["RestartCount"] > before["RestartCount"] and now["State"]["Running"] and health == "healthy"
            )

        return is_back

    # The main job

    def add_person(self) -> None:
        """Create an administrator."""
        name = ("--username", "ada")
        self.execute("web", "python", "manage.py", "createsuperuser", "--noinput", *name, "--email", "ada@example.com")

    def sign_in(self) -> None:
        """Take a token of the administrator, with which one may fix and replay."""
        roles = ("--role", "operator", "--role", "payload reader")
        self._token = self.execute(
            "web", "python", "manage.py", "create_token", "ada", "--name", "test", *roles
        ).strip()

    def rest(self, method: str, path: str, **arguments: Any) -> Any:
        """Return the dashboard's JSON document. Raises httpx.HTTPError."""
        content = self.content(method, path, **arguments)
        return json.loads(content) if content else None

    def content(self, method: str, path: str, **arguments: Any) -> bytes:
        """Ask the dashboard, as its TLS proxy does. Raises httpx.HTTPError."""
        headers = {"Authorization": f"Bearer {self._token}", "X-Forwarded-Proto": "https"}
        url = f"http://{self.address}/api/v1/{path}"
        response = httpx.request(method, url, headers=headers, timeout=30, **arguments)
        if response.is_error:
            raise httpx.HTTPStatusError(response.text, request=response.request, response=response)
        return response.content

    def engine(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the engine."""
        text = "" if body is None else json.dumps(body)
        return json.loads(self.execute("web", "python", "-c", ENGINE_REQUEST, method, path, text))

    def create_topics(self) -> None:
        """Create the topics of the connector."""
        for topic in (TOPIC, TARGET):
            command = ("--bootstrap-server", "kafka:9092", "--create", "--topic", topic, "--partitions", "2")
            self.execute("kafka", "/opt/kafka/bin/kafka-topics.sh", *command)

    def produce(self, values: Sequence[Mapping[str, Any]]) -> None:
        """Send records with the values as JSON. Their keys are the values of `id`."""
        lines = "".join(f"{value['id']}\t{json.dumps(value)}\n" for value in values)
        options = ("--bootstrap-server", "kafka:9092", "--topic", TOPIC, "--property", "parse.key=true")
        self.execute("kafka", "/opt/kafka/bin/kafka-console-producer.sh", *options, text=lines)

    def arrived(self) -> list[str]:
        """Return the committed records of the connector's target topic."""
        options = ("--bootstrap-server", "kafka:9092", "--topic", TARGET, "--from-beginning", "--timeout-ms", "10000")
        isolation = ("--isolation-level", "read_committed")
        return self.execute("kafka", "/opt/kafka/bin/kafka-console-consumer.sh", *options, *isolation).splitlines()

    def letters(self) -> list[dict[str, Any]]:
        """Return the indexed dead letters."""
        return list(self.rest("GET", "dead-letters", params={"limit": 100})["results"])

    def until_indexed(self, count: int) -> None:
        """Return when the index has so many dead letters."""
        wait_until(
            lambda: _calmly(lambda: len(self.letters())) == count, f"{count} indexed dead letters", DONE_TIMEOUT_S, 1
        )

    def repair(self, letter: int, value: Mapping[str, Any]) -> None:
        """Draft another value for a dead letter."""
        encoded = base64.b64encode(json.dumps(value).encode()).decode()
        self.rest("PUT", f"dead-letters/{letter}/fix", json={"value": {"base64": encoded}})

    def replay(self, letters: Sequence[int], **options: Any) -> int:
        """Plan a replay of the letters and run it; return its id."""
        selection = self.rest("POST", "selections", json={"ids": list(letters)})["id"]
        planned = self.rest("POST", "replays", json={"selection": selection, "use_fixes": True, **options})
        body = {"reason": "the amounts are numbers now", "plan_digest": planned["plan"]["digest"]}
        self.rest("POST", f"replays/{planned['id']}/run", json=body)
        return int(planned["id"])

    def do_main_job(self, orders: Sequence[Mapping[str, Any]], repaired: Mapping[str, Mapping[str, Any]]) -> None:
        """Create the connector, let orders fail, repair and replay them; return when all are proven to have passed.

        `repaired` are the orders that fail, by their ids, as they should be.
        """
        self.engine("POST", "/connectors", {"name": CONNECTOR, "config": CONFIG})
        self.produce(orders)
        self.until_indexed(len(repaired))
        letters = {self.rest("GET", f"dead-letters/{row['id']}")["key"]["text"]: row["id"] for row in self.letters()}
        assert set(letters) == set(repaired)
        for key, letter in letters.items():
            self.repair(letter, repaired[key])
        replay = self.replay(list(letters.values()))
        assert self.until_done(replay)["counts"]["passed"] == len(repaired)
        assert self.outcomes(replay) == [("passed", "proven")] * len(repaired)
        assert len(self.arrived()) == len(orders)

    def until_done(self, replay: int) -> dict[str, Any]:
        """Return the replay when its outcomes are known."""
        what = f"the end of replay {replay}"
        wait_until(lambda: self.status(replay) == "done", what, DONE_TIMEOUT_S, 1)
        return dict(self.rest("GET", f"replays/{replay}"))

    def status(self, replay: int) -> str:
        """Return the status of a replay; nothing while the web server does not answer."""
        return str(_calmly(lambda: self.rest("GET", f"replays/{replay}")["status"]))

    def outcomes(self, replay: int) -> list[tuple[str, str]]:
        """Return the state of each item, and how it is known."""
        items = self.rest("GET", f"replays/{replay}/items", params={"limit": 100})["results"]
        return [(item["state"], item["known_by"]) for item in items]


def _calmly(ask: Callable[[], Any]) -> Any:
    """Return the answer, or nothing while the web server starts again."""
    try:
        return ask()
    except httpx.HTTPError:
        return None
