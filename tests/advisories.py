"""Known weaknesses of the packages that are installed: `python -m tests.advisories`, part of `make check`.

Ask pip-audit about the Python packages and npm about the frontend's. A known weakness fails the check. A database that
can't be reached does not: then a line says that nothing was checked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "locks" / "dev.txt"
TIMEOUT_S = 120
PIP_AUDIT = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes", "--disable-pip"]
NPM_AUDIT = ["npm", "--prefix", str(ROOT / "frontend"), "audit", "--json"]


class Unreachable(Exception):
    """The database of weaknesses gave no answer; the message says how."""


def python_weaknesses(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each weakness in a report of pip-audit. Raises Unreachable where no package was looked up."""
    packages = report.get("dependencies") or []
    if not any("vulns" in package for package in packages):
        raise Unreachable("no package was found in its database")
    for package in packages:
        for weakness in package.get("vulns") or []:
            fixed = ", ".join(weakness.get("fix_versions") or []) or "no version yet"
            yield f"{package['name']} {package['version']}: {weakness['id']}, fixed in {fixed}"


def npm_weaknesses(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each weakness in a report of npm. Raises Unreachable where the registry gave none."""
    if "vulnerabilities" not in report:
        raise Unreachable(str(report.get("message") or (report.get("error") or {}).get("summary") or "no report"))
    for name, weakness in report["vulnerabilities"].items():
        yield f"{name} {weakness.get('range', '')}: {weakness.get('severity', 'unknown')}"


def ask(command: list[str]) -> Mapping[str, Any]:
    """Run an auditor and return its JSON report. Raises Unreachable where it prints none."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        report = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"no answer within {TIMEOUT_S} s") from error
    except ValueError as error:
        raise Unreachable((done.stderr.strip().splitlines() or ["no report"])[-1][:200]) from error
    return report if isinstance(report, dict) else {}


def main() -> int:
    """Print each weakness; 1 where there is one."""
    found = 0
    auditors = (
        ("pip-audit", [*PIP_AUDIT, "--format", "json"], python_weaknesses),
        ("npm audit", NPM_AUDIT, npm_weaknesses),
    )
    for name, command, weaknesses in auditors:
        try:
            lines = list(weaknesses(ask(command)))
        except Unreachable as problem:
            print(f"{name}: not checked: {problem}")
            continue
        found += len(lines)
        print("\n".join(f"{name}: {line}" for line in lines) or f"{name}: no known weakness")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
