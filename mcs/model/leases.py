"""Lease (coordination.k8s.io/v1): who holds something, and how long others must see it unchanged to take it."""

from datetime import UTC, datetime

from mcs.model.meta import KubernetesObject, Wire


class LeaseSpec(Wire, frozen=True):
    """LeaseSpec; every field may be absent. An empty holder means that nobody holds it."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(KubernetesObject, frozen=True):
    """coordination.k8s.io/v1 Lease."""

    spec: LeaseSpec = LeaseSpec()

    @property
    def holder(self) -> str:
        """Who holds it; empty when nobody does."""
        return self.spec.holder_identity or ""


def micro_timestamp(moment: datetime) -> str:
    """`moment` as metav1.MicroTime is written: UTC, six digits of a second, RFC 3339 with Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
