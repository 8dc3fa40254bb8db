"""Rules for `metadata` that hold for every kind: names, times, what a client may not set, preconditions.

Source: Kubernetes API conventions, "Metadata", and "Object Names and IDs". Rules of single kinds are in
`strategies`.
"""

import random
import re
import uuid
from dataclasses import dataclass
from datetime import datetime

from mcs.sandbox.errors import Cause, StatusError, bad_request, precondition_failed
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.store import Object

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
LONGEST_GENERATED_BASE = 63 - 5


@dataclass(frozen=True, slots=True)
class NameRule:
    """What the names of a kind look like, and the sentence that says so."""

    pattern: str
    longest: int
    sentence: str


SUBDOMAIN_NAME = NameRule(
    SUBDOMAIN,
    253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation "
    f"is '{SUBDOMAIN}')",
)
LABEL_NAME = NameRule(
    LABEL,
    63,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation "
    f"is '{LABEL}')",
)
LABEL_1035_NAME = NameRule(
    LABEL_1035,
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    f"validation is '{LABEL_1035}')",
)
NAME_RULES = {"namespaces": LABEL_NAME, "services": LABEL_1035_NAME}


def timestamp(now: datetime) -> str:
    """metav1.Time: RFC 3339, UTC, whole seconds."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def new_uid(chance: random.Random) -> str:
    """A random UUID."""
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def generated_name(base: str, chance: random.Random) -> str:
    """The base, shortened if need be, with five random letters (API concepts, "Generated values")."""
    return base[:LONGEST_GENERATED_BASE] + "".join(chance.choice(SUFFIX_LETTERS) for _ in range(5))


def invalid_name(resource: ResourceType, name: str, path: str = "metadata.name") -> list[Cause]:
    """What is wrong with a name; empty when nothing is."""
    rule = NAME_RULES.get(resource.group_resource, SUBDOMAIN_NAME)
    found: list[Cause] = []
    if not name:
        return [Cause("FieldValueRequired", "Required value: name or generateName is required", path)]
    if len(name) > rule.longest:
        told = f'Invalid value: "{name}": must be no more than {rule.longest} bytes'
        found.append(Cause("FieldValueInvalid", told, path))
    if rule is LABEL_NAME and "." in name and re.fullmatch(SUBDOMAIN, name):
        found.append(Cause("FieldValueInvalid", f'Invalid value: "{name}": must not contain dots', path))
    elif not re.fullmatch(rule.pattern, name):
        found.append(Cause("FieldValueInvalid", f'Invalid value: "{name}": {rule.sentence}', path))
    return found


def check_identity(resource: ResourceType, obj: Object, namespace: str, name: str = "") -> Object:
    """The object with the namespace of the request; raises BadRequest when its own say otherwise."""
    metadata = obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise bad_request("metadata must be an object")
    if name and metadata.get("name", name) != name:
        told = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        raise bad_request(told)
    own = metadata.get("namespace") or namespace
    if own != namespace:
        if not resource.namespaced:
            raise bad_request("namespace is not allowed on this type")
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    place = {"namespace": namespace} if resource.namespaced else {}
    named = {"name": name} if name else {}
    return {**obj, "metadata": {**metadata, **named, **place}}


def metadata_for_create(obj: Object, now: datetime, chance: random.Random) -> Object:
    """The object with what the server alone decides: uid, creationTimestamp, a generated name."""
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in _SERVER_SET and value not in (None, "", [], {})
    }
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generated_name(metadata["generateName"], chance)
    metadata |= {"uid": new_uid(chance), "creationTimestamp": timestamp(now)}
    return {**obj, "metadata": metadata}


_SERVER_SET = (
    "uid", "creationTimestamp", "resourceVersion", "selfLink", "deletionTimestamp",
    "deletionGracePeriodSeconds",
)  # fmt: skip
_KEPT = ("creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")


def metadata_for_update(old: Object, new: Object) -> Object:
    """The new object, with the metadata no update may change taken from the old one.

    An empty list of managedFields stays, because it asks for their removal.
    """
    kept = {key: old["metadata"][key] for key in _KEPT if key in old["metadata"]}
    metadata = {
        key: value
        for key, value in new["metadata"].items()
        if key not in (*_KEPT, "selfLink")
        and (value not in (None, "", [], {}) or (key == "managedFields" and value == []))
    }
    metadata = {"uid": old["metadata"]["uid"], **metadata, **kept}
    return {**new, "metadata": {**metadata, "resourceVersion": old["metadata"]["resourceVersion"]}}


def invalid_metadata_change(resource: ResourceType, old: Object, new: Object) -> list[Cause]:
    """Fields that no update may change, and finalizers added while the object is being deleted.

    Servers check built-in kinds twice, and list each cause twice.
    """
    found = [
        Cause("FieldValueInvalid", f'Invalid value: "{new["metadata"].get(key)}": field is immutable', path)
        for key, path in (("name", "metadata.name"), ("uid", "metadata.uid"))
        if new["metadata"].get(key) != old["metadata"][key]
    ]
    if "deletionTimestamp" in old["metadata"]:
        known = old["metadata"].get("finalizers", [])
        added = [f for f in new["metadata"].get("finalizers", []) if f not in known]
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            told = (
                "Forbidden: no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            found.append(Cause("FieldValueForbidden", told, "metadata.finalizers"))
    return found if resource.custom else found * 2


_LIKELY = {
    "UID": "The object might have been deleted and then recreated",
    "ResourceVersion": "The object might have been modified",
}


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must hold of the present object; an empty string asks nothing."""

    uid: str = ""
    resource_version: str = ""


def failed_precondition(resource: ResourceType, present: Object, wanted: Preconditions) -> StatusError | None:
    """409, when the present object is not the one that was meant."""
    metadata = present["metadata"]
    for word, asked, found in (
        ("UID", wanted.uid, metadata["uid"]),
        ("ResourceVersion", wanted.resource_version, metadata["resourceVersion"]),
    ):
        if asked and asked != found:
            told = f"the {word} in the precondition ({asked}) does not match the {word} in record ({found}). "
            return precondition_failed(resource, metadata["name"], told + _LIKELY[word])
    return None
