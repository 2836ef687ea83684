import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
KEY = "".join(chr(33 + n % 90) for n in range(0, 900, 13))
SHOW = """
from dlqadmin import settings as s
print(s.SECURE_SSL_REDIRECT, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_HSTS_SECONDS > 0, s.DEBUG)
"""


def run(arguments: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    environment = {**clean, "DATABASE_URL": "sqlite:///:memory:", **env}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_production_is_secure_without_a_word(tmp_path: Path) -> None:
    shown = run(["-c", SHOW], DLQADMIN_ENVIRONMENT="PRODUCTION", SECRET_KEY=KEY)
    assert shown.stdout.split() == ["True", "True", "True", "True", "False"], shown.stderr


def test_local_works_over_plain_http() -> None:
    shown = run(["-c", SHOW], SECRET_KEY="k" * 60)
    assert shown.stdout.split() == ["False", "False", "False", "False", "False"], shown.stderr


def test_production_does_not_start_without_a_key() -> None:
    refused = run(["-c", SHOW], DLQADMIN_ENVIRONMENT="PRODUCTION")
    assert refused.returncode != 0
    assert "SECRET_KEY" in refused.stderr


def test_production_passes_djangos_own_check() -> None:
    checked = run(
        ["manage.py", "check", "--deploy", "--fail-level", "WARNING"], DLQADMIN_ENVIRONMENT="PRODUCTION", SECRET_KEY=KEY
    )
    assert checked.returncode == 0, checked.stderr


def test_sqlite_waits_its_turn_and_postgresql_is_an_address_away() -> None:
    show = "from dlqadmin import settings as s; d = s.DATABASES['default']; print(d['ENGINE'], d['OPTIONS'])"
    local = run(["-c", show], SECRET_KEY="k").stdout
    assert "IMMEDIATE" in local
    assert "journal_mode=WAL" in local
    assert "postgresql" in run(["-c", show], SECRET_KEY="k", DATABASE_URL="postgres://u:p@db/d").stdout
