"""The Producer port over confluent_kafka: queue, then flush until everything is durable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import confluent_kafka as ck

from engine.errors import FailureType, ProduceFailed, RetriableError
from engine.kafka.errors import REJECTED, describe, error_class, translate, translated
from engine.record.record import Headers

FLUSH_SLICE_S = 0.5
ANY_PARTITION = -1
Delivered = Callable[[ck.KafkaError | None, ck.Message], None]


class KafkaProducer:
    """Writes records, and remembers which of them failed since the last flush."""

    only_errors = True  # are the client's reports about records that were delivered done without?

    def __init__(self, settings: Mapping[str, str]) -> None:
        with translated():
            self._client = ck.Producer({**settings, "delivery.report.only.error": self.only_errors})
        self._queued = 0
        self._failures: list[tuple[int, str, ck.KafkaError]] = []

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> None:
        ordinal = self._queued
        self._queued += 1
        while True:
            try:
                self._client.produce(
                    topic,
                    value,
                    key,
                    on_delivery=self._listener(ordinal, topic),
                    partition=ANY_PARTITION if partition is None else partition,
                    timestamp=timestamp or 0,
                    headers=list(headers),
                )
            except BufferError:
                with translated():  # whatever is fatal by now
                    self._client.poll(FLUSH_SLICE_S)
            except ck.KafkaException as error:
                self._failures.append((ordinal, topic, error.args[0]))
                return
            except (TypeError, ValueError, OverflowError) as error:  # a topic or a header of a wrong type
                wrong = ck.KafkaError(ck.KafkaError._INVALID_ARG, str(error))
                self._failures.append((ordinal, str(topic), wrong))
                return
            else:
                return

    def flush(self) -> None:
        # Each record ends as delivered or failed by delivery.timeout.ms, so this ends too.
        with translated():
            while self._client.flush(FLUSH_SLICE_S):
                pass
        failures, self._failures, self._queued = sorted(self._failures, key=lambda row: row[0]), [], 0
        for _, _, error in failures:
            if error_class(error) is not RetriableError and error.code() not in REJECTED:
                raise translate(error)  # of no record: the client, or its right to write, is gone
        if failures:
            rows = tuple((topic, describe(error)) for _, topic, error in failures)
            retriable = all(error_class(error) is RetriableError for _, _, error in failures)
            kind = FailureType.DELIVERY_FAILED if retriable else FailureType.MESSAGE_REJECTED
            raise ProduceFailed(rows, tuple(ordinal for ordinal, _, _ in failures), kind)

    def close(self) -> None:
        """Let go of it; what was not flushed may be lost."""
        self._client.purge()
        with suppress(ck.KafkaException, SystemError):  # what was fatal is raised by each call, once more by this one
            self._client.flush(FLUSH_SLICE_S)

    def _listener(self, ordinal: int, topic: str) -> Delivered:
        def on_delivery(error: ck.KafkaError | None, _: ck.Message) -> None:
            if error is not None:
                self._failures.append((ordinal, topic, error))

        return on_delivery
