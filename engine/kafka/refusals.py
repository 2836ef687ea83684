"""What librdkafka says of an option, before any client is made with it."""

from __future__ import annotations

from functools import lru_cache

import confluent_kafka as ck

_WHOLE = "Failed to create"  # not about this option: others are missing beside it, or a file is the worker's


@lru_cache(256)  # every lease asks again
def refusal(name: str, value: str) -> str | None:
    """Why librdkafka takes no such option, or not this value, in its words; None if it takes both."""
    try:
        ck.Producer({name: value, "log_level": "0"})
    except ck.KafkaException as error:
        text = str(error.args[0].str()).strip()
        return None if text.startswith(_WHOLE) else f"the client says: {text}"
    except (TypeError, ValueError) as error:
        return f"the client says: {error}"
    return None
