"""The subcommands: their requests to the dashboard, and their output."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any, TextIO
from urllib.parse import urlencode

from dlqadmin.cli import text
from dlqadmin.cli.client import Answer, Dashboard, DashboardError

DONE, NOT_PASSED = 0, 1
PAGE = 200
LOOK_S = 0.5
MARKS = {"ok": "✓", "warn": "!", "stop": "✕"}
COLUMNS = ("failed_at", "stage", "exception_class", "replay_state", "message")


class Terminal:
    """The input and output of a command. `interactive` is true if a person can answer."""

    def __init__(self, source: TextIO, out: TextIO, wait: Callable[[float], None] = time.sleep) -> None:
        self._source, self._out, self.wait = source, out, wait
        self.interactive = source.isatty()

    def say(self, line: str) -> None:
        """Write a line."""
        self._out.write(f"{line}\n")
        self._out.flush()

    def ask(self, question: str) -> str:
        """Ask a question and return the answer."""
        self._out.write(question)
        self._out.flush()
        return self._source.readline().strip()


def run(asked: Namespace, dashboard: Dashboard, terminal: Terminal) -> int:
    """Run a subcommand and return the exit status. Raises DashboardError."""
    commands = {"list": list_, "show": show, "plan": plan, "replay": replay, "watch": watch, "annotate": annotate}
    return commands[asked.command](asked, dashboard, terminal)


def list_(asked: Namespace, dashboard: Dashboard, terminal: Terminal) -> int:
    """List matching dead letters, newest first."""
    rows: list[Answer] = []
    page: Answer = {"next": ""}
    while len(rows) < asked.limit and page["next"] is not None:
        params = {"q": asked.query, "cursor": page["next"], "limit": min(PAGE, asked.limit - len(rows))}
        page = dashboard.get("dead-letters", {name: value for name, value in params.items() if value != ""})
        rows += page["results"]
    total, exact = page["total"]["count"], page["total"]["exact"]
    if asked.json:
        terminal.say(_json({"results": rows, "next": page["next"], "total": page["total"], "partial": page["partial"]}))
        return DONE
    if rows:
        head = ("ID", "TOPIC", *(name.upper() for name in COLUMNS))
        shown = [(row["id"], _coordinates(row), *(row[name] for name in COLUMNS)) for row in rows]
        terminal.say(text.table([head, *shown]))
    of = f"{max(total, len(rows))}{'' if exact else '+'}"
    terminal.say(f"{len(rows)} of {of}, failed from {page['from']} to {page['to']}{_partial_note(page)}")
    return DONE


def show(asked: Namespace, dashboard: Dashboard, terminal: Terminal) -> int:
    """Show one dead letter with its bytes."""
    row = dashboard.get(f"dead-letters/{asked.id}")
    if asked.json:
        terminal.say(_json(row))
        return DONE
    origin = (
        f"{row['origin_topic']} / {row['origin_partition']} / {row['origin_offset']}" if row["origin_topic"] else ""
    )
    facts = (
        ("dead letter", _coordinates(row)), ("origin", origin),
        ("failed at", row["failed_at"]), ("stage", row["stage"]),
        ("exception", row["exception_full"]), ("message", row["message"]), ("connector", row["connector"]),
        ("group", f"{row['group']['id']}, {row['group']['title']}"), ("replay", row["replay_state"]),
        ("bytes", row["original"]),
    )  # fmt: skip
    terminal.say(text.table([fact for fact in facts if fact[1]]))
    for name in ("key", "value"):
        terminal.say(f"\n{name}:\n{text.payload(row[name])}")
    terminal.say("\nheaders:")
    for header in row["headers"]:
        terminal.say(f"{text.escape_controls(header['name'])}: {text.header(header)}")
    return DONE


def plan(asked: Namespace, dashboard: Dashboard, terminal: Terminal) -> int:
    """Freeze the matching dead letters in a selection, and plan its replay."""
    selection = dashboard.make("selections", {"filter": urlencode({"q": asked.filter})})
    options = {"target_topic": asked.target, "rate": asked.rate, "title": asked.title or None}
    chosen = {name: value for name, value in options.items() if value is not None}
    made = dashboard.make("replays", {"selection": selection["id"], **chosen})
    while made["status"] == "planning":
        terminal.wait(LOOK_S)
        made = dashboard.get(f"replays/{made['id']}")
    if asked.json:
        terminal.say(_json(made))
    else:
        _say_plan(made, terminal)
        terminal.say(f"Nothing was written to Kafka. To run it: dlq replay R-{made['id']} --reason …")
    return DONE


def replay(asked: Namespace, dashboard: Dashboard, terminal: Terminal) -> int:
    """Run a planned replay after showing its plan.

    Raises DashboardError if a confirmation is needed and nobody can be asked.
    """
    found = dashboard.get(f"replays/{asked.replay}")
    if found["status"] != "planned":
        raise DashboardError(f"R-{asked.replay} is {found['status']}. Only a planned replay can be run.")
    shown = found["plan"]
    word = (shown.get("confirm") or {}).get("word", "")
    if not asked.json:
        _say_plan(found, terminal)
    _confirm(asked, terminal, shown["to_send"])
    typed = _ask_for_word(asked, terminal, word)
    body = {"reason": asked.reason, "plan_digest": shown["digest"], "typed": typed}
    body |= {"resolve_groups": True} if asked.resolve_groups else {}
    answer = dashboard.act(f"replays/{asked.replay}/run", body)
    if asked.json:
        terminal.say(_json(answer))
    else:
        terminal.say(
            f"R-{asked.replay}: {text.escape_controls(answer['said'])}. To follow it: dlq watch R-{asked.replay}"
        )
    return DONE


def watch(asked: Namespace, dashboard: Dashboard, terminal: Terminal) -> int:
    """Follow a replay until all outcomes are known or it pauses itself.

    Returns 0 only if every sent record passed.
    """
    last = ""
    while True:
        found = dashboard.get(f"replays/{asked.replay}")
        found.pop("plan", None)
        line = _json(found) if asked.json else f"R-{asked.replay} {found['status']}: {text.counts(found)}"
        if line != last:
            terminal.say(line)
        last = line
        if found["status"] == "planned":
            raise DashboardError(f"R-{asked.replay} has not been run.")
        if found["status"] in ("done", "cancelled"):
            return DONE if _all_passed(found) else NOT_PASSED
        if found["status"] == "paused" and found["trouble"]:
            if not asked.json:
                terminal.say(f"It paused because of a problem: {text.escape_controls(found['trouble'])}")
            return NOT_PASSED
        terminal.wait(asked.every)


def annotate(asked: Namespace, dashboard: Dashboard, terminal: Terminal) -> int:
    """Mark an event, such as a deployment, in the charts of the dashboard."""
    names = ("title", "kind", "at", "until", "text", "url", "topic", "connector", "source")
    body = {name: value for name in names if (value := getattr(asked, name))}
    made = dashboard.make("annotations", body, asked.key)
    terminal.say(
        _json(made) if asked.json else f"{made['kind']} at {made['at']}: {text.escape_controls(made['title'])}"
    )
    return DONE


def _all_passed(found: Answer) -> bool:
    counts = found["counts"]
    left = counts["total"] - counts["skipped"]
    return bool(found["status"] == "done" and counts["passed"] == left > 0)


def _confirm(asked: Namespace, terminal: Terminal, records: int) -> None:
    if asked.yes:
        return
    if not terminal.interactive:
        raise DashboardError("There is no terminal to confirm. Add --yes to run it.")
    they = "It" if records == 1 else "They"
    question = f"Send {text.counted(records, 'record')}? {they} cannot be recalled. [y/N] "
    if terminal.ask(question).lower() not in ("y", "yes"):
        raise DashboardError("The replay was not run.")


def _ask_for_word(asked: Namespace, terminal: Terminal, word: str) -> str:
    if not word or asked.typed:
        return str(asked.typed)
    if not terminal.interactive:
        shown = text.escape_controls(word)
        raise DashboardError(f"The plan requires the word {shown}, and there is no terminal to type it. Add --typed.")
    return terminal.ask(f"Type {text.escape_controls(word)} to confirm: ")


def _say_plan(found: Answer, terminal: Terminal) -> None:
    shown = found["plan"]
    terminal.say(f"R-{found['id']}: {text.escape_controls(found['title'])}")
    left_out = shown["total"] - shown["to_send"]
    target = text.escape_controls(found["target_topic"]) or "the origin topics"
    terminal.say(f"{text.counted(shown['to_send'], 'record')} to {target}, {left_out} left out")
    for one in shown["skipped"]:
        terminal.say(f"  – {one['count']} {text.escape_controls(one['reason'])}: {text.escape_controls(one['text'])}")
    for check in shown["checks"]:
        terminal.say(
            f"  {MARKS[check['level']]} {text.escape_controls(check['title'])}: {text.escape_controls(check['text'])}"
        )
    if not shown["runnable"]:
        terminal.say("The plan can't be run: it has errors (✕).")


def _coordinates(row: Answer) -> str:
    return f"{row['topic']} / {row['partition']} / {row['offset']}"


def _partial_note(page: Answer) -> str:
    return "; incomplete, because the search took too long" if page["partial"] else ""


def _json(document: Any) -> str:
    """Return one line of JSON. Non-ASCII characters are escaped, so that a terminal does not interpret any."""
    return json.dumps(document)
