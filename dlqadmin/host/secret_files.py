"""Secrets in files that only their owner can read."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

RANDOM_BYTES = 50


def secret(path: Path) -> str:
    """Return the secret of a file. A missing one is created, with a random secret."""
    if not path.exists():
        store(path, secrets.token_urlsafe(RANDOM_BYTES))
    return path.read_text().split()[0]


def store(path: Path, text: str) -> None:
    """Create a file with this text, unless another process has just created it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    draft.touch(mode=0o600)
    draft.write_text(text)
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
