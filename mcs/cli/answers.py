"""What is said of a cluster that did not answer as asked, with what to do about it."""

from mcs.kube.errors import Forbidden, KubeError, ResourceMissing, Unauthorized, Unreachable

PATIENCE = 10.0
"""Seconds until a cluster must have answered first; lists may take longer. The others do not wait for their turn."""


def state_and_problem(error: KubeError | TimeoutError, context: str) -> tuple[str, str]:
    """A word or two for the table, and a sentence that says what to do."""
    match error:
        case ResourceMissing():
            return "CRDs missing", f"its CRDs are missing; run: kubectl --context {context} apply -f crds/"
        case Unauthorized():
            return (
                "not authorized",
                f"it does not accept the credentials of context {context!r} ({error}); renew them",
            )
        case Forbidden():
            return "forbidden", f"{error}; allow that to the user of context {context!r}"
        case TimeoutError():
            return "unreachable", f"no answer within {PATIENCE:g} s; check that its API server is well"
        case Unreachable():
            reason = str(error).partition(": ")[2] or str(error)
            return (
                "unreachable",
                f"{reason}; check that its API server runs, and the server of context {context!r}",
            )
        case _:
            return "failed", f"{error}; look into the log of its API server"
