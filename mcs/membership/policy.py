"""From the text of a policy file to a policy, or to one sentence that says where it is wrong and what to write.

Reading the file is left to the command line. What members may do by it is decided in `mcs.services`.
"""

from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import fields

from mcs.model.names import SYSTEM_NAMESPACES, ClusterId, cluster_id_error, is_dns_label
from mcs.model.policy import Caps, MemberPolicy, Network, Policy, Precedence
from mcs.model.registration import DEFAULT_SYSTEM_NAMESPACE

T = TypeVar("T")

_PRECEDENCES = ("oldest", "first-seen")
_CAPS = {
    "exports": "exports",
    "endpoints": "endpoints",
    "endpointsPerService": "endpoints_per_service",
    "objectBytes": "object_bytes",
}


class PolicyError(ValueError):
    """A policy that cannot be used; the message names the place in it and what belongs there."""


class _Place(Struct, frozen=True):
    """Where in the document something stands, as the message shows it."""

    path: str = ""

    def __truediv__(self, key: str) -> "_Place":
        return _Place(f"{self.path}.{key}" if self.path else key)

    def wrong(self, value: object, expected: str) -> PolicyError:
        shown = repr(value)
        return PolicyError(
            f"{self.path or 'the policy'}: {shown[:100]}{'…' if len(shown) > 100 else ''} is not valid; "
            f"write {expected}"
        )


def parse_policy(document: object) -> Policy:
    """The policy that a parsed YAML document states; an empty one states the default. Raises PolicyError.

    What a member does not say is as in `defaults`, and what that does not say as in the default policy.
    """
    root = _Place()
    keys = _mapping(
        root, document, ("systemNamespace", "deniedNamespaces", "precedence", "defaults", "members")
    )
    system = _namespace(root / "systemNamespace", keys.get("systemNamespace", DEFAULT_SYSTEM_NAMESPACE))
    denied = _listed(root / "deniedNamespaces", keys.get("deniedNamespaces") or [], _namespace)
    precedence = keys.get("precedence", "oldest")
    if precedence not in _PRECEDENCES:
        raise (root / "precedence").wrong(precedence, " or ".join(_PRECEDENCES))
    base = MemberPolicy(denied=frozenset({*SYSTEM_NAMESPACES, system, *denied}))
    default = _member(root / "defaults", keys.get("defaults"), base)
    members = keys.get("members") or {}
    if not isinstance(members, Mapping):
        raise (root / "members").wrong(members, "a mapping from cluster ids to what each may do")
    return Policy(
        precedence=cast("Precedence", precedence),
        default=default,
        members={
            _cluster(root / "members", cluster): _member(root / "members" / str(cluster), said, default)
            for cluster, said in members.items()
        },
    )


def _member(place: _Place, said: object, base: MemberPolicy) -> MemberPolicy:
    keys = _mapping(place, said, ("exportsFrom", "importsInto", "caps", "podRanges", "serviceRanges"))

    def names(key: str, otherwise: frozenset[str] | None) -> frozenset[str] | None:
        value = keys.get(key)
        return otherwise if value is None else frozenset(_listed(place / key, value, _namespace))

    def ranges(key: str, otherwise: tuple[Network, ...]) -> tuple[Network, ...]:
        value = keys.get(key)
        return otherwise if value is None else _listed(place / key, value, _network)

    return MemberPolicy(
        denied=base.denied,
        exports_from=names("exportsFrom", base.exports_from),
        imports_into=names("importsInto", base.imports_into),
        caps=_caps(place / "caps", keys.get("caps"), base.caps),
        pod_ranges=ranges("podRanges", base.pod_ranges),
        service_ranges=ranges("serviceRanges", base.service_ranges),
    )


def _caps(place: _Place, said: object, base: Caps) -> Caps:
    keys = _mapping(place, said, tuple(_CAPS))
    for key, value in keys.items():
        if type(value) is not int or value < 0:
            raise (place / key).wrong(value, "a whole number, 0 or more")
    stated = {_CAPS[key]: value for key, value in keys.items()}
    return Caps(**{each.name: stated.get(each.name, getattr(base, each.name)) for each in fields(base)})


def _mapping(place: _Place, value: object, known: tuple[str, ...]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise place.wrong(value, f"a mapping with {', '.join(known)}")
    for key in value:
        if key not in known:
            raise PolicyError(f"{(place / str(key)).path}: unknown key; known here are {', '.join(known)}")
    return value


def _listed(place: _Place, value: object, parse: Callable[[_Place, object], T]) -> tuple[T, ...]:
    if not isinstance(value, list):
        raise place.wrong(value, "a list")
    return tuple(parse(place / str(index), each) for index, each in enumerate(value))


def _namespace(place: _Place, value: object) -> str:
    if not isinstance(value, str) or not is_dns_label(value):
        raise place.wrong(value, "the name of a namespace")
    return value


def _network(place: _Place, value: object) -> Network:
    try:
        if isinstance(value, str):
            return ip_network(value)
    except ValueError:
        pass
    raise place.wrong(value, "a network such as 10.2.0.0/16, with no bits set after its prefix")


def _cluster(place: _Place, value: object) -> ClusterId:
    if not isinstance(value, str):
        raise place.wrong(value, "cluster ids in quotes as keys")
    if (problem := cluster_id_error(value)) is not None:
        raise PolicyError(f"{place.path}: {problem}")
    return ClusterId(value)
