"""What the user writes on the command line, as checked values. Mistakes become one sentence that says what to do."""

from collections.abc import Sequence

import typer

from mcs.controllers.processes import Listen
from mcs.model.names import ClusterId, cluster_id_error


def parse_listen(text: str) -> Listen:
    """`127.0.0.1:5353`, `[::1]:5353` or `:5353` (all IPv4 addresses). Raises typer.BadParameter."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "0.0.0.0"
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise typer.BadParameter(
            f"{text!r} is not an address; write ADDRESS:PORT, for example 127.0.0.1:5353"
        )
    return Listen(host, int(port))


def parse_clusters(values: Sequence[str]) -> dict[ClusterId, str]:
    """Kubeconfig contexts by cluster id, from `ID=CONTEXT` values. Raises typer.BadParameter.

    An id alone names the context of the same name.
    """
    contexts: dict[ClusterId, str] = {}
    for value in values:
        text, equals, context = value.partition("=")
        if (problem := cluster_id_error(text)) is not None:
            raise typer.BadParameter(problem)
        if equals and not context:
            raise typer.BadParameter(f"{value!r} names no context; write ID=CONTEXT")
        if text in contexts:
            raise typer.BadParameter(
                f"cluster id {text!r} is given twice; every member needs an id of its own"
            )
        contexts[ClusterId(text)] = context or text
    return contexts
