"""Write the software bill of materials, in CycloneDX, to `.local/sbom`: `make sbom`.

* `python.cdx.json`: the Python packages of `locks/run.txt`
* `frontend.cdx.json`: the packages that the frontend is built from
* `kafka.cdx.json`: the jars of the demonstration's broker

Each entry has its hashes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6

from demo.environment import ROOT
from demo.jars import KAFKA_HOME, PINS, pins

FOLDER = ROOT / ".local" / "sbom"


def python_packages() -> dict[str, Any]:
    """Return the bill of the locked Python packages."""
    lock = str(ROOT / "locks" / "run.txt")
    return _bill([sys.executable, "-m", "cyclonedx_py", "requirements", lock, "--output-reproducible", "--of", "JSON"])


def frontend_packages() -> dict[str, Any]:
    """Return the bill of the packages that the built frontend contains."""
    npm = ["npm", "--prefix", str(ROOT / "frontend"), "sbom", "--sbom-format", "cyclonedx", "--omit", "dev"]
    return _bill([*npm, "--package-lock-only"])


def kafka_jars() -> dict[str, Any]:
    """Return the bill of the broker's jars."""
    pinned = pins(PINS)
    bom = Bom(components=[_jar(path, pinned[path.name]) for path in sorted(KAFKA_HOME.glob("*.jar"))])
    bill: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    return bill


def main() -> None:
    """Write all three files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, bill in (("python", python_packages()), ("frontend", frontend_packages()), ("kafka", kafka_jars())):
        path = FOLDER / f"{name}.cdx.json"
        path.write_text(json.dumps(bill, indent=2))
        print(f"{path.relative_to(ROOT)}: {len(bill['components'])} components")


def _jar(path: Path, digest: str) -> Component:
    name, _, version = path.stem.rpartition("-")
    sha256 = HashType(alg=HashAlgorithm.SHA_256, content=digest)
    return Component(name=name, version=version, type=ComponentType.LIBRARY, hashes=[sha256])


def _bill(command: list[str]) -> dict[str, Any]:
    bill: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return bill


if __name__ == "__main__":
    main()
