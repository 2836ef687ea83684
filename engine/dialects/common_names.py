"""Names that applications give to the facts of a dead letter, in headers and in JSON, without a common standard.

The table was collected from public code in Java, Python, Go, Rust, C# and JavaScript that writes dead letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

# In the order of preference. `NAMED` gives the fact of each name.
NAMES: dict[str, tuple[str, ...]] = {
    "topic": ("originaltopic", "sourcetopic", "origtopic", "failedtopic", "inputtopic", "topic"),
    "partition": ("originalpartition", "sourcepartition", "origpartition", "partition"),
    "offset": ("originaloffset", "sourceoffset", "origoffset", "offset"),
    "timestamp": ("originaltimestamp", "sourcetimestamp"),
    "exception": (
        "exceptionclassname",
        "exceptionclass",
        "exceptiontype",
        "exceptionfqcn",
        "exceptionname",
        "errorclassname",
        "errorclass",
        "errortype",
        "errorname",
        "errorkind",
        "exceptionkind",
        "failuretype",
        "errorcode",
        "exception",
    ),
    "message": (
        "errormessage",
        "errormsg",
        "exceptionmessage",
        "errorreason",
        "failurereason",
        "failuremessage",
        "rejectionreason",
        "rejectionmessage",
        "errordescription",
        "error",
        "reason",
        "cause",
    ),
    "trace": (
        "exceptionstacktrace",
        "errorstacktrace",
        "stacktrace",
        "errorstack",
        "errortraceback",
        "traceback",
        "stack",
    ),
    "attempts": ("attemptcount", "attempts", "deliveryattempts", "deliverycount"),
    "retries": ("retrycount", "retries", "retryattempt", "retryattempts"),
    "time": (
        "errortimestamp",
        "failuretimestamp",
        "rejectiontimestamp",
        "failedat",
        "erroredat",
        "lastfailureat",
        "deadletteredat",
    ),
    "first time": ("firstfailureat", "firstfailedat", "firstfailuretimestamp"),
    "group": ("consumergroup", "consumergroupid", "groupid", "originalconsumergroup", "sourceconsumergroup"),
    "stage": ("stage", "errorstage"),
    "key": ("originalkey", "sourcekey", "rawkey", "key"),
    "value": (
        "originalvalue",
        "originalmessage",
        "originalpayload",
        "originalevent",
        "originalrecord",
        "originaldata",
        "rawvalue",
        "rawmessage",
        "rawpayload",
        "rawdata",
        "raw",
        "failedmessage",
        "payload",
        "value",
        "message",
        "data",
        "body",
    ),
}
# A dead letter must name its topic with one of these, or with `topic` beside an exception.
ORIGINS = frozenset(NAMES["topic"][:-1])
NAMED = {name: (fact, rank) for fact, names in NAMES.items() for rank, name in enumerate(names)}
PREFIXES = ("xdeadletter", "deadletter", "xdlq", "xdlt", "dlq", "dlt", "x", "kafka")
SEPARATORS = str.maketrans("", "", "-_. ")


@lru_cache(4096)
def meaning(name: str) -> tuple[str, int] | None:
    """Return the fact that a name stands for, and the name's rank among those of this fact. None for other names.

    Case, separators, prefixes such as `x-` and `dlq.`, and the ending `base64` do not count.
    """
    if len(name) > 64:
        return None
    plain = name.translate(SEPARATORS).lower().removesuffix("base64").removesuffix("b64")
    if plain in NAMED:
        return NAMED[plain]
    prefix = next((prefix for prefix in PREFIXES if plain.startswith(prefix)), "")
    return NAMED.get(plain.removeprefix(prefix)) if prefix else None


def by_fact(names: Iterable[str]) -> dict[str, str]:
    """Return the best name of each fact."""
    found: dict[str, tuple[int, str]] = {}
    for name in names:
        if known := meaning(name):
            fact, rank = known
            if fact not in found or rank < found[fact][0]:
                found[fact] = (rank, name)
    return {fact: name for fact, (_, name) in found.items()}


def is_original(name: str) -> bool:
    """Return whether a name says that the value is the original record, such as `original_message` or `raw_data`."""
    plain = name.translate(SEPARATORS).lower()
    return plain.startswith(("original", "raw", "failedmessage"))


def is_dead_letter(found: dict[str, str]) -> bool:
    """Return whether the facts describe a failure: an origin topic, and an exception or a message."""
    topic = found.get("topic")
    if topic is None or not ("message" in found or "exception" in found):
        return False
    plain = topic.translate(SEPARATORS).lower()
    return any(plain.endswith(name) for name in ORIGINS) or {"exception", "partition", "offset"} <= found.keys()
