"""The problems of decoding and encoding. Each message is one sentence for people, without a full stop."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Undecodable(Exception):
    """The bytes can't be decoded with this decoder. `position` is the byte at which reading stopped, if known."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position

    def __str__(self) -> str:
        return self.reason if self.position is None else f"{self.reason}, at byte {self.position}"


class UnusableSchema(Exception):
    """The schema can't be used: its text or one of its references is invalid."""


class SchemaTimeout(UnusableSchema):
    """The schema took too long to be compiled. A later try may succeed, so it is not remembered."""


class SchemaNotFound(Exception):
    """The registry has no such schema, version or subject."""


class SchemaRefused(Exception):
    """The registry refused to register the schema: it is invalid or incompatible. The message is the registry's."""


class RegistryUnavailable(Exception):
    """The registry did not answer, or refused the request."""


class CredentialsRefused(RegistryUnavailable):
    """The registry refused the credentials, or a permission is missing."""


class ValueProblem(msgspec.Struct, frozen=True):
    """A place in a value that does not fit the schema. `path` is "" for the whole value."""

    path: str
    message: str


class InvalidValue(Exception):
    """The value does not fit the schema. It carries every problem found."""

    def __init__(self, problems: Sequence[ValueProblem]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "; ".join(f"{one.path or 'the value'}: {one.message}" for one in self.problems)
