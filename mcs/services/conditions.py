"""Conditions as list-map values: keep what has not changed, tell whether something has.

Source: metav1.Condition; a transition time is that of the last change of the status, whatever else changed.
"""

from collections.abc import Iterable, Sequence

from mcs.model.meta import Condition, ConditionStatus

_LONGEST_MESSAGE = 32768
"""Characters that the API takes; members can make it longer, by very many labels for one."""


def condition(
    present: Iterable[Condition],
    type_: str,
    status: ConditionStatus,
    reason: str,
    message: str,
    now: str,
    generation: int = 0,
) -> Condition:
    """The condition with the transition time of the present one of its type while the status stays, else `now`."""
    before = next((each for each in present if each.type == type_), None)
    unchanged = before is not None and before.status == status
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…",
        last_transition_time=before.last_transition_time if before and unchanged else now,
        observed_generation=generation,
    )


def of_types(conditions: Iterable[Condition], types: Sequence[str]) -> dict[str, Condition]:
    """The conditions of `types` by their type; those of other owners are left out."""
    return {each.type: each for each in conditions if each.type in types}
