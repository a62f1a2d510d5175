"""Health: what probes of a workload cluster have shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec import Struct

from kapstan.machinery.errors import KapstanError

__all__ = ("Health", "NotConnected", "ProbeOptions")


class NotConnected(KapstanError):
    """There is no connection to the workload cluster at present."""


class ProbeOptions(Struct, frozen=True, kw_only=True):
    """How often a workload cluster is asked whether it is there, and when it counts as lost. In seconds."""

    interval: float = 10
    timeout: float = 5
    failures: int = 5  # in a row, until the connection is given up
    retry: float = 1  # until a connection is tried again; doubles from there
    longest_retry: float = 30


class Health(Struct):
    """What is known of a workload cluster. To connect counts as a probe."""

    last_success: datetime | None = None
    failures: int = 0  # in a row
    error: str = ""  # of the last one

    def succeeded(self) -> None:
        self.last_success, self.failures, self.error = datetime.now(UTC), 0, ""

    def failed(self, error: BaseException) -> None:
        self.failures += 1
        self.error = str(error) or type(error).__name__

    def settled(self, enough: int) -> bool:
        """Whether enough has been tried to say anything about the cluster."""
        return self.last_success is not None or self.failures >= enough

    def silent_for(self) -> timedelta:
        """How long ago it last answered."""
        return datetime.now(UTC) - (self.last_success or datetime.min.replace(tzinfo=UTC))
