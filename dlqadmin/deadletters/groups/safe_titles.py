"""Titles of groups that quote no record, for people with masked fields and for places that everybody sees."""

from __future__ import annotations

from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import Fingerprint, Group
from dlqadmin.deadletters.payloads import quoting_text


def title_for_reader(group: int, title: str) -> str:
    """Return the title of a group for the present request: its number for people with masked fields.

    A title may quote any record of the group.
    """
    return title if quoting_text(title) == title else f"Group {group}"


def listed_title(group: Group, exception_class: str) -> str:
    """Return the title of a group in a list: its exception and number for people with masked fields."""
    if quoting_text(group.title) == group.title:
        return group.title
    return f"{short(exception_class)} (group {group.pk})"


def safe_title(group: int) -> str:
    """Return the exception, the stage and the number of a group.

    For texts that are stored or leave the dashboard: nobody knows who reads them, and which rules hold by then.
    """
    known = Fingerprint.objects.filter(group=group).order_by("pk").first()
    return f"{short(known.exception_class)} in {known.stage} (group {group})" if known else f"Group {group}"
