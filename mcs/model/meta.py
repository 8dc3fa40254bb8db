"""What all Kubernetes objects share: metadata, conditions, and how present time is written."""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, ServiceKey


class Wire(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Base of every struct that is read from or written to an API server: unknown fields are ignored."""


class ObjectMeta(Wire, frozen=True):
    """The metadata that is read. A bookmark's object has no name, so every field has a default."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


ConditionStatus = Literal["True", "False", "Unknown"]


class Condition(Wire, frozen=True):
    """metav1.Condition; all but observedGeneration are required on the wire."""

    type: str
    status: ConditionStatus
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int = 0


class KubernetesObject(Wire, frozen=True):
    """An object of any kind, as far as every kind goes."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> ServiceKey:
        """(namespace, name); the namespace is empty for cluster-scoped kinds."""
        return ServiceKey(self.metadata.namespace, self.metadata.name)

    @property
    def is_ours(self) -> bool:
        """True when the object carries our managed-by label."""
        return self.metadata.labels.get(MANAGED_BY_LABEL) == MANAGED_BY

    @property
    def is_terminating(self) -> bool:
        """True from the moment its deletion was asked for until it is gone."""
        return self.metadata.deletion_timestamp is not None


def timestamp(moment: datetime) -> str:
    """`moment` as metav1.Time is written: UTC, whole seconds, RFC 3339 with Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> datetime | None:
    """The moment an RFC 3339 text names, fractions of seconds included; None when it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
