"""`python -m tests.conformance.clients [word …]`: clients by others, with Kafka Connect and with the engine.

With words, only clients whose names contain one of them are run. Exit code 1: a result differs, and no row of
`docs/differences.md` says so.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.clients.programs import CLIENTS, ConnectClient
from tests.conformance.rest.answers import without_run_values
from tests.conformance.rest.judgement import Judgement, judge
from tests.conformance.rest.workers import RunningWorker, connect_worker, engine_worker


def main(words: Sequence[str]) -> int:
    """Install, run, print, judge."""
    clients = [client for client in CLIENTS if not words or any(word in client.name for word in words)]
    if not clients:
        print(f"no client is called {' or '.join(words)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="conformance-clients-") as name:
        home = Path(name)
        commands = {}
        for number, client in enumerate(clients):
            folder = home / f"client-{number}"
            folder.mkdir()
            commands[client] = client.install(folder, client.version)
        with connect_worker(home / "connect") as worker:
            theirs = {client: _results(client, worker, *commands[client]) for client in clients}
        with engine_worker(home / "engine") as worker:
            ours = {client: _results(client, worker, *commands[client]) for client in clients}
    failed = False
    for client in clients:
        judgement = judge(theirs[client], ours[client])
        print(*_lines(client, judgement), sep="\n")
        failed = failed or bool(judgement.unknown)
    return 1 if failed else 0


def _results(
    client: ConnectClient, worker: RunningWorker, command: Sequence[str], env: Mapping[str, str]
) -> dict[str, Any]:
    url = str(worker.http.base_url).rstrip("/")
    text = client.run(command, env, url, worker.folder).replace(str(worker.folder), "{folder}")
    return {
        f"client-{step}": {"status": 200, "headers": {}, "body": without_run_values(result)}
        for step, result in json.loads(text).items()
    }


def _lines(client: ConnectClient, judgement: Judgement) -> list[str]:
    steps, different = len(judgement.by_request), sum(map(bool, judgement.by_request.values()))
    figures = f"{steps} steps, {different} with documented differences, {len(judgement.unknown)} undocumented ones"
    lines = [f"    {one.where}: {one.theirs!r} | {one.ours!r}" for one in judgement.unknown]
    return [f"{client.name} {client.version} ({client.registry}): {figures}", *lines]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
