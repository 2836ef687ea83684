"""What Spark forks its Python workers from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def test_it_has_loaded_what_leases_need_and_no_database() -> None:
    """The engine for the first lease; SQLAlchemy, which takes as long to load as all the rest, for who asks for it."""
    names = "'engine.assembly.lease' in sys.modules, 'sqlalchemy' in sys.modules"
    done = python("-c", f"import sys; from engine.spark.daemon import load; load(); print({names})")
    assert (done.returncode, done.stdout) == (0, b"True False\n")


def test_whatever_keeps_the_engine_from_being_loaded_does_not_end_it() -> None:
    done = python("-c", "from engine.spark import daemon; daemon.LOADED = ''; daemon.load(); print(1)")
    assert (done.returncode, done.stdout) == (0, b"1\n")


def test_it_is_pysparks_own_daemon_otherwise() -> None:
    """It tells the port where it listens, and ends with its input."""
    done = python("-m", "engine.spark.daemon", "pyspark.worker")
    assert done.stderr == b""
    assert 0 < int.from_bytes(done.stdout, "big") < 65_536
