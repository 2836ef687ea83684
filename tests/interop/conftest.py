"""The operator of the dashboard's tests."""

from tests.dlqadmin.conftest import as_operator, operator

__all__ = ["as_operator", "operator"]
