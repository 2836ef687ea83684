"""Prepare a start: check Kafka, migrate the database, create the first user.

`python -m dlqadmin.serve.preparation` reads a FirstUser from its standard input and prints a PreparationResult, both in
JSON. `dlqadmin serve` runs it as a process of its own, so that Django does not stay in its memory.
"""

from __future__ import annotations

import sys

import django
import msgspec
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management import call_command
from django.db import DatabaseError, transaction


class FirstUser(msgspec.Struct, frozen=True):
    """A user to create if there is none."""

    name: str
    password: str


class PreparationResult(msgspec.Struct, frozen=True):
    """The findings of a preparation. `problem` is a sentence; if there is one, the rest tells nothing."""

    problem: str = ""
    brokers: int = 0
    dead_letter_topics: int = 0
    is_first: bool = False  # the first user was created


def prepare(first: FirstUser) -> PreparationResult:
    """Prepare everything, or return the first problem."""
    try:
        django.setup()
        return _prepare(first)
    except ImproperlyConfigured as error:
        return PreparationResult(f"A setting is wrong: {error}")
    except ValidationError as error:
        return PreparationResult(f"The password of the first user is too weak: {' '.join(error.messages)}")
    except DatabaseError as error:
        return PreparationResult(f"The database can't be used: {error}".strip())


def _prepare(first: FirstUser) -> PreparationResult:
    from dlqadmin.broker import cluster_settings, connection_test
    from dlqadmin.clusters.connection_tests import verdict_of
    from dlqadmin.deadletters.index.followed_topics import followed_topics

    kafka, client = connection_test.connect(cluster_settings.own())
    if client is None:
        detail = f" ({kafka.detail})" if kafka.detail else ""
        return PreparationResult(f"Kafka can't be used: {verdict_of(kafka.kind)}{detail}")
    call_command("migrate", verbosity=0)
    followed = followed_topics()
    found = sum(followed.follows(topic) for topic in kafka.topics)
    return PreparationResult("", len(kafka.brokers), found, _create(first))


def _create(first: FirstUser) -> bool:
    """Create the first user, an administrator. Return whether there was none before."""
    from django.contrib.auth.models import User
    from django.contrib.auth.password_validation import validate_password

    from dlqadmin.audit import roles

    with transaction.atomic():
        roles.create_missing()
        if User.objects.exists():
            return False
        validate_password(first.password, User(username=first.name))
        User.objects.create_superuser(first.name, "", first.password)
        return True


def main() -> int:
    """Prepare, and print the result."""
    result = prepare(msgspec.json.decode(sys.stdin.read(), type=FirstUser))
    print(msgspec.json.encode(result).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
