"""Works through a queue: the one place where a failed piece of work is judged, logged and tried again or given up."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

import structlog

from mcs.kube.errors import Conflict, KubeError
from mcs.runtime.cancellation import raise_if_cancelled
from mcs.runtime.executor import ForeignObjectError, is_terminal
from mcs.runtime.queue import WorkQueue

log = structlog.get_logger(__name__)
K = TypeVar("K", bound=Hashable)


class WorkCounts:
    """How pieces of work ended, as plain integers."""

    def __init__(self) -> None:
        self.succeeded = 0
        self.failed = 0
        self.terminal = 0
        self.bugs = 0


async def work(
    queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[None]], counts: WorkCounts, *, cluster: str
) -> None:
    """Reconcile keys for ever.

    Errors of the other side back off and are tried again; what cannot succeed until an object changes is logged and
    left until it changes; any other exception is a bug of ours: logged with its traceback and tried again.
    """
    while True:
        raise_if_cancelled()
        key = await queue.get()
        try:
            await reconcile(key)
        except Conflict:
            counts.failed += 1
            queue.retry(key)
        except (KubeError, ForeignObjectError) as error:
            if is_terminal(error):
                counts.terminal += 1
                queue.forget(key)
                log.warning("refused", cluster=cluster, key=str(key), error=str(error))
            else:
                counts.failed += 1
                delay = queue.retry(key, getattr(error, "retry_after", None) or 0.0)
                log.info(
                    "will retry", cluster=cluster, key=str(key), error=str(error), seconds=round(delay, 2)
                )
        except asyncio.CancelledError:
            # A cluster that is only disengaged finds its half-done work when it is engaged again.
            queue.add(key)
            raise
        except Exception:
            counts.bugs += 1
            queue.retry(key)
            log.exception("unexpected failure", cluster=cluster, key=str(key))
        else:
            counts.succeeded += 1
            queue.forget(key)
        finally:
            queue.done(key)
