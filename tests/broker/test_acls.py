"""The rights that `python -m engine acls` prints are exactly those that the engine uses, on a broker that checks them.

Each client has a principal of its own, so a right of one principal can't stand in for that of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from engine.assembly.acls import IMPLIED_BY, PrincipalAcl, required_acls
from engine.herder.snapshot import HerderSnapshot
from tests.broker.acl_trials import Trial
from tests.support.authorizer import AuthorizingBroker, Decision, authorizing_broker

KINDS = (
    "kafka",
    "kafka-plain",
    "file",
    "sql",
    "sql-once",
    "stream",
    "source",
    "source-plain",
    "mirror",
    "mirror-plain",
    "mirror-source",
)
REPRESENTATIVE = "kafka"
AT_ONCE = 4  # trials mostly wait
TIMEOUT_S = 40
RESTART_S = 10
RESTARTS = 2  # a reader that finds nothing new does not use its rights
NOUNS = {"transactional-id": "transactional id"}


@pytest.fixture(scope="module")
def authorizing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuthorizingBroker]:
    with authorizing_broker(tmp_path_factory.mktemp("authorizing")) as broker:
        yield broker


def needed(trial: Trial) -> list[PrincipalAcl]:
    """The rights without which something fails, one operation each."""
    return [
        replace(acl, need=replace(acl.need, operations=(operation,)))
        for acl in required_acls(trial.worker, [trial.properties])
        if not acl.without
        for operation in acl.need.operations
    ]


def covers(acl: PrincipalAcl, decision: Decision) -> bool:
    """Would the right allow this alone?"""
    need = acl.need
    is_named = decision.name.startswith(need.name) if need.prefixed else need.name == decision.name
    operations = {decision.operation, *IMPLIED_BY.get(decision.operation, ())}
    is_same = (acl.principal, need.kind) == (decision.principal, decision.kind)
    return is_same and is_named and need.operations[0] in operations


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == REPRESENTATIVE else pytest.mark.soak) for kind in KINDS]
)
def test_a_connector_runs_with_the_printed_rights_and_uses_each(
    authorizing: AuthorizingBroker, tmp_path: Path, kind: str
) -> None:
    trial = Trial(authorizing, kind, tmp_path)
    acls = needed(trial)
    authorizing.grant(acls)
    trial.prepare()
    view = trial.run(lambda _: trial.is_done(), TIMEOUT_S)
    assert trial.is_done(), trial.complaints(view)
    allowed = {decision for decision in authorizing.decisions() if decision.is_allowed}
    alone = [[acl for acl in acls if covers(acl, decision)] for decision in allowed]
    unused = [acl for acl in acls if [acl] not in alone]
    assert [(acl.principal, acl.need) for acl in unused] == []


def sentence(acl: PrincipalAcl) -> re.Pattern[str]:
    """The message of the engine without the right, or without a lesser right that it implies."""
    [operation] = acl.need.operations
    names = "|".join([operation, *(lesser for lesser, greater in IMPLIED_BY.items() if operation in greater)])
    noun = NOUNS.get(acl.need.kind, acl.need.kind)
    return re.compile(f"lacks [^;]*({names}) on {noun} [^;]*{re.escape(acl.need.name)}")


def without(authorizing: AuthorizingBroker, home: Path, kind: str, number: int) -> str:
    """Run a connector without one of its rights, and start the driver again until it names the right.

    Return what went wrong, if anything.
    """
    trial = Trial(authorizing, kind, home)
    acls = needed(trial)
    removed = acls.pop(number)
    if kind.startswith("mirror") and removed.need.name == trial.origin:
        # A mirror selects from the topics that it sees, so one that it may not even describe is none of them.
        acls.append(replace(removed, need=replace(removed.need, operations=("Describe",))))
    authorizing.grant(acls)
    trial.prepare()
    said: set[str] = set()

    def is_told(view: HerderSnapshot) -> bool:
        said.update(trial.complaints(view))
        return any(sentence(removed).search(text) for text in [*said, *trial.logged()])

    def is_over(view: HerderSnapshot) -> bool:
        return is_told(view) or trial.is_done()

    view = trial.run(is_over, TIMEOUT_S)
    for _ in range(RESTARTS):
        if is_told(view):
            return ""
        trial.add_work()
        view = trial.run(is_told, RESTART_S)
    if is_told(view):
        return ""
    return f"{removed.need.operations[0]} on {removed.need.kind} {removed.need.name}: done={trial.is_done()}, {said}"


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_without_any_one_right_the_engine_fails_and_names_it(
    authorizing: AuthorizingBroker, tmp_path: Path, kind: str
) -> None:
    rights = len(needed(Trial(authorizing, kind, tmp_path)))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        wrong = list(threads.map(partial(without, authorizing, tmp_path, kind), range(rights)))
    assert [text for text in wrong if text] == []
