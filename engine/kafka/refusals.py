"""What librdkafka says of an option, before any client is made with it."""

from __future__ import annotations

import re
from functools import lru_cache

import confluent_kafka as ck

_WHOLE = "Failed to create"  # not about this option: others are missing beside it, or a file is the worker's
_CODE = re.compile(r"_cb$|^on_|^opaque$|^logger$|^default\.topic\.config$|^delivery\.report\.only\.error$")
_LOADS = frozenset({"plugin.library.paths", "ssl.engine.location", "ssl.providers", "sasl.kerberos.kinit.cmd"})


@lru_cache(256)  # every lease asks again
def refusal(name: str, value: str) -> str | None:
    """Why librdkafka takes no such option, or not this value, in its words; None if it takes both.

    It is not asked about options that no text can stand for, nor about those that load or run what they name.
    """
    if _CODE.search(name):
        return "can't be set by a text"
    if name in _LOADS:
        return "is not allowed: it loads or runs a program on the worker"
    try:
        ck.Producer({name: value, "log_level": "0"})
    except ck.KafkaException as error:
        text = str(error.args[0].str()).strip()
        return None if text.startswith(_WHOLE) else f"the client says: {text}"
    except (TypeError, ValueError) as error:
        return f"the client says: {error}"
    return None
