"""The promises of compose.yaml, the Dockerfile and the chart, read from them: nothing is started.

test_helm.py renders the chart.
"""

import json
import re
import shlex
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from django.conf import settings

from demo.environment import ROOT
from engine.config.plugin_versions import VERSION
from engine.config.properties import parse_properties
from engine.config.worker import parse_worker
from engine.rest.access import access_rules

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CHART = ROOT / "deploy" / "helm" / "dlqadmin"
WITHOUT_HEALTH = {"migrate", "indexer"}  # one ends by itself, the other ends when it cannot go on


@pytest.mark.parametrize("name", sorted(set(SERVICES) - WITHOUT_HEALTH))
def test_a_service_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]


def test_every_queue_has_a_worker_of_its_own() -> None:
    commands = [str(service.get("command")) for service in SERVICES.values()]
    compose = [found for command in commands for found in re.findall(r" worker .*--queues (\S+)", command)]
    procfile = re.findall(r" worker .*--queues (\S+)", (ROOT / "Procfile").read_text())
    queues = {"celery", *(route["queue"] for route in settings.CELERY_TASK_ROUTES.values())}
    assert sorted(compose) == sorted(procfile) == sorted(queues)


def test_no_password_has_a_default() -> None:
    secrets = dict(
        re.findall(r"\$\{(\w*(?:PASSWORD|SECRET|TOKEN(?!_))\w*)([^}]*)", (ROOT / "compose.yaml").read_text())
    )
    needed = {"SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "SPARK_SECRET", "ENGINE_TOKEN"}
    assert all(secrets.pop(name).startswith(":?") for name in needed)
    optional = ("KAFKA_SASL_PASSWORD", "KAFKA_SSL_KEY_PASSWORD", "SCHEMA_REGISTRY_SECRETS", "EMAIL_HOST_PASSWORD")
    assert secrets == dict.fromkeys(optional, ":-")  # none, unless it is set


def test_the_spark_profile_has_a_master_and_two_workers() -> None:
    spark = {name for name, service in SERVICES.items() if service.get("profiles") == ["spark"]}
    assert spark == {"spark-master", "spark-worker-1", "spark-worker-2"}


def test_the_engines_rest_is_not_published() -> None:
    assert not SERVICES["engine"].get("ports")


def test_the_engine_and_the_dashboard_have_one_token() -> None:
    engine, web = SERVICES["engine"]["environment"], SERVICES["web"]["environment"]
    assert engine["CONNECT_REST_AUTH_TOKEN"] == web["ENGINE_TOKEN"]
    given = parse_properties((ROOT / COMPOSE["configs"]["worker"]["file"]).read_text())
    worker = parse_worker(given, {"CONNECT_REST_AUTH_TOKEN": "x" * 32})
    hosts = access_rules(worker, {})[0].hosts
    assert {urlsplit(web["ENGINE_URL"]).hostname, "127.0.0.1"} <= hosts


def test_the_web_image_has_neither_java_nor_spark() -> None:
    stages = re.split(r"^FROM ", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    (web,) = [stage for stage in stages if " AS web\n" in stage]
    (packages,) = [stage for stage in stages if " AS web-packages\n" in stage]
    assert "java" not in web
    assert "locks/web.txt" in packages
    assert "pyspark" not in (ROOT / "locks" / "web.txt").read_text()


def test_no_image_runs_as_root() -> None:
    assert (ROOT / "Dockerfile").read_text().count("USER dlqadmin") == 2


def test_every_requirement_is_pinned_exactly() -> None:
    lines = [
        line.partition("#")[0].strip()
        for name in ("requirements.txt", "requirements-dev.txt")
        for line in (ROOT / name).read_text().splitlines()
    ]
    assert [line for line in lines if "==" not in line and line != "-r requirements.txt"] == []


def test_the_chart_has_the_version_of_the_code() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == VERSION


def test_the_chart_starts_what_compose_starts() -> None:
    templates = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    commands = [
        yaml.safe_load(found)
        for found in re.findall(r"\bcommand: (\[[^{}]*?\])(?:$|\")", templates, re.MULTILINE)
        if not found.startswith("[sh,")  # probes
    ]
    ours = ("worker", "replayer", "beat", "indexer", "migrate", "engine")
    assert sorted(shlex.split(SERVICES[name]["command"]) for name in ours) == sorted(
        command for command in commands if "engine.spark.executor" not in command
    )
    assert "command" not in SERVICES["web"]  # both run the image's


def test_the_charts_values_name_secrets_and_hold_none() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert all(row.keys() == {"key"} for row in values["secretEnv"].values())
    assert values["existingSecret"] == values["kafka"]["bootstrapServers"] == ""
    assert values["hosts"] == []
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(values) | {"global"} == set(schema["properties"])
