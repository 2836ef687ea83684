"""A deployment is closed by default: weak settings stop the start, containers can do little, and parts are pinned."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.environment import ROOT
from demo.jars import FetchFailed, check, pins, sha256
from tests.advisories import Unreachable, npm_weaknesses, python_weaknesses

STRONG = "".join(chr(33 + n % 90) for n in range(0, 900, 13))
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[\w,-]+\])?==([^ ;\\]+)")


def start(**environment: str) -> str:
    """Read the settings as a process of an installation does; return what it said when it was refused."""
    env = {"PATH": os.environ["PATH"], "DATABASE_URL": "sqlite:///:memory:", **environment}
    command = [sys.executable, "-c", "import dlqadmin.settings"]
    started = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    return "" if started.returncode == 0 else started.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("key", ["", "short", "k" * 60, "abcd" * 20])
def test_a_weak_key_stops_the_start_outside_local(key: str) -> None:
    said = start(DLQADMIN_ENVIRONMENT="PRODUCTION", SECRET_KEY=key)
    assert "SECRET_KEY is too weak. Set it to at least 50 random characters" in said
    assert not key or key not in said


def test_any_host_stops_the_start_outside_local() -> None:
    assert "ALLOWED_HOSTS" in start(DLQADMIN_ENVIRONMENT="STAGING", SECRET_KEY=STRONG, ALLOWED_HOSTS="a.example,*")


def test_debug_stops_the_start_outside_local() -> None:
    assert "DJANGO_DEBUG" in start(DLQADMIN_ENVIRONMENT="PRODUCTION", SECRET_KEY=STRONG, DJANGO_DEBUG="1")


def test_a_strong_key_and_named_hosts_start() -> None:
    assert start(DLQADMIN_ENVIRONMENT="PRODUCTION", SECRET_KEY=STRONG, ALLOWED_HOSTS="dlq.example.com") == ""


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_container_has_no_capability_and_writes_only_where_it_must(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert "cap_add" not in service


def test_database_and_redis_are_on_a_network_without_a_way_out() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert SERVICES["postgres"]["networks"] == SERVICES["redis"]["networks"] == ["data"]
    assert compose["networks"]["data"]["internal"] is True
    assert "data" not in {network for name in ("engine", "kafka") for network in SERVICES[name]["networks"]}


def test_sparks_processes_know_each_other_by_a_secret() -> None:
    assert SERVICES["engine"]["environment"]["CONNECT_SPARK_AUTHENTICATE"] == "true"
    for name in ("spark-master", "spark-worker-1", "spark-worker-2"):
        assert SERVICES[name]["environment"]["_SPARK_AUTH_SECRET"].startswith("${SPARK_SECRET:?")


def test_a_read_only_container_gets_its_configuration_from_a_file() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert [config for config in compose["configs"].values() if not (ROOT / config["file"]).is_file()] == []


def test_every_choice_of_the_dashboard_reaches_its_containers() -> None:
    """All of .env.example, but for the demonstration's, and those of clients: compose.yaml has an engine of its own."""
    example = (ROOT / ".env.example").read_text()
    offered = set(re.findall(r"^(?:# )?([A-Z][A-Z_]+)=", example, re.MULTILINE))
    given = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text())) | set(SERVICES["web"]["environment"])
    local = {"WEB_HOST", "WEB_PORT", "DEMO_TRICKLE_PER_MINUTE", "DEMO_PAST_WEEK"}
    assert {name for name in offered - given - local if not name.startswith(("KAFKA_", "ENGINE_"))} == set()


def test_no_password_stands_on_a_command_line() -> None:
    commands = [str(service.get("command", "")) for service in SERVICES.values()]
    assert not [command for command in commands if re.search(r"--requirepass|spark.authenticate.secret=", command)]


def test_every_image_is_pinned_by_its_digest() -> None:
    images = [service["image"] for service in SERVICES.values() if "build" not in service]
    dockerfile = (ROOT / "Dockerfile").read_text()
    images += re.findall(r"^ARG \w+_IMAGE=(\S+)", dockerfile, re.MULTILINE)
    assert len(images) == 5
    assert set(re.findall(r"^FROM \${(\w+)}", dockerfile, re.MULTILINE)) == {"NODE_IMAGE", "PYTHON_IMAGE"}
    assert [image for image in images if not re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", image)] == []


def locked(name: str) -> dict[str, str]:
    """Return the versions of a lock; each package must have a hash."""
    entries = re.split(r"\n(?=\S)", (ROOT / "locks" / f"{name}.txt").read_text().strip())
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    return {_plain(found[1]): found[2] for entry in entries if (found := PIN.match(entry))}


def required(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    return {_plain(found[1]): found[2] for line in lines if (found := PIN.match(line))}


def _plain(name: str) -> str:
    return re.sub(r"[._-]+", "-", name).lower()


@pytest.mark.parametrize(("lock", "requirements"), [("run", "requirements.txt"), ("dev", "requirements-dev.txt")])
def test_a_lock_has_every_required_version_with_its_hash(lock: str, requirements: str) -> None:
    assert required(requirements).items() <= locked(lock).items(), "run `make lock`"


@pytest.mark.parametrize("part", ["dev", "web", "engine"])
def test_all_locks_name_the_same_versions(part: str) -> None:
    whole, own = locked("run"), locked(part)
    assert {name: version for name, version in own.items() if whole.get(name, version) != version} == {}


def test_everything_is_installed_by_its_hash() -> None:
    installs = [
        line
        for name in ("Makefile", "Dockerfile", ".ci/run")
        for line in (ROOT / name).read_text().splitlines()
        if re.search(r"\bpip .*\binstall\b", line)
    ]
    assert len(installs) == 4
    assert [line for line in installs if "--require-hashes" not in line] == []


def test_a_jar_that_is_not_the_pinned_one_is_not_installed(tmp_path: Path) -> None:
    name = next(iter(pins()))
    Path(tmp_path, name).write_bytes(b"another one")
    with pytest.raises(FetchFailed, match="does not match its SHA-256"):
        check(tmp_path, pins())
    check(tmp_path, {name: sha256(tmp_path / name)})


def test_a_jar_that_nobody_pinned_is_not_installed(tmp_path: Path) -> None:
    Path(tmp_path, "new-1.0.jar").write_bytes(b"")
    with pytest.raises(FetchFailed, match="has no SHA-256"):
        check(tmp_path, pins())


def test_a_known_weakness_is_told_with_the_version_that_mends_it() -> None:
    weak = {"id": "PYSEC-1", "fix_versions": ["2.0"]}
    report = {"dependencies": [{"name": "a", "version": "1.0", "vulns": [weak]}, {"name": "b", "skip_reason": "x"}]}
    assert list(python_weaknesses(report)) == ["a 1.0: PYSEC-1, fixed in 2.0"]
    assert list(npm_weaknesses({"vulnerabilities": {"c": {"severity": "high", "range": "<3"}}})) == ["c <3: high"]


def test_a_database_that_knows_no_package_is_no_clean_bill() -> None:
    with pytest.raises(Unreachable):
        list(python_weaknesses({"dependencies": [{"name": "a", "skip_reason": "not found"}]}))
    with pytest.raises(Unreachable, match="405"):
        list(npm_weaknesses({"message": "405 Method Not Allowed"}))
