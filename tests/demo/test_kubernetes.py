"""deploy/kubernetes/engine.yaml, read as text: nothing is started, and no cluster has seen it."""

from __future__ import annotations

from typing import Any

import yaml

from demo.environment import ROOT
from engine.config.properties import parse_properties
from engine.config.worker import WorkerConfig, parse_worker

DOCUMENTS: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/engine.yaml").read_text()))
NAME = "dlqadmin-engine"
VERBS = {"create", "get", "list", "watch", "delete", "deletecollection"}


def one(kind: str, name: str = NAME) -> dict[str, Any]:
    [found] = [row for row in DOCUMENTS if row["kind"] == kind and row["metadata"]["name"] == name]
    return found


POD: dict[str, Any] = one("Deployment")["spec"]["template"]["spec"]
DRIVER: dict[str, Any] = POD["containers"][0]
CONFIG: dict[str, str] = one("ConfigMap")["data"]
EXECUTOR: dict[str, Any] = yaml.safe_load(CONFIG["executor.yaml"])["spec"]


def environment() -> dict[str, str]:
    """Return the driver's variables, with values as Kubernetes would fill them in."""
    values = {"token": "t" * 64, "metadata.namespace": "flows", "metadata.name": f"{NAME}-1"}
    found = {}
    for row in DRIVER["env"]:
        source = row["valueFrom"]
        found[row["name"]] = values[source.get("secretKeyRef", {}).get("key") or source["fieldRef"]["fieldPath"]]
    return found


def worker() -> WorkerConfig:
    return parse_worker(parse_properties(CONFIG["worker.properties"]), environment())


def test_every_object_has_a_version_a_kind_and_a_name_and_none_occurs_twice() -> None:
    names = [(row["apiVersion"], row["kind"], row["metadata"]["name"]) for row in DOCUMENTS]
    assert len(set(names)) == len(names) == 7


def test_the_role_lets_the_driver_do_what_sparks_client_mode_does() -> None:
    [rule] = one("Role")["rules"]
    assert rule["apiGroups"] == [""]
    assert set(rule["resources"]) == {"pods", "configmaps", "services", "persistentvolumeclaims"}
    assert set(rule["verbs"]) == VERBS
    binding = one("RoleBinding")
    assert binding["roleRef"]["kind"] == "Role"
    assert binding["roleRef"]["name"] == NAME
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": POD["serviceAccountName"]}]
    assert one("ServiceAccount")["automountServiceAccountToken"] is False


def test_executors_find_the_driver_by_a_service_without_an_address() -> None:
    spark = worker().spark
    service = one("Service", spark["spark.driver.host"])["spec"]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    assert service["selector"] == one("Deployment")["spec"]["template"]["metadata"]["labels"]
    ports = {int(spark["spark.driver.port"]), int(spark["spark.driver.blockManager.port"])}
    assert {row["port"] for row in service["ports"]} == ports
    assert ports <= {row["containerPort"] for row in DRIVER["ports"]}
    assert spark["spark.driver.bindAddress"] == "0.0.0.0"


def test_the_worker_starts_executors_in_the_drivers_namespace_and_name() -> None:
    config = worker()
    assert config.spark_master.startswith("k8s://https://")
    assert config.spark["spark.kubernetes.namespace"] == "flows"
    assert config.spark["spark.kubernetes.driver.pod.name"] == f"{NAME}-1"
    assert config.spark["spark.kubernetes.container.image"] == DRIVER["image"]
    assert config.spark["spark.authenticate"] == config.spark["spark.network.crypto.enabled"] == "true"


def test_the_worker_and_the_probes_use_the_rest_port() -> None:
    [listener] = worker().rest.listeners
    [port] = one("Service")["spec"]["ports"]
    assert port["port"] == listener.port
    assert {DRIVER[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")} == {"/health"}
    assert DRIVER["resources"]["requests"].keys() == {"cpu", "memory"}


def test_no_pod_is_root_or_writes_outside_its_volumes() -> None:
    for pod, [container] in ((POD, POD["containers"]), (EXECUTOR, EXECUTOR["containers"])):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 10001  # of the Dockerfile
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        volumes = {row["name"] for row in pod["volumes"]}
        assert {row["name"] for row in container["volumeMounts"]} == volumes
    assert "--uid 10001" in (ROOT / "Dockerfile").read_text()


def test_an_executor_begins_in_a_directory_where_it_may_write() -> None:
    [executor] = EXECUTOR["containers"]
    spark = worker().spark
    assert spark["spark.kubernetes.executor.podTemplateContainerName"] == executor["name"]
    assert executor["command"] == ["python", "-m", "engine.spark.executor"]
    assert executor["workingDir"] in {row["mountPath"] for row in executor["volumeMounts"]}
    [mount] = [row for row in DRIVER["volumeMounts"] if row["name"] == "config"]
    assert spark["spark.kubernetes.executor.podTemplateFile"] == f"{mount['mountPath']}/executor.yaml"


def test_no_local_directory_is_named_because_spark_mounts_each_as_a_volume() -> None:
    assert "spark.local.dir" not in worker().spark


def test_no_secret_is_in_the_file() -> None:
    assert not [row for row in DOCUMENTS if row["kind"] == "Secret"]
    assert "secret" not in CONFIG["worker.properties"]
