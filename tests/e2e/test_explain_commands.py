"""`mcs explain`, `mcs plan --down` and `mcs federation status` as a user runs them, on files and on a host cluster."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.kube.packaged import definition_documents
from mcs.model.federated import FEDERATED_TYPE_CONFIGS, FederatedObject
from mcs.model.installed import DEFINITIONS
from mcs.model.resources import KUBEFED_CLUSTERS, NAMESPACES, Resource
from mcs.model.scheduling import REPLICA_SCHEDULING_PREFERENCES
from mcs.sandbox.http.server import ApiServer
from mcs.testing.federated_sets import (
    Document,
    by_overrides,
    cluster,
    deployment,
    federated,
    namespace,
    preference,
)
from tests.e2e.membership_commands import NAMESPACE, Commands

pytestmark = pytest.mark.timeout(120)
DOCUMENT = Path(__file__).parents[2] / "docs" / "federation.md"
SHOP = namespace("shop")
FOUNDING = [
    *(cluster(f"{name} ready") for name in ("cluster-aws", "cluster-azure")),
    cluster("cluster-gcp ready"),
    SHOP,
    federated("shop/settings", "cluster-azure"),
    deployment("shop/web", "cluster-aws cluster-azure"),
    by_overrides("shop/web", "cluster-aws=6 cluster-azure=4", totalReplicas=10),
]
LOST = {
    "objects": [
        {
            "kind": "FederatedDeployment",
            "namespace": "shop",
            "name": "web",
            "moved": 4,
            "unplaced": {"from": 0, "to": 0},
            "problem": "",
            "clusters": [
                {
                    "cluster": "cluster-aws",
                    "from": {"placed": True, "replicas": 6, "overflow": 0},
                    "to": {"placed": True, "replicas": 10, "overflow": 0},
                },
                {
                    "cluster": "cluster-azure",
                    "from": {"placed": True, "replicas": 4, "overflow": 0},
                    "to": {"placed": False, "replicas": None, "overflow": 0},
                },
            ],
        }
    ],
    "moved": 4,
    "cutOff": False,
    "overflowing": [],
    "away": [
        {
            "cluster": "cluster-azure",
            "objects": [
                {"kind": "FederatedConfigMap", "namespace": "shop", "name": "settings"},
                {"kind": "FederatedNamespace", "namespace": "shop", "name": "shop"},
            ],
            "nowhereElse": [{"kind": "FederatedConfigMap", "namespace": "shop", "name": "settings"}],
        }
    ],
}
TABLES = """Changes
OBJECT                        CLUSTER        FROM  TO
FederatedDeployment shop/web  cluster-aws    6     10
FederatedDeployment shop/web  cluster-azure  4     -

Placed in a cluster that is lost, and not moved
OBJECT                            CLUSTER        ELSEWHERE
FederatedConfigMap shop/settings  cluster-azure  no
FederatedNamespace shop/shop      cluster-azure  yes

1 object changes, 4 replicas move
"""


def written(folder: Path, *documents: Document) -> str:
    """The documents in a file, as a user keeps them."""
    file = folder / "set.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return str(file)


def untrailed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


async def mcs(*arguments: str, given: str = "") -> tuple[int | None, str, str]:
    """Exit status, standard output and standard error of `mcs` where there is no cluster at all."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mcs", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, errors = await asyncio.wait_for(process.communicate(given.encode()), 50)
    return process.returncode, out.decode(), errors.decode()


async def test_a_lost_cluster_is_planned_from_files_as_the_document_shows(tmp_path: Path) -> None:
    assert f"$ mcs plan --down cluster-azure --set set.yaml\n{TABLES}```\n" in DOCUMENT.read_text()
    file = written(tmp_path, *FOUNDING)
    status, out, errors = await mcs("plan", "--down", "cluster-azure", "--set", file)
    assert (status, untrailed(out), errors) == (0, TABLES, "")
    status, out, errors = await mcs("plan", "--down", "cluster-azure", "--set", str(tmp_path), "-o", "json")
    assert (status, json.loads(out), errors) == (0, LOST, "")


async def test_when_more_than_half_would_be_lost_that_nothing_moves_is_told(tmp_path: Path) -> None:
    lost = ("--down", "cluster-azure", "--down", "cluster-gcp", "rsp/web")
    _, out, _ = await mcs("plan", *lost, "--set", written(tmp_path, *FOUNDING))
    assert untrailed(out).startswith("Changes\nnone\n")
    assert out.splitlines()[-1] == (
        "0 objects change, 0 replicas move; more than half of the clusters are away, which is taken for a fault of the "
        "host, so nothing moves"
    )


async def test_a_manifest_is_planned_as_if_it_were_applied(tmp_path: Path) -> None:
    change = yaml.safe_dump(by_overrides("shop/web", "cluster-aws=5 cluster-azure=5", totalReplicas=12))
    arguments = ("plan", "-f", "-", "--set", written(tmp_path, *FOUNDING), "-o", "json", "deployment/web")
    status, out, errors = await mcs(*arguments, given=change)
    assert (status, errors) == (0, "")
    assert [each["to"]["replicas"] for each in json.loads(out)["objects"][0]["clusters"]] == [6]


async def test_an_object_is_explained_from_files(tmp_path: Path) -> None:
    file = written(tmp_path, *FOUNDING)
    status, out, errors = await mcs("explain", "deployment/web", "-f", file)
    assert (status, errors) == (0, "")
    assert untrailed(out).startswith(
        "FederatedDeployment shop/web\n10 replicas, mode fair, rebalance always, 0 unplaced\n\nClusters\n"
    )
    assert "NoPreference: the ReplicaSchedulingPreference does not name it" in out
    status, out, errors = await mcs(
        "explain", "fedErateddeployments/web", "-n", "shop", "-f", file, "-o", "json"
    )
    found = json.loads(out)
    assert (status, errors) == (0, "")
    assert {
        each["cluster"]: (each["placed"], each["replicas"], each["rule"]) for each in found["clusters"]
    } == {
        "cluster-aws": (True, 6, ""),
        "cluster-azure": (True, 4, ""),
        "cluster-gcp": (False, None, "NoPreference"),
    }
    assert found["division"]["rounds"] == [
        {
            "for": "weight",
            "amount": 10,
            "shares": [
                {"cluster": "cluster-aws", "share": 6.0, "boundBy": None, "replicas": 6},
                {"cluster": "cluster-azure", "share": 4.0, "boundBy": None, "replicas": 4},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("plan", "--set", "SET"), 2, "nothing is asked; give --down, --cordon, --weight, --replicas or -f FILE"),
        (("plan", "--down", "moon", "--set", "SET"), 1, "cluster moon is not registered; name one of those that are"),
        (("plan", "--weight", "eu", "--set", "SET"), 2, "--weight 'eu' is no weight; write CLUSTER=NUMBER"),
        (("plan", "--replicas", "3", "--set", "SET"), 2, "--replicas needs a number of 0 or more and the KIND/NAME"),
        (("plan", "--replicas", "3", "configmap/settings", "--set", "SET"), 1, "has no ReplicaSchedulingPreference"),
        (("plan", "--down", "x", "--set", "SET", "-o", "xml"), 2, "--output xml is neither table nor json"),
        (("explain", "web", "-f", "SET"), 2, "'web' names no object; write KIND/NAME, for example deployment/web"),
        (("explain", "job/web", "-f", "SET"), 1, "there is no federated job/web; kinds of federated objects: Fed"),
        (("explain", "deployment/web", "-n", "x", "-f", "SET"), 1, "no federated deployment/web in namespace x;"),
        (("explain", "configmap/twice", "-f", "SET"), 1, "there is configmap/twice in namespaces a, b; say which"),
        (("explain", "deployment/web", "-f", "/nowhere.yaml"), 1, "/nowhere.yaml cannot be read: "),
        (("explain", "deployment/web", "-f", "BROKEN"), 1, "is neither JSON nor YAML: "),
        (("explain", "deployment/web", "-f", "EMPTY"), 1, "the files have no KubeFedCluster, so there is nowhere"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_line(
    arguments: tuple[str, ...],
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from mcs.cli.main import main

    twice = [federated(f"{each}/twice", "*") for each in "ab"]
    files = {"SET": written(tmp_path, *FOUNDING, *twice)}
    for name, text in (("BROKEN", "a: [b"), ("EMPTY", "a: b")):
        path = tmp_path / name
        path.write_text(text)
        files[name] = str(path)
    monkeypatch.setattr(sys, "argv", ["mcs", *(files.get(each, each) for each in arguments)])
    with pytest.raises(SystemExit) as exit_:
        main()
    out, errors = capsys.readouterr()
    assert (exit_.value.code, out, errors.count("\n")) == (status, "", 1)
    assert errors.startswith("mcs: ")
    assert said in errors


async def test_what_is_malformed_is_told_and_the_rest_is_planned(tmp_path: Path) -> None:
    broken = federated("shop/broken", "", placement={"clusters": "eu"})
    status, out, errors = await mcs(
        "plan", "--down", "cluster-azure", "--set", written(tmp_path, *FOUNDING, broken)
    )
    assert (status, untrailed(out)) == (1, TABLES)
    assert errors.startswith("mcs: FederatedConfigMap shop/broken cannot be read: ")


class Host:
    """A host cluster with types enabled and a federated set in it."""

    def __init__(self, folder: Path, server: ApiServer) -> None:
        self.mcs = Commands(folder, [server])
        self.api = self.mcs.api["host"]
        self._server = server

    async def prepare(self, documents: list[Document]) -> None:
        for definition in definition_documents():
            await self.api.apply(DEFINITIONS, definition)
        for type_ in ("namespaces", "deployments.apps", "configmaps"):
            assert (await self.mcs("enable", type_))[0] == 0
        for name in ("shop", NAMESPACE):
            await self.api.apply(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        for document in documents:
            resource = self._resource(document)
            await self.api.apply(resource, {key: value for key, value in document.items() if key != "status"})
            if "status" in document:
                await self.write_status(document, document["status"])

    def _resource(self, document: Document) -> Resource[Any]:
        known = {
            "KubeFedCluster": KUBEFED_CLUSTERS,
            "ReplicaSchedulingPreference": REPLICA_SCHEDULING_PREFERENCES,
        }
        kind = document["kind"]
        return known.get(kind) or Resource(
            group="types.kubefed.io", version="v1beta1", plural=f"{kind.lower()}s", kind=kind, type=FederatedObject
        )  # fmt: skip

    async def write_status(self, document: Document, status: Document) -> None:
        resource, metadata = self._resource(document), document["metadata"]
        kind = self._server.api.registry.find(resource.group, resource.version, resource.plural)
        assert kind is not None
        present = await self.api.get(resource, metadata["namespace"], metadata["name"])
        assert present is not None
        self._server.api.update_status(kind, present | {"status": status})


async def test_a_host_cluster_is_planned_and_explained_as_its_manifests_are_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    seen = preference("shop/web", 0, "", current="cluster-aws=6 cluster-azure=4", capacity="cluster-aws=7")
    documents = [
        each | ({"status": seen["status"]} if "Scheduling" in each["kind"] else {}) for each in FOUNDING
    ]
    async with ApiServer("host") as server:
        host = Host(tmp_path, server)
        await host.prepare(documents)
        before = host.mcs.objects("host")
        file = written(tmp_path, *documents)
        for arguments in (
            ("plan", "--down", "cluster-azure", "-o", "json"),
            ("plan", "--weight", "cluster-azure=12", "deployment/web", "-o", "json"),
            ("plan", "--replicas", "20", "rsp/web"),
            ("explain", "deployments/web", "-o", "json"),
            ("explain", "configmap/settings"),
        ):
            live = await host.mcs(*arguments)
            assert live == await host.mcs(*arguments, "--set", file)
            assert (live[0], live[2]) == (0, "")
        assert host.mcs.objects("host") == before
        _, out, _ = await host.mcs("plan", "--down", "cluster-azure", "-o", "json")
        found = json.loads(out)
        assert (found["objects"][0]["unplaced"]["to"], found["overflowing"]) == (3, ["cluster-aws"])
        new = cluster("cluster-new")
        await host.api.apply(KUBEFED_CLUSTERS, new)
        _, out, _ = await host.mcs("explain", "deployments/web", "-o", "json")
        ready = {each["cluster"]: each["ready"] for each in json.loads(out)["clusters"]}
        assert not ready["cluster-new"], "the host would know that it is"


async def test_the_status_of_a_host_cluster_tells_types_objects_and_problems(tmp_path: Path) -> None:
    counts = {"wanted": 10, "ready": 6, "updated": 10, "available": 6}
    failed = {
        "status": "ClusterNotReady",
        "message": "The cluster is not ready; the object is written once it is.",
    }
    status = {
        "conditions": [{"type": "Propagation", "status": "False", "reason": "CheckClusters"}],
        "clusters": [
            {"name": "cluster-aws", "message": "Set back."},
            {"name": "cluster-azure", **failed},
            {"name": "cluster-gcp", **failed},
        ],
        "workload": counts,
        "percentConverged": 33,
    }  # fmt: skip
    nowhere = {
        "conditions": [
            {"type": "Propagation", "status": "False", "reason": "NamespaceNotFederated", "message": "Make one."}
        ]
    }  # fmt: skip
    async with ApiServer("host") as server:
        host = Host(tmp_path, server)
        await host.prepare(FOUNDING)
        await host.write_status(deployment("shop/web", ""), status)
        await host.write_status(federated("shop/settings", ""), nowhere)
        config = await host.api.get(FEDERATED_TYPE_CONFIGS, NAMESPACE, "configmaps")
        assert config is not None
        kind = server.api.registry.find(
            FEDERATED_TYPE_CONFIGS.group, FEDERATED_TYPE_CONFIGS.version, FEDERATED_TYPE_CONFIGS.plural
        )
        assert kind is not None
        running = {"observedGeneration": 1, "propagationController": "Running"}
        server.api.update_status(kind, config | {"status": running})
        code, out, errors = await host.mcs("federation", "status")
        assert (code, errors) == (0, "")
        assert untrailed(out) == (
            "Types\n"
            "TYPE              FEDERATED KIND       PROPAGATION  CONTROLLER\n"
            "configmaps        FederatedConfigMap   Enabled      Running\n"
            "deployments.apps  FederatedDeployment  Enabled      -\n"
            "namespaces        FederatedNamespace   Enabled      -\n"
            "\n"
            "Objects\n"
            "OBJECT                            CLUSTERS  PROPAGATED  READY  UPDATED  AVAILABLE  CONVERGED\n"
            "FederatedConfigMap shop/settings  0         False       -      -        -          -\n"
            "FederatedDeployment shop/web      3         False       6/10   10/10    6/10       33%\n"
            "FederatedNamespace shop/shop      0         Unknown     -      -        -          -\n"
            "\n"
            "Problems\n"
            "OBJECT                            CLUSTERS                    STATUS                 WHAT\n"
            "FederatedConfigMap shop/settings  -                           NamespaceNotFederated  Make one.\n"
            "FederatedDeployment shop/web      cluster-azure, cluster-gcp  ClusterNotReady        "
            "The cluster is not ready; the object is written once it is.\n"
            "FederatedDeployment shop/web      cluster-aws                 Drifted                Set back.\n"
        )
        code, out, errors = await host.mcs("federation", "status", "-n", "else", "-o", "json")
        found = json.loads(out)
        assert (code, errors, found["objects"], len(found["types"])) == (0, "", [], 3)


async def test_a_host_cluster_without_federation_is_told(tmp_path: Path) -> None:
    async with ApiServer("host") as server:
        commands = Commands(tmp_path, [server])
        code, out, errors = await commands("federation", "status")
        assert (code, out) == (1, "")
        assert errors == (
            f"mcs: namespace {NAMESPACE} of the host cluster has no KubeFedCluster, so there is nowhere to place "
            "anything\n"
        )
