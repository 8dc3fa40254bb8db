"""One sandbox API server and a client of it, for tests that look at single requests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from mcs.sandbox.http.server import ApiServer
from tests.e2e.sandbox_client import Client


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer("east") as running:
        yield running


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    async with Client(server) as asking:
        yield asking
