"""How memory grew is told from what was measured after a warm-up."""

from __future__ import annotations

import os
import socket

import pytest

from tests.real.chaos.measures import growth, resident, sockets


def test_growth_counts_from_the_first_sample_after_the_warm_up_to_the_last() -> None:
    samples = [(0.0, 50), (100.0, 90), (185.0, 100), (300.0, 130), (400.0, 104)]
    assert growth(samples, 180) == pytest.approx(0.04)
    assert growth(samples, 400) is None
    assert growth([], 0) is None


def test_a_socket_that_is_left_open_is_counted() -> None:
    before = sockets(os.getpid())
    with socket.socket():
        assert sockets(os.getpid()) == before + 1
    assert sockets(os.getpid()) == before
    assert resident(os.getpid()) > 1e6
