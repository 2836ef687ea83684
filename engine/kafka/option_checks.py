"""Ask librdkafka whether it accepts an option, before any client uses it."""

from __future__ import annotations

import re
from functools import lru_cache

import confluent_kafka as ck

from engine.config.permissions import LOADS

_WHOLE = "Failed to create"  # not about this option: another one is missing, or a file exists only on the worker
_CODE = re.compile(r"_cb$|^on_|^opaque$|^logger$|^default\.topic\.config$|^delivery\.report\.only\.error$")


@lru_cache(256)  # every lease asks again
def refusal(name: str, value: str) -> str | None:
    """Return why librdkafka refuses an option or its value, in its words; None if it does not.

    librdkafka is not asked about options without a text form, nor about options that load or run a program.
    """
    if name == "metadata.broker.list":
        return "is another name of bootstrap.servers; use bootstrap.servers"
    if _CODE.search(name):
        return "takes a function, so a configuration can't set it"
    if name in LOADS:
        return "is not allowed: it loads or runs a program on the worker"
    try:
        # A client checks its options when it is made. Without bootstrap.servers it connects to nothing.
        ck.Producer({name: value, "log_level": "0"})
    except ck.KafkaException as error:
        text = str(error.args[0].str()).strip()
        return None if text.startswith(_WHOLE) else f"the client says: {text}"
    except (TypeError, ValueError) as error:
        return f"the client says: {error}"
    return None
