"""Replay a writer's dead letters over the dashboard's API while the writer runs, and see what becomes of them."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from typing import Any

from rest_framework.test import APIClient

from dlqadmin.deadletters.index.consumer import follow
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.host.network import wait_until
from dlqadmin.replays.models import Replay, ReplayItem, WatchPosition
from dlqadmin.replays.outcomes.watcher import watch
from dlqadmin.replays.sending.sender import send_slice
from engine.record.record import RawRecord
from engine.record.replay import ITEM, PREFIX
from tests.interop.recorder import messages
from tests.interop.sample import Sample, samples
from tests.interop.writer_programs import Writer
from tests.support.topics import Headers

API = "/api/v1"
SEND_TIMEOUT_S, OUTCOME_TIMEOUT_S = 60, 120


def index(writer: Writer) -> int:
    """Index the writer's dead letters to their ends; return how many were new."""
    return follow(threading.Event(), f"index-{writer.name}", once=True)


class ForeignReplay:
    """A replay of all dead letters of a writer: of each cause one repaired record, and one as it was.

    They go to `target`, by default to their origin topic.
    """

    def __init__(self, writer: Writer, bootstrap: str, client: APIClient, target: str = "") -> None:
        self.writer, self.bootstrap, self.client = writer, bootstrap, client
        self.target = target
        self.topic = target or writer.topic
        self.failed = {sample.key: sample for sample in samples(writer.causes) if sample.cause}
        # Without those of an earlier replay.
        rows = {row.pk: row for row in DeadLetter.objects.filter(topic=writer.final_topic, replay_item=None)}
        self.samples = {pk: self.failed[(row.key_text or "").encode()] for pk, row in rows.items()}
        first = {sample.cause: pk for pk, sample in sorted(self.samples.items(), reverse=True)}
        self.repaired = set(first.values())
        for pk in self.repaired:
            self._repair(pk, self.samples[pk])
        self.before = len(messages(bootstrap, self.topic))
        self.replay = self._run(sorted(rows))

    def wrong_messages(self) -> Iterator[str]:
        """Yield one sentence for each message that is not the record as it was, or as it was repaired."""
        arrived = messages(self.bootstrap, self.topic)[self.before :]
        items = {item.token: item for item in ReplayItem.objects.filter(replay=self.replay)}
        if len(arrived) != len(items):
            yield f"{len(arrived)} messages arrived, not {len(items)}"
        for message in arrived:
            sent = items[dict(message.headers)[ITEM].decode()]  # type: ignore[union-attr] # the replay's own header
            sample = self.samples[sent.dead_letter_id]
            wanted = (sample.key, sample.value, sample.headers)
            if sent.dead_letter_id in self.repaired:
                wanted = (sample.fixed_key, sample.fixed, sample.headers)
            found = (message.key, message.value, foreign(message))
            for name, one, other in zip(("key", "value", "headers"), found, wanted, strict=True):
                if one != other:
                    yield f"{sample.cause}: the {name} arrived as {one!r}, not {other!r}"

    def until_decided(self) -> None:
        """Index and watch as the workers do, until every outcome is decided."""

        def decided() -> bool:
            index(self.writer)
            WatchPosition.objects.update(slow_at=None)
            watch()
            return Replay.objects.get(pk=self.replay).status == "done"

        try:
            wait_until(decided, f"the outcome of {self.writer.name}", OUTCOME_TIMEOUT_S, 1)
        except TimeoutError as error:
            items = ReplayItem.objects.filter(replay=self.replay).values_list("state", "reason", "evidence")
            raise TimeoutError(f"{error}: {sorted(set(items))}") from error

    def wrong_outcomes(self, wanted: str = "") -> Iterator[str]:
        """Yield one sentence for each record that neither failed again nor passed as it must.

        With `wanted`, only the records that must have this outcome are looked at.
        """
        for item in ReplayItem.objects.filter(replay=self.replay).order_by("ordinal"):
            right = "passed(observed)" if item.dead_letter_id in self.repaired else "failed_again()"
            found = f"{item.state}({item.reason})"
            if wanted in ("", right) and found != right:
                yield f"{self.samples[item.dead_letter_id].cause}: {found}, not {right}: {item.evidence}"

    def unknown_outcomes(self) -> set[str]:
        """Return the outcomes that are unknown, with their reasons."""
        rows = ReplayItem.objects.filter(replay=self.replay, state="unknown")
        return {f"unknown({row.reason})" for row in rows}

    def wrong_chains(self) -> Iterator[str]:
        """Yield one sentence for each dead letter of this replay that does not begin anew in the target."""
        retries = self.writer.retry_topics.index(self.target)
        left = len(self.writer.retry_topics) - 1 - retries
        rows = DeadLetter.objects.filter(topic=self.writer.final_topic, replay_item__startswith=self._uuid())
        for row in rows:
            found = (row.origin_topic, row.attempt)
            if found != (self.target, left):
                yield f"{row}: origin and retries are {found}, not {(self.target, left)}"
        if len(rows) != len(self.samples) - len(self.repaired):
            yield f"{len(rows)} dead letters, not {len(self.samples) - len(self.repaired)}"

    def _uuid(self) -> str:
        return str(Replay.objects.get(pk=self.replay).uuid)

    def _repair(self, pk: int, sample: Sample) -> None:
        body = {"key": _base64(sample.fixed_key), "value": _base64(sample.fixed)}
        response = self.client.put(f"{API}/dead-letters/{pk}/fix", body)
        assert response.status_code == 200, response.content

    def _run(self, ids: list[int]) -> int:
        selection = self._post("selections", {"ids": ids}, 201)
        planned = self._post("replays", {"selection": selection["id"], "rate": 0, "target_topic": self.target}, 201)
        assert planned["plan"]["to_send"] == len(ids), planned["plan"]
        word = (planned["plan"]["confirm"] or {"word": ""})["word"]
        body = {"reason": "the consumer is repaired", "plan_digest": planned["plan"]["digest"], "typed": word}
        self._post(f"replays/{planned['id']}/run", body, 200)
        wait_until(lambda: self._is_sent(planned["id"]), f"the sender of {self.writer.name}", SEND_TIMEOUT_S)
        return int(planned["id"])

    def _is_sent(self, replay: int) -> bool:
        send_slice(replay, "sender")
        return Replay.objects.get(pk=replay).status in ("watching", "done")

    def _post(self, path: str, body: dict[str, Any], expect: int) -> Any:
        response = self.client.post(f"{API}/{path}", body)
        assert response.status_code == expect, response.content
        return response.json()


def foreign(message: RawRecord) -> Headers:
    """Return the headers that are not the replay's own."""
    return tuple(row for row in message.headers if not row[0].startswith(PREFIX))


def _base64(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}
