"""The options of the data source: named as Spark's Kafka source names them, refused in one sentence."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine.dataframes.deadletters_options import SourceOptionError, Use, read_options

SERVERS = {"kafka.bootstrap.servers": "kafka:9092"}
ONE = {**SERVERS, "subscribe": "orders.dlq"}


def test_names_count_in_any_case_because_spark_passes_them_in_lower_case() -> None:
    read = read_options({**SERVERS, "SUBSCRIBE": "a, b ,a", "startingoffsets": "EARLIEST", "failondataloss": "false"})
    assert (read.topics, read.start, read.fails_on_data_loss) == (("a", "b"), "earliest", False)


def test_client_options_are_handed_to_the_client() -> None:
    read = read_options({**ONE, "kafka.security.protocol": "SASL_SSL", "kafka.fetch.max.wait.ms": "7"})
    assert read.client == {
        "bootstrap.servers": "kafka:9092",
        "security.protocol": "SASL_SSL",
        "fetch.max.wait.ms": "7",
    }


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1700000000123", datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T08:00:00Z", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-01-31T08:00:00+02:00", datetime(2026, 1, 31, 6, tzinfo=UTC)),
    ],
)
def test_times_are_milliseconds_or_iso_8601(text: str, time: datetime) -> None:
    read = read_options({**ONE, "startingTimestamp": text, "endingTimestamp": text})
    assert read.start == read.end == time


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({**ONE, "startingofset": "latest"}, "startingofset = latest: unknown option; did you mean startingOffsets?"),
        ({**ONE, "bootstrap.servers": "x"}, "bootstrap.servers: unknown option; did you mean kafka.bootstrap.servers?"),
        ({**ONE, "kafka.sasl.pasword": "x"}, 'property: "sasl.pasword"; did you mean kafka.sasl.password?'),
        ({**ONE, "kafka.enable.auto.commit": "true"}, "can't be set, because the data source manages it"),
        ({**ONE, "subscribePattern": ".*"}, "subscribe: give either subscribe with topics, or subscribePattern"),
        (SERVERS, "subscribe: give either subscribe with topics, or subscribePattern"),
        ({**SERVERS, "subscribePattern": "("}, "subscribePattern = (: is not a valid regular expression"),
        ({"subscribe": "a"}, "kafka.bootstrap.servers: is required"),
        ({**ONE, "startingOffsets": "newest"}, "startingOffsets = newest: must be earliest, latest, or JSON as"),
        ({**ONE, "startingOffsets": '{"t": {"0": -3}}'}, "must be earliest, latest, or JSON as"),
        ({**ONE, "startingOffsets": '{"t": {"a": 1}}'}, "must be earliest, latest, or JSON as"),
        ({**ONE, "startingTimestamp": "yesterday"}, "startingTimestamp = yesterday: must be milliseconds since 1970"),
        ({**ONE, "startingTimestamp": "1" * 30}, "must be milliseconds since 1970"),
        (
            {**ONE, "endingTimestamp": "1", "endingOffsets": "latest"},
            "endingTimestamp: give either endingTimestamp or endingOffsets",
        ),
        ({**ONE, "minPartitions": "0"}, "minPartitions = 0: must be"),
        ({**ONE, "failOnDataLoss": "no"}, "failOnDataLoss = no: must be true or false"),
        ({**ONE, "kafka.ssl.ca.location": "/nowhere/ca.pem"}, "kafka.ssl.ca.location = /nowhere/ca.pem: can't be read"),
    ],
)
def test_a_bad_option_is_refused_in_a_sentence(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(SourceOptionError) as refused:
        read_options(options)
    assert sentence in str(refused.value)
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize(
    ("use", "options", "sentence"),
    [
        ("batch", {"maxOffsetsPerTrigger": "5"}, "maxOffsetsPerTrigger = 5: is only for spark.readStream"),
        ("stream", {"endingOffsets": "latest"}, "endingOffsets = latest: is only for spark.read"),
        ("stream", {"pushFilters": "true"}, "pushFilters = true: is only for spark.read"),
        ("batch", {"startingOffsets": "latest"}, "startingOffsets = latest: a batch can't begin at the latest"),
        ("batch", {"endingOffsets": '{"t": {"0": -2}}'}, "a batch can't end at the earliest"),
    ],
)
def test_an_option_of_the_other_use_is_refused(use: Use, options: dict[str, str], sentence: str) -> None:
    assert read_options({**ONE, **options})  # `load` does not know the use yet
    with pytest.raises(SourceOptionError, match=sentence.replace("{", r"\{")):
        read_options({**ONE, **options}, use)


def test_no_secret_is_in_an_error() -> None:
    with pytest.raises(SourceOptionError) as refused:
        read_options({**ONE, "kafka.sasl.password": "sesame", "kafka.sasl.pasword": "sesame"})
    assert "kafka.sasl.pasword = ********" in str(refused.value)
    assert "sesame" not in str(refused.value)
