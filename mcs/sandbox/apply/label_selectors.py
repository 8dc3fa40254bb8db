"""Whether a LabelSelector of an object (metav1.LabelSelector) matches a set of labels.

Selectors of requests, which are texts, are read in `mcs.sandbox.http.selectors`.
"""

from mcs.sandbox.apply.schemas import Object


def chooses(selector: Object | None, labels: Object | None) -> bool:
    """Whether a LabelSelector matches; an empty one matches all, an absent one nothing."""
    if selector is None:
        return False
    labels = labels or {}
    exact = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in exact.items()):
        return False
    return all(_meets(requirement, labels) for requirement in selector.get("matchExpressions") or ())


def _meets(requirement: Object, labels: Object) -> bool:
    key, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels
