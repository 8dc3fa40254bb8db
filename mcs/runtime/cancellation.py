"""Cancellation is never swallowed, not even when an error takes its place.

A task that is cancelled may see an error instead: of a connection that breaks while it is closed, or of a task group
one of whose tasks fails just then (before Python 3.13 the group tells of the failure alone). Loops that answer errors
by going on ask here first.
"""

import asyncio


def raise_if_cancelled() -> None:
    """Raise CancelledError when the running task has been asked to end."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
