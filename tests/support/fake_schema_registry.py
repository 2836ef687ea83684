"""A schema registry in memory, with the methods that converters use, and with the answers of its REST API."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

import orjson

from engine.schemas.framing import SchemaFrame
from engine.schemas.problems import RegistryUnavailable, SchemaNotFound, SchemaRefused
from engine.schemas.registry import SchemaText, SubjectVersion
from tests.support.http_target import Reply, Seen

NOT_FOUND = Reply(404, b'{"error_code": 40403, "message": "Schema not found"}', {"Content-Type": "application/json"})


class FakeSchemaRegistry:
    """Registered schemas by id. `asked` lists the requests. `failure` is raised by each of them."""

    def __init__(self) -> None:
        self.schemas: dict[int, SchemaText] = {}
        self.versions: dict[str, list[int]] = {}
        self.asked: list[str] = []
        self.failure: RegistryUnavailable | None = None
        self.refusal = ""

    def add(self, subject: str, type_: str, text: str, *, has_rules: bool = False) -> int:
        """Register a schema, as another program does."""
        found = next((one.id for one in self.schemas.values() if (one.type, one.text) == (type_, text)), None)
        number = found if isinstance(found, int) else len(self.schemas) + 1
        self.schemas[number] = SchemaText(number, type_, text, has_rules=has_rules)  # type: ignore[arg-type] # a test's word
        versions = self.versions.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def schema(self, frame: SchemaFrame) -> SchemaText:
        return self.schema_by_id(int(frame.id))

    def schema_by_id(self, number: int) -> SchemaText:
        self._ask(f"id {number}")
        if number not in self.schemas:
            raise SchemaNotFound(f"the registry has no id {number}")
        return self.schemas[number]

    def subjects(self, number: int) -> tuple[SubjectVersion, ...]:
        self._ask(f"subjects {number}")
        rows = ((subject, ids.index(number) + 1) for subject, ids in self.versions.items() if number in ids)
        return tuple(SubjectVersion(*row) for row in rows)

    def latest(self, subject: str) -> SchemaText:
        self._ask(f"latest {subject}")
        if subject not in self.versions:
            raise SchemaNotFound(f"the registry has no subject {subject}")
        return self.schemas[self.versions[subject][-1]]

    def register(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        self._ask(f"register {subject}{' normalized' if normalize else ''}")
        if self.refusal:
            raise SchemaRefused(self.refusal)
        return self.add(subject, schema.type, schema.text)

    def lookup(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        self._ask(f"lookup {subject}{' normalized' if normalize else ''}")
        for number in self.versions.get(subject, ()):
            if self.schemas[number].text == schema.text:
                return number
        raise SchemaNotFound(f"the registry has no schema like the record's under subject {subject}")

    def answer(self, seen: Seen) -> Reply:
        """Answer a request of Confluent's client: a schema by its id, its subjects, or its registration."""
        path = unquote(urlsplit(seen.path).path)
        if seen.method == "POST" and (found := re.fullmatch(r"/subjects/(.+)/versions", path)):
            body = orjson.loads(seen.body)
            return _json({"id": self.add(found[1], body.get("schemaType", "AVRO"), body["schema"])})
        if found := re.fullmatch(r"/schemas/ids/(\d+)(/versions)?", path):
            number = int(found[1])
            if number not in self.schemas:
                return NOT_FOUND
            if found[2]:
                return _json([{"subject": one.subject, "version": one.version} for one in self.subjects(number)])
            return _json({"schema": self.schemas[number].text, "schemaType": self.schemas[number].type})
        return NOT_FOUND

    def close(self) -> None:
        self._ask("close")

    def _ask(self, request: str) -> None:
        self.asked.append(request)
        if self.failure is not None and request != "close":
            raise self.failure


def _json(body: object) -> Reply:
    return Reply(200, orjson.dumps(body), {"Content-Type": "application/json"})
