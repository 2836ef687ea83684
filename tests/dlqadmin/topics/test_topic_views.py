from rest_framework.test import APIClient


def test_an_absent_broker_is_said(as_reader: APIClient) -> None:
    for path in ("topics", "topics/orders", "topics/orders/records", "topics/orders/rates"):
        answer = as_reader.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["detail"][:23]) == (503, "Kafka did not answer: K"), path
