"""Write the software bill of materials, in CycloneDX, to `.local/sbom`: `make sbom`.

* `python.cdx.json`: the Python packages of `locks/run.txt`
* `frontend.cdx.json`: the packages that the frontend is built from
* `kafka.cdx.json`: the jars of the demonstration's broker

Each entry has its hashes.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from demo.environment import ROOT
from demo.jars import KAFKA_HOME, PINS, pins

FOLDER = ROOT / ".local" / "sbom"


def python_packages() -> dict[str, Any]:
    """Return the bill of the locked Python packages."""
    lines = (ROOT / "locks" / "run.txt").read_text().replace("\\\n", "").splitlines()
    return _bill([_package(line) for line in lines])


def frontend_packages() -> dict[str, Any]:
    """Return the bill of the packages that the built frontend contains."""
    npm = ["npm", "--prefix", str(ROOT / "frontend"), "sbom", "--sbom-format", "cyclonedx", "--omit", "dev"]
    bill: dict[str, Any] = json.loads(
        subprocess.run([*npm, "--package-lock-only"], check=True, capture_output=True).stdout
    )
    return bill


def kafka_jars() -> dict[str, Any]:
    """Return the bill of the broker's jars."""
    pinned = pins(PINS)
    return _bill([_jar(path, pinned[path.name]) for path in sorted(KAFKA_HOME.glob("*.jar"))])


def main() -> None:
    """Write all three files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, bill in (("python", python_packages()), ("frontend", frontend_packages()), ("kafka", kafka_jars())):
        path = FOLDER / f"{name}.cdx.json"
        path.write_text(json.dumps(bill, indent=2))
        print(f"{path.relative_to(ROOT)}: {len(bill['components'])} components")


def _package(line: str) -> Component:
    """Return the component of a line of a lock: `name==version ; marker --hash=sha256:digest …`."""
    requirement, *digests = line.split(" --hash=sha256:")
    name, _, version = requirement.partition(" ;")[0].strip().partition("==")
    return _component(name, version, [digest.strip() for digest in digests], PackageURL("pypi", None, name, version))


def _jar(path: Path, digest: str) -> Component:
    name, _, version = path.stem.rpartition("-")
    return _component(name, version, [digest])


def _component(name: str, version: str, digests: list[str], purl: PackageURL | None = None) -> Component:
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in digests]
    return Component(name=name, version=version, type=ComponentType.LIBRARY, hashes=hashes, purl=purl)


def _bill(components: list[Component]) -> dict[str, Any]:
    bill: dict[str, Any] = json.loads(JsonV1Dot6(Bom(components=components)).output_as_string())
    return bill


if __name__ == "__main__":
    main()
