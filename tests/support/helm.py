"""Helm, and the schemas of Kubernetes' objects, as `make helm` brings them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from shutil import copytree, which
from typing import Any, NamedTuple
from zipfile import ZipFile

import yaml
from jsonschema_rs import Draft202012Validator

from demo.environment import ROOT

CHART = ROOT / "deploy" / "helm" / "dlqadmin"
RELEASE, NAMESPACE = "flows", "kafka-tools"
VERSIONS = ("1.25.0", "1.37.0")  # the oldest that Chart.yaml admits, and the newest that we have schemas of

Document = dict[str, Any]


class HelmMissing(Exception):
    """Helm or the schemas are not installed; the message says how to install them."""


class Rendered(NamedTuple):
    """The objects that Helm made of the chart."""

    documents: list[Document]
    text: str

    def one(self, kind: str, name: str) -> Document:
        """Return the object with this name, which begins with the release's."""
        [found] = self.all(kind, name)
        return found

    def all(self, kind: str, name: str = "") -> list[Document]:
        """Return the objects of a kind, or those of them with this name."""
        full = f"{RELEASE}-dlqadmin{name and '-' + name}"
        return [row for row in self.documents if row["kind"] == kind and (not name or row["metadata"]["name"] == full)]

    def pods(self) -> Iterator[tuple[str, Document]]:
        """Yield component and specification of each pod: of Deployments, of the Job, and that of Spark's executors."""
        for row in (*self.all("Deployment"), *self.all("Job")):
            template = row["spec"]["template"]
            yield template["metadata"]["labels"]["app.kubernetes.io/component"], template["spec"]
        for row in self.all("ConfigMap"):
            if "executor.yaml" in row["data"]:
                yield "executor", yaml.safe_load(row["data"]["executor.yaml"])["spec"]

    def container(self, component: str) -> Document:
        """Return the only container of a component's pod."""
        [container] = dict(self.pods())[component]["containers"]
        found: Document = container
        return found


def find() -> str:
    """Return the program. Raises HelmMissing."""
    own = ROOT / ".local" / "bin" / "helm"
    found = str(own) if own.is_file() else which("helm")
    if found is None:
        raise HelmMissing("Helm is not installed. `make helm` builds it; that needs Go.")
    return found


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Helm with a home of its own, so that no configuration of the user counts. Raises HelmMissing."""
    home = str(ROOT / ".local" / "helm-home")
    env = {"PATH": os.environ["PATH"], "HOME": home, "HELM_CACHE_HOME": home, "HELM_CONFIG_HOME": home}
    return subprocess.run([find(), *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)


def template(
    values: Mapping[str, Any], folder: Path, version: str = VERSIONS[-1], chart: Path = CHART
) -> subprocess.CompletedProcess[str]:
    """Run `helm template` with these values. Raises HelmMissing."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    flags = ("--namespace", NAMESPACE, "--kube-version", version, "--values", str(file))
    return run("template", RELEASE, str(chart), *flags)


def render(values: Mapping[str, Any], folder: Path) -> Rendered:
    """Return what the chart makes of these values. Raises HelmMissing."""
    done = template(values, folder)
    assert done.returncode == 0, done.stderr
    return Rendered([row for row in yaml.safe_load_all(done.stdout) if row], done.stdout)


def notes(values: Mapping[str, Any], folder: Path) -> str:
    """Return what Helm prints after an installation. It prints only with a cluster, so an object holds the text."""
    chart = folder / "chart"
    copytree(CHART, chart, dirs_exist_ok=True)
    (chart / "notes").write_text((CHART / "templates" / "NOTES.txt").read_text())
    (chart / "templates" / "text.yaml").write_text('kind: Text\ntext: {{ tpl (.Files.Get "notes") . | toJson }}\n')
    done = template(values, folder, chart=chart)
    assert done.returncode == 0, done.stderr
    [found] = [row["text"] for row in yaml.safe_load_all(done.stdout) if row and row["kind"] == "Text"]
    return str(found)


@cache
def schema(version: str) -> tuple[Mapping[str, Any], Mapping[tuple[str, str], str]]:
    """Return Kubernetes' definitions, and the name of each by version and kind. Raises HelmMissing.

    The schemas are those of the package kubernetes-validate, in which unknown fields are errors.
    """
    wheels = sorted((ROOT / ".local" / "kubernetes-schemas").glob("kubernetes_validate-*.whl"))
    if not wheels:
        raise HelmMissing("Kubernetes' schemas are not there. `make helm` downloads them.")
    with ZipFile(wheels[-1]) as wheel:
        folder = f"kubernetes_validate/kubernetes-json-schema/v{version}-local-strict"
        definitions: dict[str, Any] = json.loads(wheel.read(f"{folder}/_definitions.json"))["$defs"]
    kinds = {}
    for name, definition in definitions.items():
        fields = definition.get("properties", {})
        if "kind" in fields and "apiVersion" in fields:
            for api_version in fields["apiVersion"].get("enum", ()):
                for kind in fields["kind"].get("enum", ()):
                    kinds[api_version, kind] = name
    return definitions, kinds


def faults(document: Document, version: str) -> list[str]:
    """Return what Kubernetes of that version would refuse in an object. Raises HelmMissing and KeyError."""
    definitions, kinds = schema(version)
    name = kinds[document["apiVersion"], document["kind"]]
    validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})
    return [
        f"{document['kind']} {document['metadata'].get('name')}: {list(error.instance_path)}: {error.message}"
        for error in validator.iter_errors(document)
    ]
