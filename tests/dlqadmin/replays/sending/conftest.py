"""What two at once need."""

from tests.dlqadmin.deadletters.conftest import beside, several_writers

__all__ = ["beside", "several_writers"]
