from tests.dlqadmin.deadletters.conftest import several_writers

__all__ = ["several_writers"]
