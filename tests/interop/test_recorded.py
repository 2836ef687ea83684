"""Dead letters that foreign programs wrote, and that `make interop` recorded: what the index reads from them."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.conf import settings

from benchmarks.anchors import CONNECT_MODULES
from tests.interop.documented import FACTS, PAGE, READ, page, reasons
from tests.interop.fact_checks import problems, read
from tests.interop.recordings import load
from tests.interop.writer_programs import BY_NAME, SOURCES, WRITERS, Writer
from tests.suites import ROOT

EACH = pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)


@EACH
def test_every_dead_letter_is_recognised_and_read_and_grouped_by_its_cause(writer: Writer) -> None:
    recording = load(writer.name)
    letters = read(recording, writer.final_topic)
    assert Counter(letter.origin.cause for letter in letters) == dict.fromkeys(writer.causes, 2)
    told = problems(letters)
    assert {column for column, problems in told.items() if problems} == reasons(writer.name, READ).keys(), told


@pytest.mark.parametrize("name", [writer.name for writer in WRITERS if FACTS in reasons(writer.name)])
def test_a_writer_that_does_not_tell_the_place_of_the_origin_is_read_right_otherwise(name: str) -> None:
    writer = BY_NAME[name]
    wrong = problems(read(load(name), writer.final_topic))[FACTS]
    assert all(f": origin is ('{writer.topic}', None, None), not " in sentence for sentence in wrong)


@EACH
def test_a_recording_tells_how_it_was_made(writer: Writer) -> None:
    recording = load(writer.name)
    assert recording.libraries == writer.libraries, "run `make interop RECORD=1`"
    assert recording.program == f"tests/interop/writers/{writer.source}"


@EACH
def test_the_index_finds_the_topic_of_dead_letters_by_its_usual_name(writer: Writer) -> None:
    patterns = [*settings.DLQ_TOPICS, *settings.DLQ_TOPIC_CANDIDATES]
    assert any(re.fullmatch(pattern, writer.final_topic) for pattern in patterns)


def test_a_message_of_a_retry_topic_tells_its_origin_and_the_retries_so_far() -> None:
    writer = BY_NAME["spring-retry-topics"]
    for retries, topic in enumerate(writer.dead_letter_topics):
        for letter in read(load(writer.name), topic):
            found, origin = letter.parsed.facts, letter.origin.record
            assert found.origin is not None
            assert (found.origin.topic, found.origin.offset) == (origin.topic, origin.offset)
            assert found.attempt == retries
            assert len(found.attempts) == (retries + 1 if retries else 0)
            times = [time for attempt in found.attempts for time in (attempt.due_at, attempt.failed_at) if time]
            assert times == sorted(times)
            assert len(times) == (retries + 1 if retries else 0)  # all due times, and the last failure


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text() == page(), "run `python -m tests.interop.documented`"


@EACH
def test_the_libraries_of_the_page_are_those_that_the_program_is_built_with(writer: Writer) -> None:
    folder = (SOURCES / writer.source).parent
    files = (folder / "pom.xml", folder / "package.json", folder / "go.mod", ROOT / "locks" / "run.txt")
    pinned = "".join(file.read_text() for file in files if file.exists())
    for library in writer.libraries:
        assert library in CONNECT_MODULES or any(pin in pinned for pin in pins(library))


def pins(library: str) -> list[str]:
    """Return the library as the lock file, package.json, go.mod and pom.xml name it."""
    name, _, version = library.partition("@")
    coordinates = zip(("groupId", "artifactId", "version"), library.split(":"), strict=False)
    return [
        library,
        f"{name} {version}",
        f'"{name}": "{version}"',
        "".join(f"<{tag}>{text}</{tag}>" for tag, text in coordinates),
    ]
