"""Check all that the dashboard needs: `dlqadmin doctor`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import django
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from dlqadmin.doctor.check_results import CheckResult, document, error, line, worst


def examine(*, json: bool) -> int:
    """Print the results; return 1 if there is an error, else 0."""
    results = []
    for result in checks():
        results.append(result)
        if not json:
            print(line(result), flush=True)
    if json:
        sys.stdout.write(f"{document(results)}\n")
    return int(worst(results) == "error")


def checks() -> Iterator[CheckResult]:
    """Yield all results. A wrong setting is the only one if it prevents the others."""
    try:
        django.setup()
    except ImproperlyConfigured as problem:
        yield error("settings", f"{problem}".rstrip(".") + ".", "Correct the setting.")
        return
    logging.getLogger().handlers = [logging.NullHandler()]  # the results say what is wrong
    from dlqadmin.doctor.kafka_checks import kafka_checks
    from dlqadmin.doctor.machine_checks import disk_checks, version_checks
    from dlqadmin.doctor.service_checks import connect_checks, database_checks, redis_checks

    yield from kafka_checks(timezone.now())
    yield from redis_checks()
    yield from database_checks()
    yield from connect_checks()
    yield from disk_checks()
    yield from version_checks()
