"""The bodies of requests about mappings."""

from __future__ import annotations

from typing import Any

import msgspec
from rest_framework import serializers

from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField
from engine.dialects.mapping import FACTS, MAX_SOURCES, MAX_TOPICS, FactSource, MappedFact, Mapping

MAX_REASON = 1000
MAX_YAML = 100_000


class SourceBody(Form):
    """One place of a dead letter: exactly one of `header`, `json` and `letter`."""

    header = serializers.CharField(max_length=500, required=False, allow_null=True, allow_blank=True)
    json = serializers.CharField(max_length=500, required=False, allow_null=True)
    letter = serializers.ChoiceField(["key", "value"], required=False, allow_null=True)
    pick = serializers.ChoiceField(["first", "last"], default="first")
    keep = serializers.BooleanField(default=False)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `as`, which is a keyword of Python."""
        form = serializers.CharField(max_length=20, required=False, allow_null=True)
        return {**super().get_fields(), "as": form}


class FactBody(Form):
    """A fact and its sources, in the order in which they are tried."""

    fact = serializers.CharField(max_length=30)
    sources = BoundedListField(child=SourceBody(), max_length=MAX_SOURCES)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `required`, which is an attribute of every serializer."""
        return {**super().get_fields(), "required": serializers.BooleanField(default=False)}


class MappingBody(Form):
    """A mapping."""

    name = serializers.CharField(max_length=30)
    topics = BoundedListField(child=serializers.CharField(max_length=249), max_length=MAX_TOPICS)
    facts = BoundedListField(child=FactBody(), max_length=len(FACTS))


class TryBody(Form):
    """A topic, the mapping to try on its newest letters, and the position of the letter to show."""

    topic = serializers.CharField(max_length=249)
    mapping = MappingBody()
    letter = serializers.IntegerField(min_value=0, max_value=99, default=0)


class SaveBody(Form):
    """A new version of a mapping.

    `opened` is the version that the person saw before, or null if there was none. `reread` are the topics to read
    again with it.
    """

    mapping = MappingBody()
    opened = serializers.IntegerField(allow_null=True)
    reread = BoundedListField(child=serializers.CharField(max_length=249), default=list, max_length=MAX_TOPICS)
    reason = serializers.CharField(max_length=MAX_REASON)


class MappingReasonBody(Form):
    """The reason for the audit trail."""

    reason = serializers.CharField(max_length=MAX_REASON)


class RereadBody(MappingReasonBody):
    """A topic to read again from its start."""

    topic = serializers.CharField(max_length=249)


class YamlBody(Form):
    """A mapping in YAML."""

    yaml = serializers.CharField(max_length=MAX_YAML, trim_whitespace=False)


def mapping_of(body: dict[str, Any]) -> Mapping:
    """Return the mapping of a checked body. Raises msgspec.ValidationError, whose text names the place."""
    facts = {one["fact"]: {"sources": one["sources"], "required": one["required"]} for one in body["facts"]}
    return msgspec.convert({"name": body["name"], "topics": body["topics"], "facts": facts}, Mapping)


def from_yaml(text: str) -> Mapping:
    """Return the mapping of a YAML text. A fact may be one source, a list of sources, or complete.

    Raises msgspec.MsgspecError, whose text is one sentence.
    """
    document = msgspec.yaml.decode(text)
    if isinstance(document, dict) and isinstance(document.get("facts"), dict):
        document = {**document, "facts": {fact: _whole(given) for fact, given in document["facts"].items()}}
    return msgspec.convert(document, Mapping)


def as_yaml(mapping: Mapping) -> str:
    """Return the mapping as YAML. A fact with one optional source is written as that source."""
    document = msgspec.to_builtins(mapping)
    document["facts"] = {fact: _brief(mapped) for fact, mapped in mapping.facts.items()}
    return msgspec.yaml.encode(document).decode()


def _whole(given: Any) -> Any:
    if isinstance(given, list):
        return {"sources": given}
    return given if isinstance(given, dict) and "sources" in given else {"sources": [given]}


def _brief(mapped: MappedFact) -> Any:
    sources: list[FactSource] = msgspec.to_builtins(mapped.sources)
    if mapped.required:
        return {"sources": sources, "required": True}
    return sources[0] if len(sources) == 1 else sources
