"""Workers that write files, and what becomes of a file."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings
from rest_framework.test import APIClient

from dlqadmin.deadletters.search.time_limits import QueryTimedOut
from dlqadmin.exports import file_writer, files, formats, row_reader
from dlqadmin.exports.file_writer import EXPORTS
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.exports.tasks import prune_exports, wake, write_exports
from dlqadmin.jobs.claims import MAX_TRIES
from tests.dlqadmin.exports.conftest import VALUES
from tests.dlqadmin.exports.wanting import API, WEEK, ask, done

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def claimed() -> Export | None:
    """The only export, claimed by a worker that then does nothing."""
    there = Export.objects.get()
    return EXPORTS.claim(there.pk, there.heartbeat, timezone.now())


def test_a_part_never_bears_the_files_name(
    as_operator: APIClient, indexed: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    encode = formats._NdjsonEncoder.rows

    def watched(encoder: Any, rows: Any) -> bytes:
        seen.extend(path.name for path in folder.iterdir())
        return encode(encoder, rows)

    monkeypatch.setattr(formats._NdjsonEncoder, "rows", watched)
    done(as_operator)
    assert [name.endswith(".part") for name in seen] == [True]
    assert [path.name for path in folder.iterdir()] == [Export.objects.get().file]
    assert [path.stat().st_mode & 0o077 for path in folder.iterdir()] == [0]


def test_a_worker_that_was_killed_is_followed_by_another(as_operator: APIClient, indexed: None, folder: Path) -> None:
    pk = ask(as_operator)["id"]
    lost = claimed()
    assert lost
    files.create(files.path(files.part(lost.claim_token))).close()  # what it left behind
    assert not file_writer.write_next()
    Export.objects.update(heartbeat=timezone.now() - EXPORTS.lease)
    assert file_writer.write_next()
    written = Export.objects.get(pk=pk)
    assert (written.state, written.rows, written.tries) == ("done", len(VALUES), 2)


def test_a_worker_that_wakes_after_another_took_over_changes_nothing(as_operator: APIClient, indexed: None) -> None:
    ask(as_operator)
    stalled = claimed()
    assert stalled
    Export.objects.update(heartbeat=timezone.now() - EXPORTS.lease)
    assert file_writer.write_next()
    before = Export.objects.values().get()
    with pytest.raises(file_writer.Stopped):
        file_writer._tell(stalled, 1, 1)
    late = files.path("late.ndjson")
    files.create(late).close()
    file_writer._done(stalled, late.name, file_writer.ExportFileSummary(1, 1, "0"), timezone.now())
    assert Export.objects.values().get() == before
    assert not late.exists()


def test_an_export_is_written_after_the_message_queue_was_away(
    as_operator: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def queue_away(*_: object, **__: object) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr(write_exports, "apply_async", queue_away)
    pk = ask(as_operator)["id"]
    wake()
    assert caplog.messages == ["an export could not be queued and will be queued again: Connection refused"]
    write_exports()  # as the beat does
    assert Export.objects.get(pk=pk).state == ExportState.DONE


def test_an_export_that_ends_its_workers_is_given_up(as_operator: APIClient, indexed: None) -> None:
    ask(as_operator)
    for _ in range(MAX_TRIES):
        assert claimed()
        Export.objects.update(heartbeat=timezone.now() - EXPORTS.lease)
    assert not file_writer.write_next()
    assert Export.objects.get().state == ExportState.FAILED
    assert "3 tries" in Export.objects.get().trouble


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (RecursionError("deep"), "The file can't be written: RecursionError. The worker's log has the stack trace."),
        (QueryTimedOut(), "The database took longer than 30 s to read the next records. Narrow the time range."),
    ],
)
def test_whatever_ends_the_writing_settles_the_export_at_once(
    as_operator: APIClient, indexed: None, folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, trouble: str
) -> None:
    def broken(encoder: Any, rows: Any) -> bytes:
        raise error

    monkeypatch.setattr(formats._NdjsonEncoder, "rows", broken)
    ask(as_operator)
    assert file_writer.write_next()
    export = Export.objects.get()
    assert (export.state, export.tries, export.trouble) == ("failed", 1, trouble)
    assert list(folder.iterdir()) == []


def test_a_worker_tells_that_it_lives_where_nothing_matches(
    as_operator: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(row_reader, "SPAN_IDS", 2)
    monkeypatch.setattr(file_writer, "TELL_EVERY_S", 0)
    monkeypatch.setattr(file_writer, "_tell", lambda export, rows, size: told.append(rows))
    ask(as_operator, query=f"{WEEK}&topic=none")
    assert file_writer.write_next()
    assert told == [0, 0, 0, 0]  # for each two ids, and at the end


def test_a_worker_is_not_taken_for_lost_while_its_queries_take_their_time() -> None:
    assert 2 * timedelta(seconds=row_reader.QUERY_S) < EXPORTS.lease


def test_a_cancelled_export_is_written_no_further(
    as_operator: APIClient, indexed: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ask(as_operator)
    monkeypatch.setattr(file_writer, "TELL_EVERY_S", 0)

    def cancelled_meanwhile() -> float:
        Export.objects.update(state=ExportState.CANCELLED)
        return 1.0

    assert file_writer.write_next(cancelled_meanwhile)
    assert as_operator.get(f"{API}/{made['id']}").json()["state"] == "cancelled"
    assert list(folder.iterdir()) == []


def test_more_rows_than_a_file_may_hold_fail_and_are_not_cut(
    as_operator: APIClient, indexed: None, folder: Path, settings: Settings
) -> None:
    settings.EXPORT_MAX_ROWS = 5
    pk = ask(as_operator)["id"]
    write_exports()
    assert "More than 5 records" in as_operator.get(f"{API}/{pk}").json()["trouble"]
    assert list(folder.iterdir()) == []


def test_a_nearly_full_disk_ends_it_before_the_database_suffers(
    as_operator: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "free_bytes", lambda: 1)
    monkeypatch.setattr(file_writer, "TELL_EVERY_S", 0)
    ask(as_operator)
    write_exports()
    assert Export.objects.get().trouble == "The disk of the exports has less than 1 GB left."


def test_a_folder_that_cannot_be_written_to_is_said(as_operator: APIClient, indexed: None, folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    ask(as_operator)
    write_exports()
    assert "can't be written" in Export.objects.get().trouble
    assert str(folder) not in Export.objects.get().trouble


def test_files_past_their_time_are_deleted_and_what_killed_workers_left(
    as_operator: APIClient,
    indexed: None,
    folder: Path,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    kept, old = done(as_operator), done(as_operator)
    Export.objects.filter(pk=old["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))
    long_ago = (timezone.now() - timedelta(days=2)).timestamp()
    left, fresh = files.part("a" * 32), files.part("b" * 32)
    for name, at in ((left, long_ago), (fresh, timezone.now().timestamp())):
        files.create(files.path(name)).close()
        os.utime(files.path(name), (at, at))
    with django_capture_on_commit_callbacks(execute=True):
        prune_exports()
    assert {path.name for path in folder.iterdir()} == {Export.objects.get(pk=kept["id"]).file, fresh}
    assert Export.objects.get(pk=old["id"]).state == ExportState.DELETED


def test_nothing_but_our_own_files_is_deleted(db: None, folder: Path, settings: Settings) -> None:
    settings.CLUSTER = "another"
    theirs = files.complete("E-7", "a" * 32, "ndjson")
    settings.CLUSTER = "local"
    for name in (theirs, "holiday.jpg", "left.part"):
        files.create(files.path(name)).close()
    ours = [files.part(letter * 32) for letter in "abc"]
    files.path(ours[0]).mkdir()
    files.path(ours[1]).symlink_to(files.path("holiday.jpg"))
    files.create(files.path(ours[2])).close()
    for path in folder.iterdir():
        os.utime(path, (1, 1), follow_symlinks=False)
    prune_exports()
    assert {path.name for path in folder.iterdir()} == {theirs, "holiday.jpg", "left.part", *ours[:2]}
