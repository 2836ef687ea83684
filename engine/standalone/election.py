"""The Election port of a driver without a cluster."""

from __future__ import annotations


class LoneDriver:
    """A driver that is always elected, because it knows no other one."""

    def is_elected(self) -> bool:
        return True

    def confirms(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing: there is no group to leave."""
