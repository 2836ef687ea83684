"""The operator of the dashboard's tests, and an installation for each test."""

from tests.broker.conftest import installation
from tests.dlqadmin.conftest import as_operator, operator

__all__ = ["as_operator", "installation", "operator"]
