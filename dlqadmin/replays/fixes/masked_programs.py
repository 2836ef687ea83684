"""Programs of people for whom fields of the record are masked.

The program is given what its author sees, so nothing that it tests, copies or counts is a masked value.
"""

from __future__ import annotations

import msgspec

from dlqadmin.masking.masked_members import masks_anywhere
from dlqadmin.masking.masks import HiddenWhole, RecordMasks
from dlqadmin.replays.fixes.masked_edits import MaskedEdit, edited
from dlqadmin.replays.fixes.record_changes import INVALID, UNTOUCHED, Change, Changer
from dlqadmin.replays.items.messages import Outgoing

HIDDEN = "the value is hidden from the author of the program"
FRAME = "keys and headers cannot be changed, because fields of the record are masked for the author of the program"
COPIED = "the program would copy a masked field"


def masked_change(masks: RecordMasks, message: Outgoing, change: Changer) -> Change:
    """Return what the program does to the shown fields, applied to the real bytes."""
    try:
        shown = masks.value(message.value)
    except HiddenWhole:
        return Change(INVALID, why=HIDDEN)
    # The real headers may name the schema of the value. A program that is allowed here reads neither them nor the key.
    made = change(Outgoing(message.key, shown, message.headers))
    if made.message is None:
        return made
    wanted = made.message
    if (wanted.key, wanted.headers) != (message.key, message.headers):
        return Change(INVALID, why=FRAME)
    if masks_anywhere(wanted.value or b"") > masks_anywhere(shown or b""):
        return Change(INVALID, why=COPIED)
    try:
        value = edited(masks, message.value, wanted.value, "value")
    except MaskedEdit as error:
        return Change(INVALID, why=str(error).removesuffix("."))
    if value == message.value:
        return Change(UNTOUCHED)
    return msgspec.structs.replace(made, message=Outgoing(message.key, value, message.headers))
