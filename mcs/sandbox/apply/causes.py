"""One reason why an API server refuses a write, as it stands in `details.causes` of the Status it answers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """A StatusCause: a CamelCase `reason`, a `message` for people and the path of the `field` (API type
    StatusCause).
    """

    reason: str
    message: str
    field: str
