"""The chart in deploy/helm, rendered by Helm and read: nothing is started, and no cluster has seen it.

Building Helm takes minutes, so `make soak` runs these tests. Shorter ones are in test_deployment.py.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.environment import ROOT
from engine.config.properties import parse_properties
from engine.config.worker import WorkerConfig, parse_worker
from engine.rest.access import access_rules
from tests.demo.test_deployment import SERVICES
from tests.demo.test_reference import first_cells
from tests.support import helm
from tests.support.documents import blocks
from tests.support.helm import NAMESPACE, RELEASE, HelmMissing, Rendered

pytestmark = [pytest.mark.soak, pytest.mark.slow]

NAME = f"{RELEASE}-dlqadmin"
MINIMAL: Mapping[str, Any] = {
    "hosts": ["dlqadmin.example.com"],
    "existingSecret": "flows-secrets",
    "kafka": {"bootstrapServers": "kafka-1:9093,kafka-2:9094"},
}
POD = {
    "podAnnotations": {"example.com/owner": "flows"},
    "podLabels": {"team": "flows"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "high",
}
CERTIFICATES = {
    "extraVolumes": [{"name": "certificates", "secret": {"secretName": "kafka-ca"}}],
    "extraVolumeMounts": [{"name": "certificates", "mountPath": "/etc/kafka", "readOnly": True}],
}
HTTPS = [{"ports": [{"protocol": "TCP", "port": 443}]}]
CONTROLLER = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}}]
EVERYTHING: Mapping[str, Any] = {
    **MINIMAL,
    **CERTIFICATES,
    "hosts": ["dlqadmin.example.com", "dlq.example.com"],
    "image": {
        "registry": "registry.example.com/flows/",
        "pullSecrets": [{"name": "registry"}],
        "web": {"digest": f"sha256:{'a' * 64}"},
        "engine": {"tag": "1.2.3"},
    },
    "secretEnv": {"AUDIT_KEY": {"name": "audit", "key": "key"}},
    "kafka": {
        **MINIMAL["kafka"],
        "options": {"security.protocol": "SASL_SSL", "ssl.ca.location": "/etc/kafka/ca.pem"},
        "secretOptions": {"sasl.username": {"key": "kafka-user"}, "sasl.password": {"key": "kafka-password"}},
    },
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "exports": {"persistence": {"storageClassName": "nfs"}},
    **{name: {**POD, "replicas": 3} for name in ("web", "worker", "replayer", "indexer")},
    "beat": POD,
    "migrations": POD,
    "engine": {
        **POD,
        **CERTIFICATES,
        "executors": {"instances": 3, "tolerations": POD["tolerations"], "nodeSelector": POD["nodeSelector"]},
        "config": {"spark.authenticate": False, "config.storage.replication.factor": 2, "exclude": r"a\b"},
        "secretEnv": {"CONNECT_SSL_KEY_PASSWORD": {"key": "kafka-key-password"}},
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
    },
    "ingress": {"enabled": True, "className": "nginx", "annotations": {"a": "b"}, "tls": {"secretName": "tls"}},
    "networkPolicy": {
        "webFrom": CONTROLLER, "monitoringFrom": CONTROLLER, "dashboardEgress": HTTPS, "engineEgress": HTTPS,
    },
    "serviceAccount": {"annotations": {"example.com/role": "flows"}},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "tokenSecret": {"name": "metrics"}},
}  # fmt: skip
LOCAL_ENGINE = {**MINIMAL, "engine": {"executors": {"enabled": False}}}
ENGINE_OFF = {
    **MINIMAL,
    "engine": {"enabled": False},
    "exports": {"persistence": {"enabled": False}},
    "migrations": {"enabled": False},
    "networkPolicy": {"enabled": False},
    "web": {"podDisruptionBudget": {"enabled": False}},
}
PAGE = ROOT / "docs" / "how-to" / "deploy-on-kubernetes.md"
SETS = {"minimal": MINIMAL, "everything": EVERYTHING, "local engine": LOCAL_ENGINE, "engine off": ENGINE_OFF}
DASHBOARD = {"web", "worker", "replayer", "indexer", "beat"}
SECRET_ENV = {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ENGINE_TOKEN"}


@pytest.fixture(autouse=True)
def _installed() -> None:
    try:
        helm.find()
        helm.schema(helm.VERSIONS[-1])
    except HelmMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=SETS)
def rendered(request: pytest.FixtureRequest, tmp_path: Path) -> Rendered:
    return helm.render(SETS[request.param], tmp_path)


@pytest.fixture
def minimal(tmp_path: Path) -> Rendered:
    return helm.render(MINIMAL, tmp_path)


@pytest.fixture
def everything(tmp_path: Path) -> Rendered:
    return helm.render(EVERYTHING, tmp_path)


@pytest.mark.parametrize("name", SETS)
def test_helm_finds_no_fault(name: str, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(SETS[name]))
    done = helm.run("lint", "--strict", "--kube-version", helm.VERSIONS[-1], "--values", str(file), str(helm.CHART))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("version", helm.VERSIONS)
def test_kubernetes_knows_every_field(rendered: Rendered, version: str) -> None:
    documents = [row for row in rendered.documents if row["kind"] != "ServiceMonitor"]  # of Prometheus Operator
    assert len(documents) > 6
    assert [fault for document in documents for fault in helm.faults(document, version)] == []
    for row in rendered.all("ConfigMap"):
        if "executor.yaml" in row["data"]:
            assert helm.faults(yaml.safe_load(row["data"]["executor.yaml"]), version) == []


def test_no_two_objects_have_one_name(rendered: Rendered) -> None:
    names = [(row["kind"], row["metadata"]["name"]) for row in rendered.documents]
    assert len(set(names)) == len(names)


def test_older_clusters_are_refused(tmp_path: Path) -> None:
    done = helm.template(MINIMAL, tmp_path, version="1.24.0")
    assert "requires kubeVersion" in done.stderr


def test_the_values_of_the_how_to_are_accepted(tmp_path: Path) -> None:
    first, *others = [yaml.safe_load(block.text) for block in blocks(PAGE) if block.language == "yaml"]
    assert len(others) == 2
    assert helm.render(first, tmp_path).all("Ingress")
    client, monitoring = (helm.render({**first, **other}, tmp_path) for other in others)
    assert worker(client).client["security.protocol"] == "SASL_SSL"
    assert len(monitoring.all("ServiceMonitor")) == 2


def test_the_notes_say_what_to_do_next(tmp_path: Path) -> None:
    told = helm.notes(MINIMAL, tmp_path)
    assert f"kubectl --namespace {NAMESPACE} exec -it deployment/{NAME}-web -- python manage.py createsuperuser" in told
    assert "https://dlqadmin.example.com" in told
    for value in ("ingress.enabled", "networkPolicy.webFrom", "networkPolicy.dashboardEgress"):
        assert value in told
        assert value not in helm.notes(EVERYTHING, tmp_path)
    assert "exports.persistence.enabled" in helm.notes(ENGINE_OFF, tmp_path)


def test_names_fit_into_dns_however_long_the_releases_is(tmp_path: Path) -> None:
    rendered = helm.render({**EVERYTHING, "fullnameOverride": "a" * 39 + "-" + "b" * 20}, tmp_path)
    names = [row["metadata"]["name"] for row in rendered.documents]
    assert all(re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name) for name in names)
    assert len(set(names)) > 10


def test_every_named_port_is_one_of_its_pods(everything: Rendered) -> None:
    """Kubernetes does not refuse others: it never reaches them."""
    ports = {
        component: {row["name"]: row["containerPort"] for row in pod["containers"][0].get("ports", ())}
        for component, pod in everything.pods()
    }
    labels = labels_of_pods(everything)
    used = [
        (selector, port.get("targetPort", port["port"]))
        for row in everything.all("Service")
        for selector in [{"matchLabels": row["spec"]["selector"]}]
        for port in row["spec"]["ports"]
    ] + [
        (spec["podSelector"], port["port"])
        for spec in policies(everything).values()
        for rule in spec.get("ingress", ())
        for port in rule.get("ports", ())
    ]
    assert len(used) > 6
    for selector, port in used:
        [component] = [name for name, given in labels.items() if selects(selector, given)]
        assert port in {*ports[component], *ports[component].values()}
    for component, pod in everything.pods():
        for kind in ("startup", "readiness", "liveness"):
            if asked := pod["containers"][0].get(f"{kind}Probe", {}).get("httpGet"):
                assert asked["port"] in ports[component]


# Pods


def test_no_pod_is_root_or_writes_outside_its_volumes(rendered: Rendered) -> None:
    for component, pod in rendered.pods():
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] == security["fsGroup"] == 10001  # of the Dockerfile
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["enableServiceLinks"] is False, component
        [container] = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        volumes = {row["name"]: row for row in pod["volumes"]}
        assert {row["name"] for row in container["volumeMounts"]} == set(volumes)
        assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"]
        assert volumes["tmp"]["emptyDir"] == {}
    assert "--uid 10001" in (ROOT / "Dockerfile").read_text()


def test_only_the_driver_may_use_the_clusters_api(rendered: Rendered) -> None:
    starts_executors = bool(rendered.all("Role"))
    for component, pod in rendered.pods():
        assert pod["automountServiceAccountToken"] is (component == "engine" and starts_executors)
    assert all(row["automountServiceAccountToken"] is False for row in rendered.all("ServiceAccount"))


def test_every_pod_but_sparks_asks_for_resources_and_has_a_limit_of_memory(rendered: Rendered) -> None:
    for component, pod in rendered.pods():
        if component != "executor":
            [container] = pod["containers"]
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert container["resources"]["limits"].keys() == {"memory"}


def test_the_processes_are_those_of_compose(minimal: Rendered) -> None:
    services = {"migrations" if name == "migrate" else name: service for name, service in SERVICES.items()}
    components = {component for component, _ in minimal.pods()} - {"executor"}
    external = {"kafka", "redis", "postgres", *(name for name in services if name.startswith("spark-"))}
    assert components == set(services) - external
    for component in components:
        command = services[component].get("command")
        assert minimal.container(component).get("command") == (command and shlex.split(command)), component


def test_probes_ask_what_composes_health_checks_ask(minimal: Rendered) -> None:
    checks = {
        name: service["healthcheck"]["test"][-1] for name, service in SERVICES.items() if "healthcheck" in service
    }
    probes = {
        component: json.dumps([minimal.container(component).get(f"{kind}Probe") for kind in ("readiness", "liveness")])
        for component in (*DASHBOARD, "engine")
    }
    for component in ("worker", "replayer", "beat"):
        assert json.dumps(checks[component].replace("$$", "$")) in probes[component]
    for component in ("web", "engine"):
        [path] = re.findall(r"http://127\.0\.0\.1:\d+(/[^']+)'", checks[component])
        assert f'"path": "{path}"' in probes[component]
    assert probes["indexer"] == "[null, null]"


def test_web_pods_get_requests_once_they_are_ready_and_are_asked_by_a_permitted_name(minimal: Rendered) -> None:
    web = minimal.container("web")
    paths = {kind: web[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert paths == {"startup": "/api/v1/alive", "liveness": "/api/v1/alive", "readiness": "/api/v1/ready"}
    hosts = variables(web)["ALLOWED_HOSTS"].split(",")
    for kind in paths:
        [header] = web[f"{kind}Probe"]["httpGet"]["httpHeaders"]
        assert header["name"] == "Host"
        assert header["value"] in hosts


def test_processes_have_time_to_end(minimal: Rendered) -> None:
    grace = {name: pod["terminationGracePeriodSeconds"] for name, pod in minimal.pods() if name != "executor"}
    web = minimal.container("web")
    [graceful] = re.findall(r'"--timeout-graceful-shutdown", "(\d+)"', (ROOT / "Dockerfile").read_text())
    _, pause = web["lifecycle"]["preStop"]["exec"]["command"]
    assert grace["web"] > int(pause) + int(graceful)
    assert grace["engine"] * 1000 > 2 * worker(minimal).graceful_timeout_ms
    assert min(grace[name] for name in ("worker", "replayer", "indexer")) >= 60


def test_beat_runs_once_and_the_engine_too(everything: Rendered) -> None:
    for component in ("beat", "engine"):
        spec = everything.one("Deployment", component)["spec"]
        assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    for component in DASHBOARD - {"beat"}:
        assert everything.one("Deployment", component)["spec"]["replicas"] == 3


def test_a_replica_of_beat_is_refused(tmp_path: Path) -> None:
    done = helm.template({**MINIMAL, "beat": {"replicas": 2}}, tmp_path)
    assert done.returncode != 0
    assert "beat" in done.stderr


def test_selectors_find_the_pods_of_their_deployment_only(everything: Rendered) -> None:
    pods = {
        row["metadata"]["name"]: row["spec"]["template"]["metadata"]["labels"] for row in everything.all("Deployment")
    }
    for row in everything.all("Deployment"):
        wanted = row["spec"]["selector"]["matchLabels"].items()
        assert [name for name, labels in pods.items() if wanted <= labels.items()] == [row["metadata"]["name"]]
        assert pods[row["metadata"]["name"]]["team"] == "flows"


def test_pods_run_where_the_values_say(everything: Rendered) -> None:
    for component, pod in everything.pods():
        assert pod["nodeSelector"] == POD["nodeSelector"], component
        assert pod["tolerations"] == POD["tolerations"]
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
        if component != "executor":
            assert pod["priorityClassName"] == "high"
    [spread] = dict(everything.pods())["web"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "web"


def test_images_have_the_charts_version_unless_a_tag_or_digest_is_given(
    minimal: Rendered, everything: Rendered
) -> None:
    version = yaml.safe_load((helm.CHART / "Chart.yaml").read_text())["appVersion"]
    assert minimal.container("worker")["image"] == f"dlqadmin-web:{version}"
    assert everything.container("worker")["image"] == f"registry.example.com/flows/dlqadmin-web@sha256:{'a' * 64}"
    assert everything.container("engine")["image"] == "registry.example.com/flows/dlqadmin-engine:1.2.3"


# Environment and secrets


def variables(container: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of variables as Kubernetes fills them in; Secrets as `<name/key>`."""
    found = {}
    for row in container["env"]:
        source = row.get("valueFrom", {})
        if secret := source.get("secretKeyRef"):
            found[row["name"]] = f"<{secret['name']}/{secret['key']}>"
        elif source:
            values = {"metadata.namespace": NAMESPACE, "metadata.name": f"{NAME}-engine-1"}
            found[row["name"]] = values[source["fieldRef"]["fieldPath"]]
        else:
            found[row["name"]] = row["value"].replace("$$", "$")
    assert len(found) == len(container["env"]), "a variable occurs twice"
    return found


def test_every_variable_of_the_settings_can_be_set(tmp_path: Path) -> None:
    """Each is accepted in `config` or refused there as a secret, and then accepted in `secretEnv`."""
    names = {name.replace("*", "OTHER") for name in first_cells("environment.md")}
    assert len(names) > 60
    secret = {name for name in names if re.search(r"(PASSWORD|SECRETS?|TOKEN|KEYS?|DATABASE_URL|REDIS_URL)$", name)}
    assert secret >= SECRET_ENV
    rendered = helm.render(
        {
            **MINIMAL,
            "config": {name: f"value of {name}" for name in names - secret},
            "secretEnv": {name: {"key": name.lower()} for name in secret},
        },
        tmp_path,
    )
    for component in (*DASHBOARD, "migrations"):
        given = variables(rendered.container(component))
        assert {name: given[name] for name in names - secret} == {name: f"value of {name}" for name in names - secret}
        assert {name: given[name] for name in secret} == {name: f"<flows-secrets/{name.lower()}>" for name in secret}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (20_000_000, "20000000"), (0.5, "0.5"), (True, "true"), (False, "false"), ("", ""), ("a.*dlq$", "a.*dlq$"),
        ("$(HOME)", "$(HOME)"), ('{"orders.dlq": ["orders"]}', '{"orders.dlq": ["orders"]}'),
    ],
)  # fmt: skip
def test_a_value_arrives_as_it_is_written(value: Any, text: str, tmp_path: Path) -> None:
    rendered = helm.render({**MINIMAL, "config": {"DLQ_TOPICS": value, "DLQADMIN_URL": value}}, tmp_path)
    given = variables(rendered.container("worker"))
    assert given["DLQ_TOPICS"] == given["DLQADMIN_URL"] == text
    row = next(row for row in rendered.container("worker")["env"] if row["name"] == "DLQ_TOPICS")
    assert row["value"] == text.replace("$", "$$")  # Kubernetes makes one $ of two


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"hosts": []}, "hosts is empty: list the names at which people open the dashboard."),
    ({"existingSecret": ""}, "secretEnv.DATABASE_URL has no Secret: set existingSecret to the name of a Secret"),
    ({"kafka": {}}, "kafka.bootstrapServers is empty: set it to the brokers"),
    ({"secretEnv": {"SECRET_KEY": None}}, "secretEnv.SECRET_KEY is missing: set its key"),
    (
        {"secretEnv": {"ENGINE_TOKEN": None}},
        "secretEnv.ENGINE_TOKEN is missing: set its key, or engine.enabled to false",
    ),
    ({"secretEnv": {"REDIS_URL": {"key": ""}}}, "secretEnv.REDIS_URL has no key: set secretEnv.REDIS_URL.key"),
    ({"serviceMonitor": {"enabled": True}}, "serviceMonitor.tokenSecret.name is empty: set it to the name of a Secret"),
    ({"config": {"SECRET_KEY": "hunter2"}}, "config.SECRET_KEY is a secret: name its Secret in secretEnv instead"),
    ({"config": {"AUDIT_OLD_KEYS": "hunter2"}}, "config.AUDIT_OLD_KEYS is a secret"),
    ({"config": {"KAFKA_SASL_PASSWORD": "hunter2"}}, "config.KAFKA_SASL_PASSWORD is a secret"),
    ({"config": {"OIDC_PROVIDERS": '{"corp": {"secret": "hunter2"}}'}}, "config.OIDC_PROVIDERS is a secret"),
    (
        {"kafka": {**MINIMAL["kafka"], "options": {"sasl.jaas.config": "hunter2"}}},
        "kafka.options.sasl.jaas.config is a secret: name its Secret in kafka.secretOptions instead",
    ),
    ({"engine": {"config": {"spark.authenticate.secret": "hunter2"}}}, "engine.config.spark.authenticate.secret is a"),
    ({"existingSecrets": "typing error"}, "existingSecrets"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED, ids=[sentence for _, sentence in REFUSED])
def test_a_missing_or_misplaced_value_is_refused_with_one_sentence(
    change: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    done = helm.template({**MINIMAL, **change}, tmp_path)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "hunter2" not in done.stderr


def test_files_of_secrets_may_be_named(tmp_path: Path) -> None:
    values = {"OIDC_PROVIDERS": '{"corp": {"secret_file": "/run/oidc"}}', "ENGINE_TOKEN_FILE": "/run/token"}
    rendered = helm.render({**MINIMAL, "config": values, "secretEnv": {"ENGINE_TOKEN": {"key": "t"}}}, tmp_path)
    assert values.items() <= variables(rendered.container("web")).items()


def test_no_secret_is_rendered(rendered: Rendered) -> None:
    assert rendered.all("Secret") == []
    for _, pod in rendered.pods():
        for row in pod["containers"][0].get("env", ()):
            assert (
                "valueFrom" in row
                or not re.search(r"(PASSWORD|SECRET|TOKEN|KEY|_URL)$", row["name"])
                or (row["name"] in {"ENGINE_URL", "DLQADMIN_URL"})
            )


def test_kafkas_options_reach_dashboard_and_engine(everything: Rendered) -> None:
    web, engine = variables(everything.container("web")), variables(everything.container("engine"))
    for prefix, given in (("KAFKA", web), ("CONNECT", engine)):
        assert given[f"{prefix}_SECURITY_PROTOCOL"] == "SASL_SSL"
        assert given[f"{prefix}_SASL_PASSWORD"] == "<flows-secrets/kafka-password>"
    client = worker(everything).client
    assert client["security.protocol"] == "SASL_SSL"
    assert client["ssl.ca.location"] == "/etc/kafka/ca.pem"


def test_an_engine_elsewhere_gets_the_token_and_no_engine_gets_none(tmp_path: Path) -> None:
    without = variables(helm.render(ENGINE_OFF, tmp_path).container("web"))
    assert without["ENGINE_URL"] == ""
    assert "ENGINE_TOKEN" not in without
    elsewhere = {**ENGINE_OFF, "config": {"ENGINE_URL": "http://engine.other:8083"}}
    assert (
        variables(helm.render(elsewhere, tmp_path).container("web"))["ENGINE_TOKEN"] == "<flows-secrets/engine-token>"
    )


ASK = """
import django; django.setup()
from django.test import Client
client = Client()
for path, host in (("alive", "127.0.0.1"), ("alive", "dlqadmin.example.com"), ("alive", "10.0.0.7")):
    print(client.get("/api/v1/" + path, headers={"host": host}).status_code)
print(client.get("/metrics", headers={"host": "%s"}).status_code)
"""


def test_the_dashboard_starts_with_these_variables_and_admits_probes_and_prometheus(minimal: Rendered) -> None:
    given = variables(minimal.container("web"))
    given |= {"SECRET_KEY": "".join(map(chr, range(40, 120))), "DATABASE_URL": "sqlite:///:memory:"}
    given |= {"REDIS_URL": "redis://127.0.0.1:1/0", "ENGINE_TOKEN": "t" * 64}
    given |= {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "dlqadmin.settings"}
    for command in (
        ["manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        ["-c", ASK % f"{NAME}-web.{NAMESPACE}.svc:80"],
    ):
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    # The last is Prometheus without its token: neither the host nor plain HTTP is the reason.
    assert done.stdout.split() == ["200", "200", "400", "401"], done.stderr


# Migrations


def test_the_migration_uses_nothing_that_the_release_has_not_made_yet(everything: Rendered) -> None:
    job = everything.one("Job", "migrations")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    pod = job["spec"]["template"]["spec"]
    assert "serviceAccountName" not in pod
    assert pod["restartPolicy"] == "Never"
    [container] = pod["containers"]
    assert "envFrom" not in container
    made = {row["metadata"]["name"] for row in everything.documents}
    named = {
        volume.get("persistentVolumeClaim", {}).get("claimName")
        or volume.get("configMap", {}).get("name")
        or volume.get("secret", {}).get("secretName")
        for volume in pod["volumes"]
    }
    assert named & made == set()


# Network


def policies(rendered: Rendered) -> dict[str, dict[str, Any]]:
    return {row["metadata"]["name"].removeprefix(NAME).strip("-"): row["spec"] for row in rendered.all("NetworkPolicy")}


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        labels.get(row["key"]) in row["values"] for row in selector.get("matchExpressions", ())
    )


def labels_of_pods(rendered: Rendered) -> dict[str, dict[str, str]]:
    [config] = rendered.all("ConfigMap")
    executor = yaml.safe_load(config["data"]["executor.yaml"])
    templates = [row["spec"]["template"] for row in (*rendered.all("Deployment"), *rendered.all("Job"))]
    found = [template["metadata"]["labels"] for template in (*templates, executor)]
    return {labels["app.kubernetes.io/component"]: labels for labels in found}


def test_every_pod_is_denied_what_no_policy_allows(minimal: Rendered) -> None:
    default = policies(minimal)[""]
    assert default["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in default
    assert {port["port"] for rule in default["egress"] for port in rule["ports"]} == {53}
    assert all(selects(default["podSelector"], labels) for labels in labels_of_pods(minimal).values())


def open_ports(rendered: Rendered, component: str) -> set[int | str]:
    """Return the ports that a pod may reach anywhere."""
    labels = labels_of_pods(rendered)[component]
    return {
        port["port"]
        for policy in policies(rendered).values()
        if selects(policy["podSelector"], labels)
        for rule in policy.get("egress", ())
        if "to" not in rule
        for port in rule["ports"]
    }


def test_pods_reach_kafka_database_redis_and_no_more(minimal: Rendered, everything: Rendered) -> None:
    kafka: set[int | str] = {53, 9093, 9094}
    for component in DASHBOARD:
        assert open_ports(minimal, component) == kafka | {5432, 6379}
        assert open_ports(everything, component) == kafka | {5432, 6379, 443}
    assert open_ports(minimal, "migrations") == {53, 5432}
    assert open_ports(minimal, "engine") == kafka | {443, 6443}
    assert open_ports(minimal, "executor") == kafka
    assert open_ports(everything, "executor") == kafka | {443}


def may_call(rendered: Rendered, source: str, target: str) -> set[int | str] | None:
    """Return the ports of a pod that another pod may call; None is all of them."""
    labels = labels_of_pods(rendered)
    ports: set[int | str] = set()
    for policy in policies(rendered).values():
        if not selects(policy["podSelector"], labels[target]):
            continue
        for rule in policy.get("ingress", ()):
            peers = rule.get("from")
            if peers is None or any(
                selects(peer["podSelector"], labels[source]) for peer in peers if "podSelector" in peer
            ):
                if "ports" not in rule:
                    return None
                ports |= {port["port"] for port in rule["ports"]}
    return ports


def test_the_engine_is_called_by_the_dashboard_and_by_its_executors_only(minimal: Rendered) -> None:
    for component in DASHBOARD:
        assert may_call(minimal, component, "engine") == {"rest"}
    assert may_call(minimal, "executor", "engine") == {"driver", "blocks"}
    assert may_call(minimal, "migrations", "engine") == set()
    assert may_call(minimal, "engine", "executor") is None
    assert may_call(minimal, "executor", "executor") is None
    assert may_call(minimal, "web", "worker") == set()
    assert may_call(minimal, "worker", "web") == {"http"}  # any, until webFrom names some


def test_only_the_ingress_controller_reaches_the_web_pods_if_it_is_named(everything: Rendered) -> None:
    [rule] = policies(everything)["web"]["ingress"]
    assert rule["from"] == CONTROLLER
    assert may_call(everything, "worker", "web") == set()


# Services, ingress, volumes, monitoring


def test_the_ingress_leads_every_host_to_the_web_service(everything: Rendered) -> None:
    [ingress] = everything.all("Ingress")
    hosts = EVERYTHING["hosts"]
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == hosts
    assert ingress["spec"]["tls"] == [{"secretName": "tls", "hosts": hosts}]
    [port] = everything.one("Service", "web")["spec"]["ports"]
    for rule in ingress["spec"]["rules"]:
        [path] = rule["http"]["paths"]
        assert path["backend"]["service"] == {"name": f"{NAME}-web", "port": {"name": port["name"]}}
    assert variables(everything.container("web"))["DLQADMIN_URL"] == f"https://{hosts[0]}"


def test_a_drain_leaves_web_pods_running(minimal: Rendered) -> None:
    spec = minimal.one("PodDisruptionBudget", "web")["spec"]
    assert spec["maxUnavailable"] < minimal.one("Deployment", "web")["spec"]["replicas"]
    assert selects(spec["selector"], labels_of_pods(minimal)["web"])


def test_workers_and_web_servers_share_the_volume_of_exports(minimal: Rendered) -> None:
    claim = minimal.one("PersistentVolumeClaim", "exports")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    mounting = {
        component: row["mountPath"]
        for component, pod in minimal.pods()
        for row in pod["containers"][0]["volumeMounts"]
        if row["name"] == "exports"
    }
    folder = variables(minimal.container("web"))["EXPORTS_DIR"]
    assert mounting == {"web": folder, "worker": folder}


def test_prometheus_sends_tokens_and_counts_the_web_pods_once(everything: Rendered) -> None:
    [web], [engine] = (everything.one("ServiceMonitor", name)["spec"]["endpoints"] for name in ("web", "engine"))
    assert web["authorization"]["credentials"] == {"name": "metrics", "key": "token"}
    assert engine["authorization"]["credentials"] == {"name": "flows-secrets", "key": "engine-token"}
    relabelings = {row.get("targetLabel"): row.get("replacement") for row in web["relabelings"]}
    host, _, port = str(relabelings["__address__"]).partition(":")
    assert host in variables(everything.container("web"))["ALLOWED_HOSTS"].split(",")
    [service] = everything.one("Service", "web")["spec"]["ports"]
    assert port == str(service["port"])
    assert web["relabelings"][-1] == {"action": "labeldrop", "regex": "pod|node"}
    for name in ("web", "engine"):
        selector = everything.one("ServiceMonitor", name)["spec"]["selector"]
        services = [row for row in everything.all("Service") if selects(selector, row["metadata"]["labels"])]
        [endpoint] = everything.one("ServiceMonitor", name)["spec"]["endpoints"]
        ports = [port["name"] for row in services for port in row["spec"]["ports"]]
        assert ports.count(endpoint["port"]) == 1


# Engine


def worker(rendered: Rendered) -> WorkerConfig:
    [config] = rendered.all("ConfigMap")
    given = variables(rendered.container("engine")) | {"CONNECT_REST_AUTH_TOKEN": "t" * 64}
    return parse_worker(parse_properties(config["data"]["worker.properties"]), given)


def executor(rendered: Rendered) -> dict[str, Any]:
    found: dict[str, Any] = dict(rendered.pods())["executor"]
    return found


def test_the_role_lets_the_driver_do_what_sparks_client_mode_does(minimal: Rendered) -> None:
    [rule] = minimal.one("Role", "engine")["rules"]
    assert rule["apiGroups"] == [""]
    assert set(rule["resources"]) == {"pods", "configmaps", "services", "persistentvolumeclaims"}
    assert set(rule["verbs"]) == {"create", "get", "list", "watch", "delete", "deletecollection"}
    binding = minimal.one("RoleBinding", "engine")
    assert binding["roleRef"]["name"] == f"{NAME}-engine"
    account = dict(minimal.pods())["engine"]["serviceAccountName"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}]


def test_executors_find_the_driver_by_a_service_without_an_address(minimal: Rendered) -> None:
    spark = worker(minimal).spark
    [service] = [row["spec"] for row in minimal.all("Service") if row["metadata"]["name"] == spark["spark.driver.host"]]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    assert selects({"matchLabels": service["selector"]}, labels_of_pods(minimal)["engine"])
    ports = {int(spark["spark.driver.port"]), int(spark["spark.driver.blockManager.port"])}
    assert {row["port"] for row in service["ports"]} == ports
    assert ports <= {row["containerPort"] for row in minimal.container("engine")["ports"]}
    assert spark["spark.driver.bindAddress"] == "0.0.0.0"


def test_the_worker_starts_executors_in_the_drivers_namespace_and_name(minimal: Rendered) -> None:
    config = worker(minimal)
    assert config.bootstrap_servers == MINIMAL["kafka"]["bootstrapServers"]
    assert config.spark_master.startswith("k8s://https://")
    assert config.spark["spark.kubernetes.namespace"] == NAMESPACE
    assert config.spark["spark.kubernetes.driver.pod.name"] == f"{NAME}-engine-1"
    assert config.spark["spark.kubernetes.container.image"] == minimal.container("engine")["image"]
    assert config.spark["spark.authenticate"] == config.spark["spark.network.crypto.enabled"] == "true"
    assert "spark.local.dir" not in config.spark  # Spark mounts each folder as a volume


def test_an_executor_begins_in_a_directory_where_it_may_write(minimal: Rendered) -> None:
    [container] = executor(minimal)["containers"]
    spark = worker(minimal).spark
    assert spark["spark.kubernetes.executor.podTemplateContainerName"] == container["name"]
    assert container["command"] == ["python", "-m", "engine.spark.executor"]
    assert container["workingDir"] in {row["mountPath"] for row in container["volumeMounts"]}
    [mount] = [row for row in minimal.container("engine")["volumeMounts"] if row["name"] == "config"]
    assert spark["spark.kubernetes.executor.podTemplateFile"] == f"{mount['mountPath']}/executor.yaml"


def test_options_of_the_engine_win_and_false_is_one(everything: Rendered) -> None:
    config = worker(everything)
    assert config.spark["spark.authenticate"] == "false"
    assert config.config_replication_factor == 2
    [text] = [row["data"]["worker.properties"] for row in everything.all("ConfigMap")]
    assert parse_properties(text)["exclude"] == r"a\b"


def test_the_dashboard_and_the_probes_are_admitted_to_the_engine(minimal: Rendered) -> None:
    config = worker(minimal)
    [listener] = config.rest.listeners
    [port] = minimal.one("Service", "engine")["spec"]["ports"]
    assert port["port"] == listener.port
    web = variables(minimal.container("web"))
    assert web["ENGINE_URL"] == f"http://{NAME}-engine:{listener.port}"
    assert f"{NAME}-engine" in access_rules(config, {})[0].hosts
    assert variables(minimal.container("engine"))["CONNECT_REST_AUTH_TOKEN"] == web["ENGINE_TOKEN"]


def test_an_engine_without_executors_needs_no_rights(tmp_path: Path) -> None:
    rendered = helm.render(LOCAL_ENGINE, tmp_path)
    assert worker(rendered).spark_master == "local[8]"
    assert not rendered.all("Role")
    assert not rendered.all("RoleBinding")
    assert [row["metadata"]["name"] for row in rendered.all("Service")] == [f"{NAME}-engine", f"{NAME}-web"]


def test_a_new_configuration_restarts_the_engine(tmp_path: Path) -> None:
    def checksum(slots: int) -> str:
        rendered = helm.render({**MINIMAL, "engine": {"slots": slots}}, tmp_path)
        metadata = rendered.one("Deployment", "engine")["spec"]["template"]["metadata"]
        return str(metadata["annotations"]["checksum/config"])

    assert checksum(4) == checksum(4) != checksum(5)


def test_no_engine_leaves_no_trace(tmp_path: Path) -> None:
    rendered = helm.render(ENGINE_OFF, tmp_path)
    assert {row["kind"] for row in rendered.documents} == {"ServiceAccount", "Service", "Deployment"}
    assert f"{NAME}-engine" not in rendered.text
