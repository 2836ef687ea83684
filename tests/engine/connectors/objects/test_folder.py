from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.connectors.objects.stores import ATTRIBUTE, TEMPORARY, Folder
from engine.errors import ConfigError


def test_the_first_create_wins_and_carries_its_end(tmp_path: Path) -> None:
    first, second = (Folder(str(tmp_path / "objects"), str(tmp_path)) for _ in range(2))
    first.check("t/0")
    assert list(first.paths("t/0", None)) == []
    assert first.create("t/0/a", b"one", 5)
    assert not second.create("t/0/a", b"two", 9)
    assert (tmp_path / "objects/t/0/a").read_bytes() == b"one"
    assert second.end_of("t/0/a") == 5
    assert second.end_of("t/0/b") is None
    assert first.create("t/0/b", b"", 7)
    assert sorted(second.paths("t/0", None)) == ["t/0/a", "t/0/b"]
    assert [list(second.paths("t/0", after)) for after in ("t/0/a", "t/0/b")] == [["t/0/b"], []]


def test_what_a_killed_task_left_is_no_object(tmp_path: Path) -> None:
    store = Folder(str(tmp_path / "objects"), str(tmp_path))
    store.check("t/0")
    left = tmp_path / "objects/t/0" / f".a-1{TEMPORARY}"
    left.write_bytes(b"half")
    assert list(store.paths("t/0", None)) == []
    store.check("t/0")
    assert not left.exists()


def test_a_file_without_an_end_is_somebody_else_s(tmp_path: Path) -> None:
    store = Folder(str(tmp_path), "/")
    store.check("t/0")
    (tmp_path / "t/0/a").write_bytes(b"")
    with pytest.raises(ConfigError, match="did not write"):
        store.end_of("t/0/a")
    os.setxattr(tmp_path / "t/0/a", ATTRIBUTE, b"many")
    with pytest.raises(ConfigError, match="did not write"):
        store.end_of("t/0/a")


def test_only_folders_below_the_root_are_written_to(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"file\.connectors\.root"):
        Folder("/etc", str(tmp_path))
    with pytest.raises(ConfigError, match=r"file\.connectors\.root"):
        Folder(str(tmp_path), None)
