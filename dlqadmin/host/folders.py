"""The folders of code and data. The data is beside the code in a clone, else in the user's data folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CODE_DIR = Path(__file__).resolve().parents[2]  # holds the packages: a clone, or site-packages
IS_CLONE = (CODE_DIR / "manage.py").is_file()
FRONTEND = CODE_DIR / ("frontend/dist" if IS_CLONE else "dlqadmin/frontend")


def data_folder(env: Mapping[str, str]) -> Path:
    """Return the folder for the data of an installation, as the XDG Base Directory Specification has it.

    The specification ignores a relative XDG_DATA_HOME.
    """
    given = Path(env.get("XDG_DATA_HOME") or "")
    return (given if given.is_absolute() else Path.home() / ".local" / "share") / "dlqadmin"


def env_file(local_dir: Path) -> Path:
    """Return the file with further settings. The environment wins over it."""
    return (CODE_DIR if IS_CLONE else local_dir) / ".env"
