"""How DNS and virtual IPs are to choose among the clusters that export a service: annotations of a ServiceExport.

Exporters say it. For DNS the controller carries it to the mirrored slices, since DNS reads only those; weight and
priority are those of SRV records (RFC 2782). For a virtual IP kube-proxy chooses, by the hints of the slices.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

from mcs.model.names import ANNOTATION_PREFIX

WEIGHT_ANNOTATION = f"{ANNOTATION_PREFIX}/dns-weight"
PREFERENCE_ANNOTATION = f"{ANNOTATION_PREFIX}/dns-preference"
ANNOTATIONS = (WEIGHT_ANNOTATION, PREFERENCE_ANNOTATION)
"""Those that mirrors carry."""
TRAFFIC_ANNOTATION = f"{ANNOTATION_PREFIX}/traffic-preference"
"""For a virtual IP; also on the ServiceImport, which remembers it while the exporters cannot be seen."""

TrafficPreference = Literal["local", "remote", "zone", "none"]
"""Which ready endpoints of a virtual IP its clients in a cluster use before all others.

Those of their own cluster; those of the other clusters; those of their own zone in any cluster; no ones, whatever the
trafficDistribution of the Service.
"""
_TRAFFIC_PREFERENCES: dict[str, TrafficPreference] = {each: each for each in get_args(TrafficPreference)}

LOCAL = "local"
DEFAULT_WEIGHT = 100
"""Equal and not zero, so that a client's weighted choice among SRV records is even (RFC 2782)."""

_MOST = 65535


class Preference(Struct, frozen=True, order=True):
    """How the endpoints of one cluster are chosen, next to those of the others.

    `weight` is each endpoint's share in coming first, 0 withholds them; endpoints of the lowest `priority` are chosen
    before all others; `is_local_first` puts the endpoints before all others in their own cluster alone.
    """

    weight: int = DEFAULT_WEIGHT
    priority: int = 0
    is_local_first: bool = False

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations that say this; none for the default."""
        said = {}
        if self.weight != DEFAULT_WEIGHT:
            said[WEIGHT_ANNOTATION] = str(self.weight)
        if self.is_local_first:
            said[PREFERENCE_ANNOTATION] = LOCAL
        elif self.priority:
            said[PREFERENCE_ANNOTATION] = str(self.priority)
        return said


NO_PREFERENCE = Preference()


def preference_of(annotations: Mapping[str, str]) -> Preference:
    """The preference that annotations say; what cannot be understood counts as not said, see `preference_problems`."""
    weight = _number(annotations.get(WEIGHT_ANNOTATION))
    said = annotations.get(PREFERENCE_ANNOTATION)
    if weight is None and said is None:
        return NO_PREFERENCE
    return Preference(
        DEFAULT_WEIGHT if weight is None else weight, _number(said) or 0, is_local_first=said == LOCAL
    )


def traffic_preference_of(annotations: Mapping[str, str]) -> TrafficPreference | None:
    """The preference for a virtual IP; None when none is said, or nothing that can be understood."""
    return _TRAFFIC_PREFERENCES.get(annotations.get(TRAFFIC_ANNOTATION, ""))


def preference_problems(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence for each annotation that cannot be understood, with what to write instead."""
    problems = []
    weight, said = annotations.get(WEIGHT_ANNOTATION), annotations.get(PREFERENCE_ANNOTATION)
    if weight is not None and _number(weight) is None:
        problems.append(f'{WEIGHT_ANNOTATION} "{weight}" is no number of 0 to {_MOST}.')
    if said is not None and said != LOCAL and _number(said) is None:
        problems.append(
            f'{PREFERENCE_ANNOTATION} "{said}" is neither "{LOCAL}" nor a number of 0 to {_MOST}.'
        )
    traffic = annotations.get(TRAFFIC_ANNOTATION)
    if traffic is not None and traffic not in _TRAFFIC_PREFERENCES:
        choices = ", ".join(f'"{each}"' for each in _TRAFFIC_PREFERENCES)
        problems.append(f'{TRAFFIC_ANNOTATION} "{traffic}" is none of {choices}.')
    return tuple(problems)


def _number(text: str | None) -> int | None:
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) <= 5
    return int(text) if is_number and text is not None and int(text) <= _MOST else None
