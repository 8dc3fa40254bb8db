"""What members of the clusterset may do: where they export and import, how much, and which addresses they may name.

Values only. How a policy file is read is left to `mcs.membership.policy`, what follows from one to `mcs.services`.
"""

from ipaddress import IPv4Network, IPv6Network
from typing import Literal

from msgspec import Struct

from mcs.model.names import SYSTEM_NAMESPACES, ClusterId
from mcs.model.registration import DEFAULT_SYSTEM_NAMESPACE

Network = IPv4Network | IPv6Network
Precedence = Literal["oldest", "first-seen"]


class Caps(Struct, frozen=True, kw_only=True):
    """How much one member may bring into the clusterset.

    `exports` and `endpoints` are of all its services together, `endpoints_per_service` of each. `object_bytes` bounds
    what one EndpointSlice of it becomes elsewhere; etcd takes no more than 1.5 MiB.
    """

    exports: int = 10_000
    endpoints: int = 100_000
    endpoints_per_service: int = 10_000
    object_bytes: int = 1_000_000


class MemberPolicy(Struct, frozen=True, kw_only=True):
    """What one member may do.

    `denied` namespaces take no part at all; of the others those of `exports_from` and `imports_into` do, None standing
    for all. Endpoints of the member must be in `pod_ranges`, if any are given, and those of no other member may be in
    its `service_ranges`.
    """

    denied: frozenset[str] = SYSTEM_NAMESPACES | {DEFAULT_SYSTEM_NAMESPACE}
    exports_from: frozenset[str] | None = None
    imports_into: frozenset[str] | None = None
    caps: Caps = Caps()
    pod_ranges: tuple[Network, ...] = ()
    service_ranges: tuple[Network, ...] = ()

    def may_export_from(self, namespace: str) -> bool:
        """True when Services of the namespace may be exported by this member."""
        return namespace not in self.denied and (self.exports_from is None or namespace in self.exports_from)

    def may_import_into(self, namespace: str) -> bool:
        """True when the namespace may be written to in this member; where not, nothing is deleted there either."""
        return namespace not in self.denied and (self.imports_into is None or namespace in self.imports_into)


class Policy(Struct, frozen=True, kw_only=True):
    """What all members may do. `precedence` tells which of several exports of a service decides its properties.

    With "oldest" it is the one created first, as KEP-1645 has it, by the clock of its cluster. With "first-seen" the
    one that decides goes on to do so while it stays, whatever age others claim.
    """

    precedence: Precedence = "oldest"
    default: MemberPolicy = MemberPolicy()
    members: dict[ClusterId, MemberPolicy] = {}

    def of(self, cluster: ClusterId) -> MemberPolicy:
        """What this member may do."""
        return self.members.get(cluster, self.default)


DEFAULT_POLICY = Policy()
