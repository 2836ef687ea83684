from pytest_django import Settings

from dlqadmin.broker import cluster_settings
from dlqadmin.broker.cluster_settings import ClusterSettings
from dlqadmin.clusters import required_acls
from dlqadmin.clusters.required_acls import DashboardAcl

WHO, SERVERS = "User:CN=dash", "kafka:9093"
READ = DashboardAcl(("Read", "DescribeConfigs"), "topic", "orders.dlq", "why")


def test_what_is_allowed_is_ok_and_the_rest_is_named() -> None:
    everything = {("topic", "orders.dlq"): frozenset({"READ", "DESCRIBE", "DESCRIBE_CONFIGS"})}
    assert required_acls.check(READ, everything, WHO, SERVERS).verdict == "ok"
    some = required_acls.check(READ, {("topic", "orders.dlq"): frozenset({"READ"})}, WHO, SERVERS)
    assert (some.verdict, some.missing) == ("missing", ("DescribeConfigs",))


def test_what_the_broker_did_not_say_is_not_checked() -> None:
    assert required_acls.check(READ, {}, WHO, SERVERS).verdict == "not_checked"
    unknowable = DashboardAcl(("Write",), "topic", "*", "why", unchecked="nothing is written")
    assert required_acls.check(unknowable, {("topic", "*"): frozenset()}, WHO, SERVERS).note == "nothing is written"


def test_the_line_grants_what_is_needed() -> None:
    line = "kafka-acls.sh --bootstrap-server kafka:9093 --add --allow-principal User:CN=dash"
    assert (
        required_acls.check(READ, {}, WHO, SERVERS).command
        == f"{line} --operation Read --operation DescribeConfigs --topic orders.dlq"
    )
    prefixed = DashboardAcl(("Read",), "group", "dlqadmin-replay-", "why", prefixed=True)
    assert required_acls.check(prefixed, {}, WHO, SERVERS).command.endswith(
        "--group dlqadmin-replay- --resource-pattern-type prefixed"
    )
    cluster = DashboardAcl(("Describe",), "cluster", "", "why")
    assert required_acls.check(cluster, {}, "User:it's", SERVERS).command.endswith(
        """'User:it'"'"'s' --operation Describe --cluster"""
    )


def test_a_read_only_cluster_needs_nothing_for_writing(settings: Settings) -> None:
    def words() -> set[str]:
        return {
            operation
            for row in required_acls.required_acls(["a.dlq"], cluster_settings.own())
            for operation in row.operations
        }

    assert "Write" in words()
    settings.READ_ONLY = True
    assert "Write" not in words()


def needed(topics: list[str], **more: object) -> set[tuple[str, str]]:
    other = ClusterSettings("eu", {"bootstrap.servers": SERVERS}, **more)  # type: ignore[arg-type]
    return {(row.kind, row.name) for row in required_acls.required_acls(topics, other)}


def test_another_cluster_needs_the_rights_of_an_indexer_only_if_it_is_indexed(settings: Settings) -> None:
    group, topic = ("group", settings.INDEX_GROUP), ("topic", "a.dlq")
    assert not {group, topic} & needed([])
    indexed = needed(["a.dlq"], dead_letter_topics=("a.dlq",))
    assert {group, topic} <= indexed
    assert ("topic", settings.STATUS_TOPIC) not in indexed  # the engine's topics are on the own cluster
    read_only = needed(["a.dlq"], dead_letter_topics=("a.dlq",), is_read_only=True)
    assert {kind for kind, _ in indexed} - {kind for kind, _ in read_only} == {"transactional-id"}


def test_only_what_can_be_settled_is_asked() -> None:
    topics, groups = required_acls.resources_to_query(required_acls.required_acls(["a.dlq"], cluster_settings.own()))
    assert topics == ["a.dlq", "connect-status", "connect-outcomes"]
    assert groups == ["dlqadmin-index", "dlqadmin-reader", "dlqadmin-replay-check"]
