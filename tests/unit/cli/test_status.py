"""What `mcs status` reads of a cluster that does not let everything be read."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from mcs.cli.status import read_pod_ranges
from mcs.kube.client import Client
from mcs.kube.decode import Page
from mcs.kube.errors import Forbidden, KubeError, ResourceMissing, ServerError
from mcs.model.registration import Node, NodeSpec
from mcs.testing.virtual_time import run_virtual


class Answers:
    """A client whose list of nodes is an error, or two pages."""

    def __init__(self, error: KubeError | None = None) -> None:
        self._error = error

    async def list_pages(self, resource: Any) -> AsyncGenerator[Page[Node], None]:
        if self._error is not None:
            raise self._error
        for number in (1, 2):
            yield Page((Node(spec=NodeSpec(pod_cidr=f"10.244.{number}.0/24")),), "1")


def read(client: Answers) -> tuple[str, ...]:
    return run_virtual(read_pod_ranges(cast("Client", client)))


def test_pod_ranges_are_those_of_all_nodes() -> None:
    assert read(Answers()) == ("10.244.1.0/24", "10.244.2.0/24")


@pytest.mark.parametrize("error", [Forbidden(403), ResourceMissing(404)])
def test_of_nodes_that_may_not_be_read_nothing_is_said(error: KubeError) -> None:
    assert read(Answers(error)) == ()


def test_any_other_error_is_one_of_the_cluster() -> None:
    with pytest.raises(ServerError):
        read(Answers(ServerError(500)))
