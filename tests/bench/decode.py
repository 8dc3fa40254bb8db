"""How fast a watch event becomes a typed value: msgspec structs next to plain JSON and to the client library's models.

Measured in one run on one core, best of several rounds.
"""

import json
import time
from collections.abc import Callable

import msgspec

from mcs.kube.decode import Stored, decode_line
from mcs.model.slices import EndpointSlice
from tests.bench.figures import Figure, ratio_figure

ROUNDS = 5
SECONDS_PER_ROUND = 0.2


def event(endpoints: int = 11) -> bytes:
    """A MODIFIED line of an EndpointSlice of about 3.3 KB, with all that a real API server writes."""
    metadata = {
        "name": "web-abc12",
        "generateName": "web-",
        "namespace": "shop",
        "uid": "0f6fd0de-2b4b-4c52-8c4c-2a6a2c1c5f0e",
        "resourceVersion": "123456",
        "generation": 17,
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {
            "app": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            "kubernetes.io/service-name": "web",
        },
        "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z"},
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "name": "web",
                "uid": "4a2f0b50-8a2a-4a44-9a0d-3f2b0c5e7d11",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    endpoint = {
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "targetRef": {
            "kind": "Pod",
            "namespace": "shop",
            "name": "web-7d9c8f6b5-abcde",
            "uid": "9b1c7a3e-5d2f-4b8e-a6c1-0e4f2d7b9a35",
        },
        "nodeName": "node-1",
        "zone": "zone-a",
    }
    slice_ = {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": metadata,
        "addressType": "IPv4",
        "endpoints": [{"addresses": [f"10.1.2.{i}"], **endpoint} for i in range(endpoints)],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }
    return json.dumps({"type": "MODIFIED", "object": slice_}, separators=(",", ":")).encode()


def rate(work: Callable[[], object]) -> float:
    """Calls per second, the best of several rounds."""
    best = 0.0
    for _ in range(ROUNDS):
        calls, started = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - started) < SECONDS_PER_ROUND:
            for _ in range(10):
                work()
            calls += 10
        best = max(best, calls / elapsed)
    return best


def library_models(line: bytes) -> Callable[[], object]:
    """Decodes as kubernetes_asyncio's own watch does: JSON, then its generated models."""
    from kubernetes_asyncio.client import ApiClient, Configuration

    client = ApiClient.__new__(ApiClient)
    client.configuration = Configuration()
    # Name-mangled: the generated client has no public way to deserialize what is already in memory.
    deserialize = vars(ApiClient)["_ApiClient__deserialize"]

    def decode() -> object:
        return deserialize(client, json.loads(line)["object"], "V1EndpointSlice")

    return decode


async def measure() -> list[Figure]:
    """Rates in events per second; each ratio is that of our decoding to the baseline."""
    line = event()
    decoded = decode_line(EndpointSlice, line)
    if not isinstance(decoded, Stored) or len(decoded.object.endpoints or ()) != 11:
        raise AssertionError(f"not decoded: {decoded}")
    ours = rate(lambda: decode_line(EndpointSlice, line))
    whole = msgspec.json.Decoder(EndpointSlice)
    object_only = line[line.index(b'"object":') + 9 : -1]
    baselines = {
        "json.loads": rate(lambda: json.loads(line)),
        "kubernetes_asyncio models": rate(library_models(line)),
        "msgspec without the envelope": rate(lambda: whole.decode(object_only)),
    }
    return [
        ratio_figure(
            f"decode a {len(line)} byte EndpointSlice event, against {name}", ours, "events/s", baseline
        )
        for name, baseline in baselines.items()
    ]
