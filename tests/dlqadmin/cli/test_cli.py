from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from dlqadmin.cli import client, commands
from dlqadmin.cli.__main__ import run_command
from dlqadmin.cli.arguments import parser
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.masking.models import MaskingRule
from dlqadmin.metrics.models import Annotation
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import ItemState, Replay, ReplayItem
from tests.dlqadmin.conftest import person, token_of
from tests.dlqadmin.deadletters.letters import ALL, NST, index, letter

pytestmark = pytest.mark.django_db(transaction=True)
SINCE = f"after:{ALL['from']}"
UNKNOWN = "dlq: This API token is unknown. Create one on the profile screen or with manage.py create_token. (401)\n"
CONFIRMED = {"word": "usgs.earthquakes"}


class Done(msgspec.Struct, frozen=True):
    """What a command answered."""

    status: int
    out: str
    faults: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Keyboard(io.StringIO):
    """A person at a terminal."""

    def isatty(self) -> bool:
        return True


Dlq = Callable[..., Done]


@pytest.fixture
def indexed(db: None) -> list[int]:
    index([letter(offset) for offset in range(6)] + [letter(50, message=NST, value=b'{"mag": 1}\x1b[2J')])
    return list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))


@pytest.fixture
def dlq(live_server: LiveServer, transactional_db: None) -> Dlq:
    """The command as a user who may operate."""
    token = token_of(person("operator-1", "operator"))
    return command(live_server.url, token)


def command(url: str, token: str) -> Dlq:
    def run(*words: str, types: str | None = None) -> Done:
        out, faults = io.StringIO(), io.StringIO()
        source = io.StringIO() if types is None else Keyboard(types)
        status = run_command(words, {"DLQ_URL": url, "DLQ_TOKEN": token}, source, out, faults)
        assert token not in out.getvalue() + faults.getvalue()
        return Done(status, out.getvalue(), faults.getvalue())

    return run


def test_list_takes_the_language_of_the_query_bar(dlq: Dlq, indexed: list[int]) -> None:
    done = dlq("list", f"dlq_offset:50 {SINCE}")
    assert done.status == 0
    assert "usgs.earthquakes.dlq / 0 / 50" in done.out
    assert "\n1 of 1, failed from" in done.out


def test_list_goes_on_over_pages_until_the_limit(dlq: Dlq, indexed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "PAGE", 2)
    answer = dlq("list", SINCE, "--limit", "5", "--json").json
    assert len({row["id"] for row in answer["results"]}) == 5
    assert answer["total"] == {"count": 7, "exact": True}


def test_a_query_that_cannot_be_read_is_one_sentence(dlq: Dlq) -> None:
    done = dlq("list", "exeption:x")
    assert (done.status, done.out) == (2, "")
    assert done.faults == "dlq: q: Unknown field `exeption`. Did you mean `exception`? (400)\n"


def test_show_lets_no_record_reach_the_terminal(dlq: Dlq, indexed: list[int]) -> None:
    done = dlq("show", str(indexed[-1]))
    assert "NOT NULL constraint failed: earthquakes.nst" in done.out
    assert '{"mag": 1}\\x1b[2J' in done.out
    assert "\x1b" not in done.out
    assert dlq("show", str(indexed[-1]), "--json").json["id"] == indexed[-1]
    assert dlq("show", "999999").faults == "dlq: There is no dead letter with this id. (404)\n"


def test_plan_freezes_the_filter_and_says_what_the_plan_checked(dlq: Dlq, indexed: list[int]) -> None:
    done = dlq("plan", "--filter", SINCE, "--target", "other", "--rate", "7")
    replay = Replay.objects.get()
    assert (replay.target_topic, replay.rate, replay.selection.count) == ("other", 7, 7)
    assert done.status == 0
    assert done.out.startswith(f"R-{replay.pk}: ")
    assert "✕ Kafka does not respond" in done.out
    assert "The plan can't be run: it has errors (✕)." in done.out
    assert dlq("plan", "--filter", "group:999 " + SINCE).faults == "dlq: filter: matches no dead letter (400)\n"


def planned(dlq: Dlq, *, confirm: bool = False) -> str:
    """A replay whose plan can be run."""
    made = dlq("plan", "--filter", SINCE, "--json").json
    replay = Replay.objects.get(pk=made["id"])
    replay.plan |= {"runnable": True, "confirm": CONFIRMED if confirm else None, "to_send": 7}
    replay.save()
    return f"R-{replay.pk}"


def test_nothing_runs_in_a_pipe_unless_it_was_agreed_to(dlq: Dlq, indexed: list[int]) -> None:
    name = planned(dlq, confirm=True)
    assert dlq("replay", name, "--reason", "again").faults == (
        "dlq: There is no terminal to confirm. Add --yes to run it.\n"
    )
    done = dlq("replay", name, "--reason", "again", "--yes")
    assert done.status == 2
    assert "requires the word usgs.earthquakes" in done.faults
    assert Replay.objects.get().status == "planned"


def test_a_person_is_asked_and_types_the_word(dlq: Dlq, indexed: list[int]) -> None:
    name = planned(dlq, confirm=True)
    assert dlq("replay", name, "--reason", "again", types="n\n").faults == "dlq: The replay was not run.\n"
    wrong = dlq("replay", name, "--reason", "again", types="y\nusgs\n")
    assert (wrong.status, Replay.objects.get().status) == (2, "planned")
    done = dlq("replay", name, "--reason", "again", types="y\nusgs.earthquakes\n")
    assert (done.status, done.faults) == (0, "")
    assert f"To follow it: dlq watch {name}" in done.out
    assert (Replay.objects.get().status, Replay.objects.get().reason) == ("running", "again")


def test_one_record_is_one_and_groups_are_resolved_if_that_is_asked_for(dlq: Dlq, indexed: list[int]) -> None:
    name = planned(dlq)
    replay = Replay.objects.get()
    replay.plan |= {"to_send": 1}
    replay.save()
    done = dlq("replay", name, "--reason", "again", "--resolve-groups", types="y\n")
    assert "\n1 record to the origin topics, 6 left out\n" in done.out
    assert "Send 1 record? It cannot be recalled. [y/N] " in done.out
    assert (done.status, Replay.objects.get().resolve_groups) == (0, True)


def test_a_script_runs_it_with_everything_given(dlq: Dlq, indexed: list[int]) -> None:
    name = planned(dlq, confirm=True)
    words = ("--reason", "again", "--yes", "--typed", "usgs.earthquakes", "--json")
    assert dlq("replay", name, *words).json["status"] == "running"
    assert Replay.objects.get().resolve_groups is False
    assert dlq("replay", name, *words).faults.endswith("is running. Only a planned replay can be run.\n")


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ([ItemState.PASSED] * 7, 0),
        ([ItemState.PASSED] * 6 + [ItemState.SKIPPED], 0),
        ([ItemState.PASSED] * 6 + [ItemState.FAILED_AGAIN], 1),
        ([ItemState.PASSED] * 6 + [ItemState.UNKNOWN], 1),
        ([ItemState.SKIPPED] * 7, 1),
    ],
)
def test_watch_ends_with_what_became_of_it(dlq: Dlq, indexed: list[int], ends: list[ItemState], status: int) -> None:
    name = planned(dlq)
    settle(ends)
    done = dlq("watch", name)
    assert done.status == status
    assert done.out.startswith(f"{name} done: ")


def settle(ends: list[ItemState], **replay: Any) -> None:
    rows = list(ReplayItem.objects.order_by("ordinal"))
    for row, end in zip(rows, ends, strict=True):
        ReplayItem.objects.filter(pk=row.pk).update(state=end)
    item_states.created(Replay.objects.get())
    Replay.objects.update(**{"status": "done", **replay})


def test_watch_says_what_changed_until_it_is_done(dlq: Dlq, live_server: LiveServer, indexed: list[int]) -> None:
    name, waits, out = planned(dlq), [], io.StringIO()
    settle([ItemState.QUEUED] * 7, status="running")

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            settle([ItemState.PASSED] * 7)

    with client.Dashboard(live_server.url, token_of(User.objects.get(username="operator-1"))) as dashboard:
        asked = parser().parse_args(["watch", name, "--every", "3"])
        status = commands.run(asked, dashboard, commands.Terminal(io.StringIO(), out, wait))
    assert (status, waits) == (0, [3, 3])
    assert out.getvalue().splitlines() == [f"{name} running: 7 queued", f"{name} done: 7 passed"]


def test_watch_stops_at_a_replay_that_paused_by_itself(dlq: Dlq, indexed: list[int]) -> None:
    name = planned(dlq)
    settle([ItemState.QUEUED] * 7, status="paused", trouble="12 % failed again")
    done = dlq("watch", name)
    assert (done.status, done.out.splitlines()[-1]) == (1, "It paused because of a problem: 12 % failed again")


def test_annotate_marks_an_event_once_for_each_key(dlq: Dlq) -> None:
    words = ("annotate", "release 4.2", "--url", "https://ci.example.com/7", "--key", "run-7")
    done = dlq(*words)
    assert (done.status, done.out.endswith(": release 4.2\n")) == (0, True)
    assert dlq(*words, "--json").json["source"] == "dlq"
    assert Annotation.objects.count() == 1
    assert dlq("annotate", "x", "--url", "http://ci.example.com").status == 2


def test_a_viewer_may_look_and_may_not_run(live_server: LiveServer, indexed: list[int]) -> None:
    viewer: User = person("viewer-1", "viewer")
    dlq = command(live_server.url, token_of(viewer))
    assert dlq("list", SINCE).status == 0
    assert dlq("plan", "--filter", SINCE).faults == "dlq: This needs the role operator. (403)\n"


def test_withheld_content_is_said_to_be_withheld(live_server: LiveServer, indexed: list[int]) -> None:
    dlq = command(live_server.url, token_of(person("viewer-1", "viewer")))
    shown = dlq("show", str(indexed[0])).out
    assert "value:\nwithheld: requires the right payload reader." in shown
    assert "mag" not in shown


def test_content_that_a_rule_hides_is_said_to_be_masked(live_server: LiveServer, indexed: list[int]) -> None:
    now = timezone.now()
    rule = {"topics": ["*"], "kind": "json path", "show": "nothing", "created_at": now, "changed_at": now}
    MaskingRule.objects.create(field="key.$.id", **rule)  # no key is JSON, so all of it is hidden
    dlq = command(live_server.url, token_of(person("reader-1", "operator")))
    assert "key:\nmasked for your roles." in dlq("show", str(indexed[0])).out


def test_what_is_wrong_is_said_in_one_sentence(live_server: LiveServer) -> None:
    assert command(live_server.url, "wrong")("list").faults == UNKNOWN
    assert command("", "wrong")("list").faults.startswith("dlq: Set DLQ_URL to the dashboard's address")
    assert command(live_server.url, "t\n")("list").faults.startswith("dlq: Set DLQ_TOKEN")
    assert command(f"{live_server.url}/nothing", "wrong")("list").status == 2
    away = command("http://127.0.0.1:1", "wrong")("list")
    assert (away.status, away.faults) == (2, "dlq: http://127.0.0.1:1/ does not respond: ConnectError\n")


def test_an_address_with_a_password_is_refused_and_not_shown(live_server: LiveServer) -> None:
    done = command(live_server.url.replace("//", "//user:geheim@"), "wrong")("list")
    assert (done.status, done.faults) == (
        2, "dlq: DLQ_URL contains a user or password. Remove it and set DLQ_TOKEN.\n",
    )  # fmt: skip
    assert command("http://nowhere:port", "wrong")("list").faults.startswith("dlq: DLQ_URL is not a web address.")


@pytest.mark.parametrize("words", [["watch", "S-3"], ["list", "--limit", "0"], ["plan"], ["replay", "R-1"], []])
def test_words_that_make_no_sense_end_with_two(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_command(words, {}, io.StringIO(), io.StringIO(), io.StringIO())
    assert ended.value.code == 2


@pytest.mark.slow
def test_the_module_is_a_program(live_server: LiveServer) -> None:
    environment = {**os.environ, "DLQ_URL": live_server.url, "DLQ_TOKEN": "wrong"}
    done = subprocess.run(
        [sys.executable, "-m", "dlqadmin.cli", "list"], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", UNKNOWN)
