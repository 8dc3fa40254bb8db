"""What can be told of the whole clusters without starting one: addresses, configurations, images, requirements."""

from __future__ import annotations

import itertools
import json
import os
import tarfile
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from tests.lab import binaries, by_hand, images
from tests.lab.addresses import HOST, HOST6, ClusterAddresses
from tests.lab.machine import unmet
from tests.lab.node_files import NodeSetup

CLUSTERS = [ClusterAddresses(index) for index in range(4)]


def test_no_two_clusters_share_an_address_or_a_port() -> None:
    ranges = [
        ip_network(text)
        for each in CLUSTERS
        for text in (each.pods, each.pods6, each.services, each.services6)
    ]
    for one, other in itertools.combinations(ranges, 2):
        assert one.version != other.version or not one.overlaps(other)
    machines = [HOST, HOST6, *(text for each in CLUSTERS for text in (each.node, each.node6))]
    assert not any(ip_address(machine) in network for machine in machines for network in ranges)
    for names in ("node", "node6", "mac", "link"):
        assert len({getattr(each, names) for each in CLUSTERS}) == len(CLUSTERS)
    ports = [
        port for each in CLUSTERS for port in (each.api_port, each.coredns_port, each.clusterset_dns_port)
    ]
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize("own", CLUSTERS, ids=lambda own: str(own.index))
def test_the_well_known_cluster_ips_are_in_the_range_of_services(own: ClusterAddresses) -> None:
    first, first6 = own.first_services
    assert ip_address(first) == ip_network(own.services)[1]
    assert ip_address(first6) == ip_network(own.services6)[1]
    assert ip_address(own.cluster_dns) in ip_network(own.services)


def test_a_node_is_told_the_way_to_the_pods_of_every_other_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "built", lambda name: Path("/built", name))
    own, *peers = CLUSTERS
    NodeSetup(
        folder=tmp_path,
        name="one",
        cgroup="group",
        addresses=own,
        peers=peers,
        proxy_mode="nftables",
        images=Path("/images.tar"),
        ca_file=Path("/ca.crt"),
        kubelet_kubeconfig=Path("/kubelet"),
        proxy_kubeconfig=Path("/proxy"),
    ).write()
    network = json.loads((tmp_path / "node.json").read_text())["network"]
    for peer in peers:
        assert f"route add {peer.pods} via {peer.node}" in network
        assert f"route add {peer.pods6} via {peer.node6}" in network
    assert not any(own.pods in line or own.pods6 in line for line in network)
    assert json.loads((tmp_path / "kube-proxy.json").read_text())["mode"] == "nftables"


def install(folder: Path, names: tuple[str, ...]) -> None:
    """Programs of these names that print one applet, whatever they are asked."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\necho true\n")
        (folder / name).chmod(0o755)


def test_the_images_carry_the_names_that_tests_ask_for_and_are_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "bin", images.required_programs())
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    made = images.archive(tmp_path / "cache")
    written = made.stat().st_mtime_ns
    with tarfile.open(made) as archive:
        names = archive.getnames()
        manifest = archive.extractfile("manifest.json")
        assert manifest is not None
        index = json.load(manifest)
    assert [each["RepoTags"] for each in index] == [[images.PAUSE], [images.SOCAT], [images.NETSHOOT]]
    for each in index:
        assert {each["Config"], *each["Layers"]} <= set(names)
    assert images.archive(tmp_path / "cache") == made
    assert made.stat().st_mtime_ns == written
    (tmp_path / "bin" / "socat").write_text("#!/bin/sh\necho newer\n")
    assert images.archive(tmp_path / "cache") != made, "another program makes another image"


def test_a_program_that_the_images_lack_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", tuple(name for name in images.required_programs() if name != "socat"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(images.MissingProgramError, match="socat is not installed"):
        images.archive(tmp_path / "cache")


@pytest.mark.parametrize(
    ("user", "expected"), [(1000, "whole clusters need root on Linux"), (0, "whole clusters ")]
)
def test_what_a_machine_lacks_is_said_in_one_line(
    user: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setenv("PATH", "/nonexistent")
    said = unmet()
    assert said.startswith(expected)
    assert "\n" not in said


def process_of_another_program(folder: Path) -> None:
    (folder / "pid").write_text(str(os.getpid()))


def process_that_has_ended(folder: Path) -> None:
    (folder / "pid").write_text(str(2**22 + 1))


@pytest.mark.parametrize("leave", [process_of_another_program, process_that_has_ended])
def test_taking_down_signals_nobody_but_the_owner_of_the_lab(
    leave: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signalled: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: signalled.append(pid))
    folder = tmp_path / "lab"
    folder.mkdir()
    leave(folder)
    assert by_hand.main(("down", str(folder))) == 0
    assert (signalled, folder.exists()) == ([], False)
