"""The results of the doctor's checks, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Verdict = Literal["ok", "warning", "error"]


class CheckResult(msgspec.Struct, frozen=True):
    """The result of one check: what was found, and what to do about it. Both are sentences."""

    check: str
    verdict: Verdict
    found: str
    remedy: str = ""


def ok(check: str, found: str) -> CheckResult:
    """Return the result of a check that found nothing wrong."""
    return CheckResult(check, "ok", found)


def warning(check: str, found: str, remedy: str) -> CheckResult:
    """Return the result of a check that found a risk."""
    return CheckResult(check, "warning", found, remedy)


def error(check: str, found: str, remedy: str) -> CheckResult:
    """Return the result of a check that found why something does not work."""
    return CheckResult(check, "error", found, remedy)


def worst(results: Sequence[CheckResult]) -> Verdict:
    """Return the worst verdict."""
    verdicts = {result.verdict for result in results}
    return "error" if "error" in verdicts else "warning" if "warning" in verdicts else "ok"


def line(result: CheckResult) -> str:
    """Return the result as a line."""
    return f"{result.verdict:<8} {result.check:<9} {' '.join(filter(None, (result.found, result.remedy)))}"


def document(results: Sequence[CheckResult]) -> str:
    """Return the results as JSON."""
    return msgspec.json.encode({"verdict": worst(results), "checks": results}).decode()
