"""Options of a standalone worker: what differs from a worker of a cluster."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import Option, Problem

OFFSETS_FILE, DIRECTORY = "offset.storage.file.filename", "standalone.run.directory"
GROUP = "connect-standalone"  # part of transactional ids, which must differ from those of a cluster
# Options of topics and elections that a standalone worker does not have.
CLUSTER_OPTIONS = ("group.id", "config.storage.", "status.storage.", "offset.storage.", "session.timeout.ms")

OPTIONS: tuple[Option, ...] = (
    Option(
        OFFSETS_FILE,
        "string",
        None,
        "The file of the offsets of sources, for `python -m engine standalone`. It is in JSON. A file of Kafka "
        "Connect is refused.",
    ),
    Option(DIRECTORY, "string", None, "The directory of the files of a standalone run. Set by the engine."),
)


def cluster_warnings(properties: Mapping[str, str]) -> list[Problem]:
    """Return a warning for each option that only a worker of a cluster uses."""
    text = "has no effect: a standalone worker keeps configurations in its process and offsets in a file"
    return [
        (name, value, text)
        for name, value in properties.items()
        if name.startswith(CLUSTER_OPTIONS) and name != OFFSETS_FILE
    ]
