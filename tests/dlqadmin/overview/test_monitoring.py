"""The rules for Prometheus and the dashboard for Grafana, and the metrics that they use."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from rest_framework.test import APIClient

from dlqadmin.host.network import wait_until
from dlqadmin.overview.processes import BEAT, note
from engine.rest.prometheus import ERRORS, GAUGES, HELP, families
from tests.dlqadmin.conftest import person, token_of
from tests.dlqadmin.overview.test_overview import position
from tests.support.prometheus import LocalPrometheus, PrometheusMissing, find

ROOT = Path(__file__).resolve().parents[3]
RULES = ROOT / "monitoring" / "prometheus-rules.yml"
DASHBOARD = ROOT / "monitoring" / "grafana-dashboard.json"
RULE_TESTS = Path(__file__).parent / "prometheus-rules.test.yml"
HOW_TO = ROOT / "docs" / "how-to" / "alert-on-errors.md"
METRIC = re.compile(r"\b(?:dlqadmin|kafka_connect)_\w+")
PATIENCE_S = 30


@pytest.fixture
def promtool() -> str:
    try:
        return find("promtool")
    except PrometheusMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def prometheus(tmp_path: Path, live_server: LiveServer, transactional_db: None) -> Iterator[LocalPrometheus]:
    """A server that scrapes the running dashboard as a user who may only view."""
    token = token_of(person("prometheus", "viewer"), "viewer")
    try:
        started = LocalPrometheus(tmp_path, urlsplit(live_server.url).netloc, token, RULES).start()
    except PrometheusMissing as missing:
        pytest.skip(str(missing))
    yield started
    started.stop()


@pytest.mark.django_db
@pytest.mark.parametrize("file", [RULES, DASHBOARD], ids=lambda path: path.name)
def test_only_metrics_that_exist_are_used(as_viewer: APIClient, file: Path) -> None:
    rendered = as_viewer.get("/metrics").content.decode()
    known = set(re.findall(r"^# TYPE (\S+)", rendered, re.MULTILINE))
    known |= {family.name + "_total" * (family.type == "counter") for family in families([], 0)}
    # The engine makes these of the counters that its tasks report.
    known |= {ERRORS + name.replace("-", "_").removesuffix("_total") + "_total" * (name not in GAUGES) for name in HELP}
    used = set(METRIC.findall(file.read_text()))
    assert len(used) > 8
    assert used - known == set()


@pytest.mark.django_db
def test_prometheus_is_not_redirected_to_https(as_viewer: APIClient, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert as_viewer.get("/metrics").status_code == 200
    assert as_viewer.get("/api/v1/health").status_code == 301


def test_every_alert_has_a_section_in_the_how_to() -> None:
    headings = {line.removeprefix("### ").lower() for line in HOW_TO.read_text().splitlines() if line[:4] == "### "}
    runbooks = re.findall(r"runbook: docs/how-to/alert-on-errors\.md#(\w+)", RULES.read_text())
    alerts = [name.lower() for name in re.findall(r"- alert: (\w+)", RULES.read_text())]
    assert runbooks == alerts
    assert set(alerts) - headings == set()


def test_the_grafana_dashboard_lets_its_reader_choose_the_data_source() -> None:
    model: dict[str, Any] = json.loads(DASHBOARD.read_text())
    sources = {panel["datasource"]["uid"] for panel in model["panels"]}
    sources |= {target["datasource"]["uid"] for panel in model["panels"] for target in panel["targets"]}
    assert sources == {"${datasource}"}
    assert model["templating"]["list"][0]["type"] == "datasource"
    assert len({panel["id"] for panel in model["panels"]}) == len(model["panels"])


@pytest.mark.django_db
def test_prometheus_reads_replays_and_processes(as_viewer: APIClient) -> None:
    now = timezone.now()
    note("worker-1", ["celery"], now)
    note("worker-2", ["replays"], now - timedelta(minutes=5))
    note(BEAT, [], now)
    position(now, 0, at=10, end=10, seconds_ago=90)
    text = as_viewer.get("/metrics").content.decode()
    assert 'dlqadmin_workers_alive{queue="celery"} 1.0' in text
    assert 'dlqadmin_workers_alive{queue="replays"} 0.0' in text
    assert "dlqadmin_scheduler_alive 1.0" in text
    assert 'dlqadmin_replays{status="paused"} 0.0' in text
    silent = re.search(r'^dlqadmin_indexer_seconds_silent{cluster="local"} (\d+)', text, re.MULTILINE)
    assert silent is not None
    assert 90 <= int(silent[1]) < 150


def test_promtool_finds_no_fault_and_alerts_fire_when_they_should(promtool: str) -> None:
    for command in (["check", "rules", "--lint-fatal", str(RULES)], ["test", "rules", str(RULE_TESTS)]):
        done = subprocess.run([promtool, *command], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_real_prometheus_scrapes_the_dashboard_and_evaluates_the_rules(prometheus: LocalPrometheus) -> None:
    position(timezone.now(), 0, at=10, end=25)
    note("worker-1", ["celery"], timezone.now())
    with httpx.Client(base_url=f"{prometheus.url}/api/v1/") as client:

        def answer(path: str, **params: str) -> Any:
            return client.get(path, params=params).json()["data"]

        def lags() -> list[str]:
            return [row["value"][1] for row in answer("query", query="dlqadmin_index_lag_records")["result"]]

        def alerts() -> dict[str, dict[str, Any]]:
            return {row["name"]: row for group in answer("rules")["groups"] for row in group["rules"]}

        wait_until(lambda: lags() == ["15"], "The scrape", PATIENCE_S)
        wait_until(lambda: alerts()["WorkerMissing"]["state"] == "pending", "The alert", PATIENCE_S)
        assert [row["health"] for row in answer("targets")["activeTargets"]] == ["up"]
        assert {row["health"] for row in alerts().values()} == {"ok"}
        missing = alerts()["WorkerMissing"]["alerts"]
        assert [row["labels"]["queue"] for row in missing] == ["replays"]
