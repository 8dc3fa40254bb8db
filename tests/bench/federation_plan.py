"""How long it takes to plan a whole federated set from files, and to plan it anew when one cluster is lost.

CPU time, since nothing is waited for. Each size has as many objects for each cluster, and each object is in the same
share of the clusters, so that the time for a pair of object and cluster stays what it is if growth is linear.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcs.cli.federated_sets import from_files
from mcs.federation.plans import plan_all
from mcs.federation.what_if import Question, changed, difference
from mcs.model.names import ClusterId
from tests.bench.figures import Figure, ratio_figure

SIZES = ((100, 1_000), (300, 3_000), (1_000, 10_000))
LOST = ClusterId("cluster-0007")
REGIONS = 20
NAMESPACES = 50
SYSTEM = "kube-federation-system"
MICROSECONDS = 1e6
Document = dict[str, Any]


def documents(clusters: int, objects: int) -> Iterator[Document]:
    """A set: of 20 objects 5 are everywhere, 5 in a few clusters; the replicas of 10 are divided, of one among all."""
    names = [f"cluster-{number:04}" for number in range(clusters)]
    for number, name in enumerate(names):
        yield _object(
            "core.kubefed.io/v1beta1",
            "KubeFedCluster",
            {"name": name, "namespace": SYSTEM, "labels": {"region": f"region-{number % REGIONS}"}},
            {"apiEndpoint": f"https://{name}.test", "secretRef": {"name": name}},
        )
    for number in range(NAMESPACES):
        metadata = {"name": f"team-{number}", "namespace": f"team-{number}"}
        yield _object(*_TYPED, "FederatedNamespace", metadata, {"placement": {"clusterSelector": {}}})
    for number in range(objects):
        yield from _federated(number, names)


_TYPED = ("types.kubefed.io/v1beta1",)


def _federated(number: int, names: list[str]) -> Iterator[Document]:
    metadata = {"name": f"object-{number}", "namespace": f"team-{number % NAMESPACES}"}
    few = [names[(number * 13 + each * 7) % len(names)] for each in range(len(names) // REGIONS)]
    region = {"clusterSelector": {"matchLabels": {"region": f"region-{number // REGIONS % REGIONS}"}}}
    everywhere: Document = {"clusterSelector": {}}
    preference: Document = {"totalReplicas": 2 * len(names) + number % 100, "rebalance": True}
    match number % 20:
        case 0 | 1 | 2 | 3 | 4:
            yield _object(*_TYPED, "FederatedConfigMap", metadata, {"template": {}, "placement": everywhere})
            return
        case 5 | 6 | 7 | 8 | 9:
            placement: Document = {"clusters": [{"name": name} for name in few]}
            yield _object(*_TYPED, "FederatedService", metadata, {"template": {}, "placement": placement})
            return
        case 10 | 11 | 12 | 13 | 14:
            placement = region
            preference["intersectWithClusterSelector"] = True
        case 15 | 16 | 17 | 18:
            placement = everywhere
            overrides = [
                {"clusterName": name, "spec": {"replicas": 1 + each % 5}} for each, name in enumerate(few)
            ]
            preference = {"totalReplicas": 4 * len(few), "overrides": overrides}
        case _:
            placement = everywhere
    template = {"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "app"}]}}}}
    yield _object(*_TYPED, "FederatedDeployment", metadata, {"template": template, "placement": placement})
    yield _object("scheduling.kubefed.io/v1alpha1", "ReplicaSchedulingPreference", metadata, preference)


def _object(version: str, kind: str, metadata: Document, spec: Document) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


async def measure() -> list[Figure]:
    """Microseconds of CPU for each pair, next to the smallest set; and of a re-plan, next to the full plan."""
    with tempfile.TemporaryDirectory() as folder:
        return [figure for size in SIZES for figure in _measured(*size, Path(folder))]


_OF_THE_SMALLEST: dict[str, float] = {}


def _measured(clusters: int, objects: int, folder: Path) -> Iterator[Figure]:
    file = folder / f"{clusters}.json"
    file.write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [*documents(clusters, objects)]})
    )
    started = time.process_time()
    snapshot = from_files([file], SYSTEM)
    read = time.process_time()
    before = plan_all(snapshot)
    planned = time.process_time()
    after = plan_all(changed(snapshot, Question(down=[LOST])), before)
    found = difference(before, after)
    planned_anew = time.process_time()
    size = f"{clusters:,} clusters x {objects:,} objects"
    for what, seconds in (("read", read - started), ("plan", planned - read)):
        pair = seconds / clusters / objects * MICROSECONDS
        base = _OF_THE_SMALLEST.setdefault(what, pair)
        yield ratio_figure(f"{what} {size}, a pair, against the smallest", pair, "µs", base)
    yield ratio_figure(
        f"one cluster lost, {size}, against the plan", planned_anew - planned, "s", planned - read
    )
    yield ratio_figure(
        f"objects planned anew, {size}, against all", len(after.planned_anew), "objects", len(before.plans)
    )
    divided = sum(
        1
        for key in snapshot.preferences
        if (candidates := before.grounds[key].candidates) and LOST in candidates.clusters
    )
    if {each.object_ for each in found.objects} - set(after.planned_anew):
        raise AssertionError("an object differs that was not planned anew")
    yield ratio_figure(
        f"objects planned anew, {size}, against those it had a part in",
        len(after.planned_anew),
        "objects",
        divided,
    )
    clock = time.perf_counter()
    command = [sys.executable, "-m", "mcs", "plan", "--down", LOST, "--set", str(file), "-o", "json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    yield ratio_figure(
        f"mcs plan --down, {size}, by the clock, against the plan alone",
        time.perf_counter() - clock,
        "s",
        planned - read,
    )
