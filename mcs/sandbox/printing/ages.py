"""How old something is, in the words of `kubectl get`: fewer digits the older it is."""

from datetime import datetime

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400

_STEPS = (
    # (below, unit, its letter, the finer unit, its letter); without a finer unit only whole ones are told
    (2 * MINUTE, 1, "s", 0, ""),
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 0, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (2 * DAY, HOUR, "h", 0, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * YEAR, DAY, "d", 0, ""),
    (8 * YEAR, YEAR, "y", DAY, "d"),
)


def duration_words(seconds: float) -> str:
    """`45s`, `3m20s`, `5h`, `2d4h` …; two seconds and more in the future are `<invalid>`."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    for below, unit, letter, finer, finer_letter in _STEPS:
        if whole < below:
            rest = whole % unit // finer if finer else 0
            return f"{whole // unit}{letter}" + (f"{rest}{finer_letter}" if rest else "")
    return f"{whole // YEAR}y"


def parsed_time(text: str) -> datetime:
    """A metav1.Time or MicroTime; raises ValueError."""
    return datetime.fromisoformat(text)


def age_words(since: str | None, now: datetime) -> str:
    """How long ago a timestamp was; `<unknown>` without one, `<invalid>` when it is none."""
    if not since:
        return "<unknown>"
    try:
        return duration_words((now - parsed_time(since)).total_seconds())
    except (ValueError, TypeError):
        return "<invalid>"
