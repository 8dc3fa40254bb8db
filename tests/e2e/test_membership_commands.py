"""`mcs join`, `leave`, `clusters`, `cordon`, `uncordon` and `drain` as a user runs them, beside sandbox API servers."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.kube.packaged import definition_documents
from mcs.membership.tokens import token_life
from mcs.model.installed import CONFIG_MAPS, DEFINITIONS
from mcs.model.resources import (
    CLUSTER_PROPERTIES,
    ENDPOINT_SLICES,
    KUBEFED_CLUSTERS,
    NAMESPACES,
    SECRETS,
    SERVICES,
)
from mcs.sandbox.http.server import ApiServer
from tests.e2e.membership_commands import COREFILE, NAMESPACE, Commands

pytestmark = pytest.mark.timeout(120)
IMAGE = ("--image", "images.test/mcs:1")
DEFINED = {f"CustomResourceDefinition /{each['metadata']['name']}" for each in definition_documents()}


@asynccontextmanager
async def clusters(folder: Path, *names: str) -> AsyncIterator[Commands]:
    """A host and the named bare clusters, each with a CoreDNS."""
    async with ApiServer("host") as host, ApiServer(names[0]) as one, ApiServer(names[-1]) as other:
        commands = Commands(folder, [host, one, other][: 1 + len(names)])
        for name in names:
            await commands.with_core_dns(name)
        yield commands


async def registration(mcs: Commands, name: str, home: str = "host") -> dict[str, Any] | None:
    return await mcs.api[home].get(KUBEFED_CLUSTERS, NAMESPACE, name)


async def token_of(mcs: Commands, name: str, home: str = "host") -> bytes:
    secret = await mcs.api[home].get(SECRETS, NAMESPACE, f"{name}-token")
    assert secret is not None
    return base64.b64decode(secret["data"]["token"])


async def test_a_bare_cluster_joins_and_joins_again_with_new_credentials_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        assert await mcs("join", "eu", *IMAGE, "--clusterset", "prod") == (0, "eu: has joined prod\n", "")
        joined = mcs.objects("eu"), mcs.objects("host")
        properties = await mcs.api["eu"].list(CLUSTER_PROPERTIES)
        assert {each["metadata"]["name"]: each["spec"]["value"] for each in properties} == {
            "cluster.clusterset.k8s.io": "eu",
            "clusterset.k8s.io": "prod",
        }
        service = await mcs.api["eu"].get(SERVICES, NAMESPACE, "mcs-dns")
        assert service is not None
        corefile = await mcs.corefile("eu")
        assert f"forward . {service['spec']['clusterIP']}\n" in corefile
        assert corefile.endswith(COREFILE)
        kept = await registration(mcs, "eu")
        assert kept is not None
        system = await mcs.api["eu"].get(NAMESPACES, "", "kube-system")
        assert system is not None
        assert kept["metadata"]["annotations"]["mcs-controller/cluster-uid"] == system["metadata"]["uid"]
        token = await token_of(mcs, "eu")
        life = token_life(token)
        assert life is not None
        assert (life.account, life.seconds) == ("mcs-hub", 7 * 24 * 3600)

        again = await mcs("join", "eu", *IMAGE, "--token-life", "1h")
        assert again == (0, "eu: is a member already, its credentials are new\n", "")
        assert mcs.objects("eu") == joined[0]
        changed = {key for key, each in mcs.objects("host").items() if joined[1].get(key) != each}
        assert changed == {f"Secret {NAMESPACE}/eu-token"}
        life = token_life(await token_of(mcs, "eu"))
        assert life is not None
        assert life.seconds == 3600


async def test_a_dry_run_of_a_join_prints_what_the_join_then_applies_and_writes_nothing(
    tmp_path: Path,
) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        before = {name: mcs.writes(name) for name in ("host", "eu")}
        status, out, errors = await mcs("join", "eu", *IMAGE, "--clusterset", "prod", "--dry-run")
        assert (status, errors) == (0, "")
        assert {name: mcs.writes(name) for name in ("host", "eu")} == before
        printed = {_named(each) for each in yaml.safe_load_all(out)}
        bare = {*mcs.objects("host"), *mcs.objects("eu")}
        await mcs("join", "eu", *IMAGE, "--clusterset", "prod")
        assert {*mcs.objects("host"), *mcs.objects("eu")} - bare == printed - {
            "ConfigMap kube-system/coredns"
        }
        status, out, _ = await mcs("leave", "eu", "--dry-run")
        removed = {_named(each) for each in yaml.safe_load_all(out) if each}
        assert removed == printed - DEFINED
        assert [line for line in out.splitlines() if "host" in line] == ["# host", "# host"]


def _named(document: dict[str, Any]) -> str:
    metadata = document["metadata"]
    return f"{document['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


async def test_a_member_that_leaves_is_as_bare_as_before_but_for_the_definitions(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        bare = mcs.objects("eu")
        await mcs("join", "eu", *IMAGE)
        status, out, _ = await mcs("leave", "eu")
        assert (status, out.startswith("eu: leaves; the controller withdraws")) == (0, True)
        await mcs.api["eu"].finalize_namespace(NAMESPACE)
        left = mcs.objects("eu")
        # Registrations and federation are the host's.
        assert left.keys() - bare.keys() == {each for each in DEFINED if not each.endswith(".kubefed.io")}
        assert {key: left[key] for key in bare} == bare
        going = await registration(mcs, "eu")
        assert going is not None
        assert going["metadata"]["finalizers"] == ["mcs-controller/leave"]
        assert await mcs.api["host"].get(SECRETS, NAMESPACE, "eu-token") is None
        writes = mcs.writes("eu")
        assert (await mcs("leave", "eu"))[0] == 0
        assert mcs.writes("eu") == writes


async def test_what_is_not_ours_is_neither_taken_over_nor_removed(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        role = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"namespace": NAMESPACE, "name": "mcs-dns"},
        }
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await mcs.api["eu"].apply(NAMESPACES, namespace)
        await mcs.api["eu"].apply(SERVICES, {**role, "spec": {"ports": [{"port": 53}]}})
        before = mcs.objects("eu")
        status, out, errors = await mcs("join", "eu", *IMAGE)
        assert (status, out, mcs.objects("eu")) == (1, "", before)
        assert "there is a Service kube-federation-system/mcs-dns already" in errors
        await mcs.api["eu"].delete(SERVICES, NAMESPACE, "mcs-dns")
        assert (await mcs("join", "eu", *IMAGE))[0] == 0
        assert (await mcs("leave", "eu"))[0] == 0
        assert f"Namespace /{NAMESPACE}" in mcs.objects("eu")


async def test_a_namespace_that_holds_something_of_others_stays_and_the_leave_says_what(
    tmp_path: Path,
) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        await mcs("join", "eu", *IMAGE)
        notes = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": NAMESPACE, "name": "notes"},
        }
        await mcs.api["eu"].apply(CONFIG_MAPS, notes)
        status, out, _ = await mcs("leave", "eu")
        assert (status, out.splitlines()[0]) == (
            0,
            f"eu: its namespace {NAMESPACE} was left: it holds ConfigMap notes",
        )
        namespace = await mcs.api["eu"].get(NAMESPACES, "", NAMESPACE)
        assert namespace is not None
        assert "deletionTimestamp" not in namespace["metadata"]


@pytest.mark.parametrize(
    ("corefile", "told"),
    [
        (None, "it has no ConfigMap kube-system/coredns with a Corefile; join with --no-dns"),
        (f"{COREFILE}\nclusterset.local {{\n    forward . 10.0.0.1\n}}\n", "already has a server block for"),
    ],
    ids=["no CoreDNS", "the zone is taken"],
)
async def test_where_core_dns_cannot_be_told_nothing_is_written(
    corefile: str | None, told: str, tmp_path: Path
) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        if corefile is None:
            await mcs.api["eu"].delete(CONFIG_MAPS, "kube-system", "coredns")
        else:
            await mcs.with_core_dns("eu", corefile)
        before = {name: mcs.writes(name) for name in ("host", "eu")}
        status, out, errors = await mcs("join", "eu", *IMAGE)
        assert (status, out) == (1, "")
        assert told in errors
        assert {name: mcs.writes(name) for name in ("host", "eu")} == before
        assert (await mcs("join", "eu", "--no-dns"))[0] == 0
        assert "Deployment kube-federation-system/mcs-dns" not in mcs.objects("eu")


async def test_an_id_stays_with_its_cluster_and_a_cluster_with_its_id(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu", "us") as mcs:
        await mcs("join", "eu", "--no-dns", "--clusterset", "prod")
        for arguments, told in (
            (("join", "eu2", "--context", "eu", "--no-dns"), 'it is a member already, as "eu"'),
            (("join", "eu", "--context", "us", "--no-dns"), '"eu" is another cluster'),
            (("join", "us", "--no-dns", "--clusterset", "dev"), 'are in the clusterset "prod"'),
            (("join", "Eu", "--no-dns"), "is not valid"),
            (("join", "us", "--context", "nowhere", "--no-dns"), "there is no such context"),
            (("join", "us"), "give --image IMAGE"),
            (("join", "us", "--no-dns", "--token-life", "5m"), "10 minutes or more"),
            (("join", "us", "--no-dns", "--cluster", "eu"), "needs --mesh"),
            (("leave",), "or give --all"),
            (("leave", "eu", "--context", "us"), "it is another cluster"),
            (("leave", "eu", "--drain", "--orphan"), "give one of them"),
            (("leave", "--all", "--mesh"), "one member leaves at a time"),
            (("cordon", "us"), "there is no such member (there are: eu)"),
        ):
            writes = {name: mcs.writes(name) for name in mcs.servers}
            status, _, errors = await mcs(*arguments)
            assert status in (1, 2), arguments
            assert told in errors
            assert {name: mcs.writes(name) for name in mcs.servers} == writes
        assert await mcs("leave", "us") == (0, "us: is no member; there is nothing to leave\n", "")


async def test_a_definition_that_is_newer_is_left_and_an_older_one_replaced(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        revision = "multicluster.x-k8s.io/crd-schema-revision"
        exports, imports = (
            each for each in definition_documents() if each["spec"]["group"].startswith("multi")
        )
        exports["metadata"]["labels"][revision] = "7"
        imports["metadata"]["labels"]["multicluster.x-k8s.io/release-version"] = "v0.1.0"
        for each in (exports, imports):
            await mcs.api["eu"].apply(DEFINITIONS, each)
        status, out, _ = await mcs("join", "eu", "--no-dns", "--clusterset", "prod")
        assert (status, out.splitlines()) == (
            0,
            [
                "eu: serviceexports.multicluster.x-k8s.io is there already in a newer revision and was left",
                "eu: serviceimports.multicluster.x-k8s.io is there already in an older revision and was replaced",
                "eu: has joined prod",
            ],
        )
        kept = await mcs.api["eu"].get(DEFINITIONS, "", exports["metadata"]["name"])
        assert kept is not None
        assert kept["metadata"]["labels"][revision] == "7"


async def test_members_are_shown_with_what_is_asked_of_them(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu", "us") as mcs:
        for name in ("us", "eu"):
            await mcs("join", name, "--no-dns")
        for verb, told, state in (
            ("cordon", "eu: is cordoned", "cordoned"),
            ("cordon", "eu: is cordoned already", "cordoned"),
            ("drain", "eu: is drained", "drained, cordoned"),
            ("uncordon", "eu: is neither cordoned nor drained", "member"),
        ):
            writes = mcs.writes("host")
            status, out, _ = await mcs(verb, "eu", "--dry-run")
            assert (status, yaml.safe_load(out)["metadata"]["name"], mcs.writes("host")) == (0, "eu", writes)
            assert await mcs(verb, "eu") == (0, f"{told}\n", "")
            _, out, _ = await mcs("clusters")
            rows = [line.split("  ") for line in out.splitlines()[2:]]
            assert [row[0].strip() for row in rows] == ["eu", "us"]
            assert state in [cell.strip() for cell in rows[0]]
            assert "member" in [cell.strip() for cell in rows[1]]


async def test_in_a_mesh_every_member_is_registered_in_every_other_and_reads_only(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu", "us") as mcs:
        assert (await mcs("join", "eu", "--mesh", "--no-dns", "--clusterset", "prod"))[0] == 0
        status, out, errors = await mcs("join", "us", "--mesh", "--cluster", "eu", "--no-dns")
        assert (status, out, errors) == (0, "us: has joined prod\n", "")
        accounts = {}
        for home in ("eu", "us"):
            for member in ("eu", "us"):
                life = token_life(await token_of(mcs, member, home))
                kept = await registration(mcs, member, home)
                assert life is not None
                assert kept is not None
                assert kept["spec"]["apiEndpoint"] == mcs.servers[member].url
                accounts[home, member] = life.account
        assert accounts == {
            ("eu", "eu"): "mcs-controller",
            ("us", "us"): "mcs-controller",
            ("eu", "us"): "mcs-reader",
            ("us", "eu"): "mcs-reader",
        }
        assert not any("kube-federation" in key for key in mcs.objects("host"))
        assert (await mcs("leave", "us", "--mesh", "--cluster", "eu"))[0] == 0
        await mcs.api["us"].finalize_namespace(NAMESPACE)
        assert not any(NAMESPACE in key for key in mcs.objects("us"))
        gone = await registration(mcs, "us", "eu")
        assert gone is not None
        assert "deletionTimestamp" in gone["metadata"]
        assert await registration(mcs, "eu", "eu") is not None
        assert (await mcs("leave", "eu", "--mesh"))[0] == 0
        await mcs.api["eu"].finalize_namespace(NAMESPACE)
        assert not any(NAMESPACE in key for key in mcs.objects("eu"))


async def test_a_host_that_leaves_its_own_set_keeps_the_registry_of_the_others(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        for name in ("eu", "host"):
            assert (await mcs("join", name, "--no-dns"))[0] == 0
        assert (await mcs("leave", "host", "--cluster", "eu"))[0] == 0
        kept = await registration(mcs, "eu")
        assert kept is not None
        assert "deletionTimestamp" not in kept["metadata"]
        left = mcs.objects("host")
        assert {f"Namespace /{NAMESPACE}", f"Secret {NAMESPACE}/eu-token"} <= left.keys()
        assert not any("mcs-hub" in key for key in left)
        assert any("mcs-hub" in key for key in mcs.objects("eu"))


async def test_a_member_that_is_gone_leaves_by_force_alone(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        await mcs("join", "eu", "--no-dns")
        await mcs.servers["eu"].stop()
        status, _, errors = await mcs("leave", "eu")
        assert status == 1
        assert "or give --force" in errors
        kept = await registration(mcs, "eu")
        assert kept is not None
        assert "deletionTimestamp" not in kept["metadata"]
        status, out, _ = await mcs("leave", "eu", "--force")
        assert (status, out.splitlines()[0].startswith("eu: left as it is, since")) == (0, True)
        kept = await registration(mcs, "eu")
        assert kept is not None
        assert "deletionTimestamp" in kept["metadata"]


async def test_an_orphan_keeps_what_it_has_and_its_registration_goes_unrecorded(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        await mcs("join", "eu", *IMAGE)
        mirror = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "namespace": "default",
                "name": "web",
                "labels": {"app.kubernetes.io/managed-by": "mcs-controller"},
            },
            "addressType": "IPv4",
            "endpoints": [],
        }
        await mcs.api["eu"].apply(ENDPOINT_SLICES, mirror)
        assert await mcs("leave", "eu", "--orphan") == (0, "eu: has left\n", "")
        assert await registration(mcs, "eu") is None
        left = mcs.objects("eu")
        assert {"EndpointSlice default/web", f"Deployment {NAMESPACE}/mcs-dns"} <= left.keys()
        assert not any("mcs-hub" in key for key in left)
        assert await mcs.corefile("eu") != COREFILE
        assert await mcs("leave", "eu") == (0, "eu: has left\n", "")
        assert "EndpointSlice default/web" not in mcs.objects("eu")
        assert await mcs.corefile("eu") == COREFILE


async def test_all_members_leave_at_once(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu", "us") as mcs:
        for name in ("us", "eu"):
            await mcs("join", name, "--no-dns")
        status, out, _ = await mcs("leave", "--all")
        assert status == 0
        assert [line.split(":")[0] for line in out.splitlines()] == ["eu", "us"]
        for name in ("us", "eu"):
            assert not any("mcs-hub" in key for key in mcs.objects(name))


async def test_what_federation_may_do_is_nothing_what_types_allow_or_everything(tmp_path: Path) -> None:
    async with clusters(tmp_path, "eu") as mcs:
        status, _, errors = await mcs("join", "eu", "--no-dns", "--federation=some")
        assert (status, "--federation=some is not known" in errors) == (2, True)
        assert (await mcs("join", "eu", "--no-dns"))[0] == 0
        role = "ClusterRole /mcs-hub-federation"
        assert role not in mcs.objects("eu")
        assert (await mcs("join", "eu", "--federation", "--no-dns"))[0] == 0
        narrow = mcs.objects("eu")[role]
        assert "aggregationRule" in narrow
        assert not narrow.get("rules")
        assert (await mcs("join", "eu", "--no-dns", "--federation=all"))[0] == 0
        wide = mcs.objects("eu")[role]
        assert "aggregationRule" not in wide
        assert wide["rules"][0]["resources"] == ["*"]
