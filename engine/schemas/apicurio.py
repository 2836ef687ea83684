"""Apicurio's own API, version 2. It knows global ids; Confluent's API of the same registry does not.

Every version of an artifact has a global id of its own. Two versions with the same text share a content id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from engine.schemas.problems import SchemaNotFound

Ask = Callable[[str, Mapping[str, str]], bytes]  # a path below the API's address, and the query
CONFLUENT_PATH, OWN_PATH = "/apis/ccompat/", "/apis/registry/v2"
MAX_REFERENCES = 100
MAX_VERSIONS = 500


class GlobalSchema(NamedTuple):
    """The schema of a global id. `references` are texts by name, each after those that it needs."""

    type: str
    text: str
    references: tuple[tuple[str, str], ...]


class ArtifactVersion(NamedTuple):
    """The artifact of a global id, the number of its version, and all versions of the artifact, ascending.

    `version` is None if the versions do not have numbers as names.
    """

    artifact: str
    version: int | None
    versions: tuple[int, ...]


def own_address(url: str) -> str | None:
    """Return the address of Apicurio's own API beside Confluent's, or None if the registry is another one."""
    root, found, _ = url.partition(CONFLUENT_PATH)
    return f"{root}{OWN_PATH}" if found else None


def schema(ask: Ask, global_id: int) -> GlobalSchema:
    """Return the schema of a global id. Raises SchemaNotFound, what `ask` raises, and ValueError for no JSON."""
    text = ask(f"ids/globalIds/{global_id}", {}).decode()
    references: dict[str, str] = {}
    _collect(ask, f"ids/globalIds/{global_id}", references)
    return GlobalSchema(_artifact(ask, global_id)["type"], text, tuple(references.items()))


def artifact_version(ask: Ask, global_id: int) -> ArtifactVersion:
    """Return the artifact and version of a global id. Raises as `schema` does."""
    artifact = _artifact(ask, global_id)
    path = f"{_path(artifact.get('groupId'), artifact['id'])}/versions"
    rows = msgspec.json.decode(ask(path, {"limit": str(MAX_VERSIONS)}))["versions"]
    found = [str(row["version"]) for row in rows if row["globalId"] == global_id]
    versions = sorted(int(row["version"]) for row in rows if str(row["version"]).isdecimal())
    version = int(found[0]) if found and found[0].isdecimal() else None
    return ArtifactVersion(artifact["id"], version, tuple(versions))


def _artifact(ask: Ask, global_id: int) -> dict[str, Any]:
    found = msgspec.json.decode(ask("search/artifacts", {"globalId": str(global_id)}))["artifacts"]
    if not found:
        raise SchemaNotFound(f"the registry has no artifact with the Apicurio global id {global_id}")
    return dict(found[0])


def _collect(ask: Ask, path: str, references: dict[str, str]) -> None:
    """Add the texts to which the schema at `path` refers, each after those that it needs."""
    for one in msgspec.json.decode(ask(f"{path}/references", {})):
        name = str(one["name"])
        if name in references:
            continue
        if len(references) >= MAX_REFERENCES:
            raise SchemaNotFound(f"the schema needs more than {MAX_REFERENCES} others")
        inner = f"{_path(one.get('groupId'), one['artifactId'])}/versions/{quote(str(one['version']), safe='')}"
        references[name] = ""  # holds the place, so that a circle ends
        _collect(ask, inner, references)
        del references[name]
        references[name] = ask(inner, {}).decode()


def _path(group: str | None, artifact: str) -> str:
    return f"groups/{quote(group or 'default', safe='')}/artifacts/{quote(artifact, safe='')}"
